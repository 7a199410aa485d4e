"""Kernels of the multiplex paper are measured on machines, by any executor; outcomes are kept as a sweep's are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from binalloc.laboratory.multiplex.curves import CurvePoint
from binalloc.laboratory.multiplex.task import Multiplexed
from binalloc.pipeline.request import Progress
from binalloc.pipeline.sweeping.cache import Cache, Outcome
from binalloc.pipeline.sweeping.executors import Executor
from binalloc.pipeline.sweeping.sweep import Tally
from binalloc.pipeline.sweeping.tasks import Task


@dataclass(frozen=True)
class MultiplexedCase:
    """A MultiplexedCase is a kernel on a machine with its figures."""

    machine: str
    kernel: str
    sample: str  #: name of the sample that stands in for the paper's kernel
    outcome: Outcome  #: figures of its task; `status` says whether there are any


@dataclass(frozen=True)
class MeasuredPoint:
    """A MeasuredPoint is a point of a curve with its figures."""

    machine: str
    kernel: str
    extent: int  #: rows or transforms
    blocks: int  #: blocks that the SM ran
    outcome: Outcome  #: figures of its task; `status` says whether there are any


def measured(
    tasks: Sequence[tuple[str, Multiplexed]], executor: Executor, cache: Cache, progress: Progress, tally: Tally
) -> Iterator[MultiplexedCase]:
    """Yield the cases of samples, by name, and their tasks, in their order. Raises as `sweep` does."""
    found = outcomes([task for _, task in tasks], "kernels on machines", executor, cache, progress, tally)
    for (sample, task), outcome in zip(tasks, found, strict=True):
        yield MultiplexedCase(task.subject.machine.name, task.subject.kernel, sample, outcome)


def measured_points(
    tasks: Sequence[CurvePoint], executor: Executor, cache: Cache, progress: Progress, tally: Tally
) -> Iterator[MeasuredPoint]:
    """Yield points of curves in the order of their tasks. Raises as `sweep` does."""
    found = outcomes(tasks, "points of curves", executor, cache, progress, tally)
    for task, outcome in zip(tasks, found, strict=True):
        yield MeasuredPoint(task.subject.machine.name, task.subject.kernel, task.extent, task.blocks, outcome)


def outcomes(
    tasks: Sequence[Task], what: str, executor: Executor, cache: Cache, progress: Progress, tally: Tally
) -> Iterator[Outcome]:
    """Yield the outcomes of tasks in their order. what: what the tasks measure, in the plural."""
    found: dict[str, Outcome] = {}
    for order, task in enumerate(tasks):
        kept = cache.get(task.key)
        if kept is None:
            executor.submit(order, task)
        else:
            found[task.key] = kept
            tally.cached += 1
    for task in tasks:
        while task.key not in found:
            progress(f"{len(found)} of {len(tasks):,} {what}")
            ended, outcome = executor.finished()
            if not outcome.get("passing"):
                cache.put(ended.key, outcome)
            found[ended.key] = outcome
            tally.done += 1
        yield found[task.key]

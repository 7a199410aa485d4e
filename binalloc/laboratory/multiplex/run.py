"""Kernels of the multiplex paper are measured on machines, by any executor; outcomes are kept as a sweep's are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from binalloc.laboratory.multiplex.task import Multiplexed
from binalloc.pipeline.request import Progress
from binalloc.pipeline.sweeping.cache import Cache, Outcome
from binalloc.pipeline.sweeping.executors import Executor
from binalloc.pipeline.sweeping.sweep import Tally
from binalloc.printable import count


@dataclass(frozen=True)
class MultiplexedCase:
    """A MultiplexedCase is a kernel on a machine with its figures."""

    machine: str
    kernel: str
    sample: str  #: name of the sample that stands in for the paper's kernel
    outcome: Outcome  #: figures of its task; `status` says whether there are any


def measured(
    tasks: Sequence[tuple[str, Multiplexed]], executor: Executor, cache: Cache, progress: Progress, tally: Tally
) -> Iterator[MultiplexedCase]:
    """Yield the cases of samples, by name, and their tasks, in their order. Raises as `sweep` does."""
    found: dict[str, Outcome] = {}
    for order, (_, task) in enumerate(tasks):
        kept = cache.get(task.key)
        if kept is None:
            executor.submit(order, task)
        else:
            found[task.key] = kept
            tally.cached += 1
    for sample, task in tasks:
        while task.key not in found:
            progress(f"{len(found)} of {count(len(tasks), 'kernel')} on machines")
            ended, outcome = executor.finished()
            if not outcome.get("passing"):
                cache.put(ended.key, outcome)
            found[ended.key] = outcome
            tally.done += 1
        yield MultiplexedCase(task.subject.machine.name, task.subject.kernel, sample, found[task.key])

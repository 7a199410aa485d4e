"""Kernels are profiled, and then run under all schemes, by any executor; outcomes are kept as a sweep's are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from binalloc.emulator.runs.options import RunOptions
from binalloc.laboratory.batching.facts import BatchedCase
from binalloc.laboratory.batching.kernels import Benchmark
from binalloc.laboratory.batching.schemes import SCHEMES
from binalloc.laboratory.batching.task import PagesOfBlocks, SchemeRun, batches_option
from binalloc.laboratory.multiplex.run import outcomes
from binalloc.pipeline.request import Progress
from binalloc.pipeline.steps.row import OK
from binalloc.pipeline.sweeping.cache import Cache
from binalloc.pipeline.sweeping.configuration import Subject
from binalloc.pipeline.sweeping.executors import Executor
from binalloc.pipeline.sweeping.sweep import Tally


@dataclass(frozen=True)
class Wanted:
    """A wanted kernel is one on a machine, and the same on the machine on which it is profiled."""

    benchmark: Benchmark
    profiled: Subject
    subject: Subject


def measured(
    wanted: Sequence[Wanted], options: RunOptions, executor: Executor, cache: Cache, progress: Progress, tally: Tally
) -> Iterator[BatchedCase]:
    """Yield the kernels with their outcomes, in their order. A kernel whose profile failed has no runs of the schemes
    that know batches. Raises as `sweep` does."""
    pages = {one.benchmark.kernel: _pages(one.profiled, options) for one in wanted}
    found = outcomes(list(pages.values()), "profiles", executor, cache, progress, tally)
    profiles = dict(zip(pages, found, strict=True))
    tasks: list[tuple[Wanted, SchemeRun]] = []
    for one in wanted:
        profile = profiles[one.benchmark.kernel]
        for scheme in SCHEMES:
            if scheme.missing or (scheme.batches and profile["status"] != OK):
                continue
            batches = batches_option(profile) if scheme.batches else ""
            tasks.append((one, SchemeRun(one.subject, scheme, batches, options)))
    ran = outcomes([task for _, task in tasks], "runs", executor, cache, progress, tally)
    for one in wanted:
        runs = {task.scheme.name: next(ran) for of, task in tasks if of is one}
        machine, profile = one.subject.machine, profiles[one.benchmark.kernel]
        yield BatchedCase(one.benchmark, machine.name, machine.dram.row_bytes, one.subject.launch, profile, runs)


def _pages(subject: Subject, options: RunOptions) -> PagesOfBlocks:
    return PagesOfBlocks(subject, subject.machine.pages.bytes, options)

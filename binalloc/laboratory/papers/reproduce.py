"""This sweep repeats the unified paper's Figs. 6 and 7 and its Table 1 on samples and emulated machines.

Before: cases, which are benchmarks with their launches on machines. After: each case has

- a row for every level and allocator, with a best and a worst among them.
- the level that the policy `model` takes. It is the automatic choice.
- the level that the paper's search takes with the paper's allocator, for each reading of the search.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from binalloc.emulator.runs.options import USUAL, RunOptions
from binalloc.isa.instruction import Module
from binalloc.laboratory.papers.unified import Benchmark, Claim, Table1Figures, claims
from binalloc.models.search.unified import PRINTED, Counted, Exhausted, Reading
from binalloc.pipeline.advice.characterise import Character, characterise
from binalloc.pipeline.pipeline import Outcome, rewrite_kernel
from binalloc.pipeline.policies.model import Model
from binalloc.pipeline.policies.unified import UnifiedPolicy
from binalloc.pipeline.request import Progress, Request
from binalloc.pipeline.steps.kernels import kernel_use
from binalloc.pipeline.steps.row import OK, Row
from binalloc.pipeline.sweeping.cache import Cache
from binalloc.pipeline.sweeping.configuration import ALL, Subject, configurations
from binalloc.pipeline.sweeping.executors import Executor
from binalloc.pipeline.sweeping.rows import cycles_of
from binalloc.pipeline.sweeping.sweep import Tally, sweep

OURS, THEIRS, PLAIN = "best", "unified", "local"
ALLOCATORS = (PLAIN, THEIRS, OURS)
READINGS: dict[str, Reading] = {
    "printed": PRINTED,
    "no-textures": Reading(counted=Counted.UNTEXTURED),
    "no-textures, smem-fit": Reading(Counted.UNTEXTURED, Exhausted.SMEM_FIT),
    "spills": Reading(counted=Counted.SPILLS),
    "spills, up-to-most": Reading(counted=Counted.SPILLS, up_to_most=True),
}
"""Readings of the paper's search (section 4): as it is printed, and others where the text leaves something open."""
SAME = 0.01
"""Speedups that differ by less count as equal: the paper's text does not speak of such small differences."""


@dataclass(frozen=True)
class Case:
    """A Case is a benchmark on a machine."""

    benchmark: Benchmark
    module: Module  #: binary of the sample that stands in for the benchmark
    subject: Subject  #: machine, kernel and launch

    @property
    def stated(self) -> Table1Figures:
        """Return the paper's row of Table 1."""
        return self.benchmark.on[self.subject.machine.name]


@dataclass(frozen=True)
class PolicyTaken:
    """A PolicyTaken is the level that a policy takes."""

    blocks: int | None  #: blocks per SM; None for the original
    row: Row  #: figures of that level, as in a sweep
    reason: str


@dataclass(frozen=True)
class ReproducedCase:
    """A ReproducedCase has the figures of a case.

    Speedups are over `base`: the input, or a faster version of it by allocator `local` at the same number of blocks.
    The input comes in the order in which nvcc wrote its PTX. A good compiler would have ordered it for latency, and the
    gain from that must not be credited to a number of blocks.
    """

    case: Case
    demand: int  #: registers per thread of the input
    character: Character
    original: Row
    levels: list[Row]  #: all levels by all allocators
    auto: PolicyTaken  #: taken by policy `model`, with allocator `best`
    unified: dict[str, PolicyTaken]  #: taken by the paper's search, by name of the reading

    @property
    def at_auto(self) -> dict[str, Row]:
        """Return the rows of all allocators at the automatic choice's level, by allocator."""
        found = [row for row in self.levels if row.blocks == self.auto.blocks]
        return {row.allocator: row for row in found}

    @cached_property
    def base(self) -> Row:
        """Return the row that speedups are relative to."""
        if self.original.status != OK:
            return self.original
        own = self.original.blocks_per_sm
        ordered = [row for row in self._ran() if row.allocator == PLAIN and row.blocks == own]
        return min([self.original, *ordered], key=cycles_of)

    def speedup(self, row: Row) -> float | None:
        """Return a row's emulated speedup over `base`; None if it or the original did not run."""
        if self.original.status != OK or row.status != OK:
            return None
        return round(cycles_of(self.base) / cycles_of(row), 4)

    @property
    def automatic(self) -> float | None:
        """Return the speedup of the level that policy `model` takes."""
        return self.gain(self.auto)

    def gain(self, taken: PolicyTaken) -> float | None:
        """Return the speedup of the level that a policy takes; 1 if it keeps the original."""
        if taken.blocks is None:
            return self.speedup(self.base)
        return self.speedup(taken.row)

    @property
    def best(self) -> Row:
        """Return the fastest row that ran, the input's among them; the input's row if none ran."""
        return min(self._ran(), key=cycles_of, default=self.original)

    @property
    def worst(self) -> Row:
        """Return the slowest row that ran, the input's among them; the input's row if none ran."""
        return max(self._ran(), key=cycles_of, default=self.original)

    def _ran(self) -> list[Row]:
        return [row for row in (self.original, *self.levels) if row.status == OK and row.same_results]


def reproduce(
    cases: Sequence[Case],
    executor: Executor,
    cache: Cache,
    progress: Progress = lambda _: None,
    tally: Tally | None = None,
    options: RunOptions = USUAL,
) -> Iterator[ReproducedCase]:
    """Yield the figures of the cases, in their order. Raises as `sweep` and `rewrite_kernel` do."""
    asked = [
        list(configurations(case.module, case.subject, ALL, ALLOCATORS, (options.scheduler,), options))
        for case in cases
    ]
    rows = sweep([one for group in asked for one in group], executor, cache, progress, tally)
    for case, group in zip(cases, asked, strict=True):
        found = [next(rows) for _ in group]
        yield _point(case, found[0], found[1:])


def _point(case: Case, original: Row, levels: list[Row]) -> ReproducedCase:
    subject = case.subject
    request = Request(kernel=subject.kernel, machine=subject.machine, launch=subject.launch, emulate=False)
    request.prepared.versions = {}  # the readings look at the same levels
    use = kernel_use(case.module.function(subject.kernel), subject.launch)

    def taken(asked: Request) -> tuple[Outcome, PolicyTaken]:
        outcome = rewrite_kernel(case.module, asked)
        return outcome, _taken(outcome, asked.allocator, original, levels)

    outcome, auto = taken(replace(request, policy=Model.name, allocator=OURS))
    paper = replace(request, policy=UnifiedPolicy.name, allocator=THEIRS)
    return ReproducedCase(
        case,
        use.registers,
        characterise(case.module, request, outcome.original, use),
        original,
        levels,
        auto,
        {name: taken(replace(paper, reading=reading))[1] for name, reading in READINGS.items()},
    )


def _taken(outcome: Outcome, allocator: str, original: Row, levels: list[Row]) -> PolicyTaken:
    """Return the level that an outcome chose, with its row."""
    if outcome.kept_original:
        return PolicyTaken(None, original, outcome.reason)
    chosen = outcome.rewritten.module
    blocks = next(t.budget.blocks for t in outcome.tried if t.version is not None and t.version.module is chosen)
    row = next(row for row in levels if row.blocks == blocks and row.allocator == allocator)
    return PolicyTaken(blocks, row, outcome.reason)


def holds(claim: Claim, point: ReproducedCase, elsewhere: ReproducedCase | None) -> bool | None:
    """Return whether a claim of the paper about a benchmark holds here, too; None if a run that decides it is missing.

    elsewhere: the same benchmark on the other machine.
    """
    auto, best = point.automatic, point.speedup(point.best)
    if auto is None or best is None:
        return None
    if claim == Claim.FASTER:
        return auto > 1 + SAME
    if claim == Claim.BELOW_BEST:
        return auto < best * (1 - SAME)
    if claim == Claim.NOT_IMPROVED:
        return auto <= 1 + SAME
    other = None if elsewhere is None else elsewhere.automatic
    if other is None:
        return None
    return auto < other * (1 - SAME) if claim == Claim.LESS_THAN_ELSEWHERE else auto > other * (1 + SAME)


def judged_claims(point: ReproducedCase, elsewhere: ReproducedCase | None) -> dict[Claim, bool | None]:
    """Return every claim of the paper about a benchmark on its machine, and whether it holds here (`holds`)."""
    said = claims(point.case.subject.machine.name, point.case.benchmark.kernel)
    return {claim: holds(claim, point, elsewhere) for claim in said}

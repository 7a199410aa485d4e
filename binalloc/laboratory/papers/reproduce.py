"""The unified paper's Figs. 6 and 7 and its Table 1 once more, on samples and emulated machines.

Needs the benchmarks as they are launched on machines. Leaves for each what every level comes to by every allocator, so
that there are a best and a worst; what policy `model` takes, which is the automatic choice; and what the paper's own
search takes, by each reading of it, with the paper's own allocator.
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
"""The paper's search as it is printed, and otherwise where it leaves something open."""
SAME = 0.01
"""Speedups that differ by less are the same."""


@dataclass(frozen=True)
class Case:
    """A benchmark on a machine: the sample's binary, and how it is launched."""

    benchmark: Benchmark
    module: Module
    subject: Subject

    @property
    def stated(self) -> Table1Figures:
        """The paper's row of Table 1."""
        return self.benchmark.on[self.subject.machine.name]


@dataclass(frozen=True)
class PolicyTaken:
    """What a policy takes. blocks: the level, None for the original. row: what that comes to, as in a sweep."""

    blocks: int | None
    row: Row
    reason: str


@dataclass(frozen=True)
class ReproducedCase:
    """What came of a case. demand: registers per thread. auto: by policy `model` and allocator `best`; at_auto: rows of
    all allocators at that level, by name. unified: by reading.

    Speedups are over `base`: the input, or what allocator `local` makes of it with all registers that its own number of
    blocks leaves, if that is faster. The input comes as nvcc wrote its PTX; a good compiler would have ordered it for
    latency, and no number of blocks is to be credited with that."""

    case: Case
    demand: int
    character: Character
    original: Row
    levels: list[Row]
    auto: PolicyTaken
    unified: dict[str, PolicyTaken]

    @property
    def at_auto(self) -> dict[str, Row]:
        found = [row for row in self.levels if row.blocks == self.auto.blocks]
        return {row.allocator: row for row in found}

    @cached_property
    def base(self) -> Row:
        """What speedups are over."""
        if self.original.status != OK:
            return self.original
        own = self.original.blocks_per_sm
        ordered = [row for row in self._ran() if row.allocator == PLAIN and row.blocks == own]
        return min([self.original, *ordered], key=cycles_of)

    def speedup(self, row: Row) -> float | None:
        """Emulated; None where it did not run, or the original did not."""
        if self.original.status != OK or row.status != OK:
            return None
        return round(cycles_of(self.base) / cycles_of(row), 4)

    @property
    def automatic(self) -> float | None:
        """The speedup of what policy `model` takes."""
        return self.gain(self.auto)

    def gain(self, taken: PolicyTaken) -> float | None:
        """The speedup of what a policy takes; 1 where that is to leave it as it is."""
        if taken.blocks is None:
            return self.speedup(self.base)
        return self.speedup(taken.row)

    @property
    def best(self) -> Row:
        """Of the rows that ran, the input's too, the fastest; the input's where none did."""
        return min(self._ran(), key=cycles_of, default=self.original)

    @property
    def worst(self) -> Row:
        """The slowest, likewise."""
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
    """The points of the cases, in their order. Raises as `sweep` and `rewrite_kernel` do."""
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
    """The row of what was chosen."""
    if outcome.kept_original:
        return PolicyTaken(None, original, outcome.reason)
    chosen = outcome.rewritten.module
    blocks = next(t.budget.blocks for t in outcome.tried if t.version is not None and t.version.module is chosen)
    row = next(row for row in levels if row.blocks == blocks and row.allocator == allocator)
    return PolicyTaken(blocks, row, outcome.reason)


def holds(claim: Claim, point: ReproducedCase, elsewhere: ReproducedCase | None) -> bool | None:
    """Whether what the paper's text says of a benchmark is so here, too. elsewhere: the same benchmark on the other
    machine. None where that cannot be said: something did not run."""
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


def told(point: ReproducedCase, elsewhere: ReproducedCase | None) -> dict[Claim, bool | None]:
    """Of everything that the paper says of a benchmark on a machine, whether it is so here."""
    said = claims(point.case.subject.machine.name, point.case.benchmark.kernel)
    return {claim: holds(claim, point, elsewhere) for claim in said}

"""How many threads should run at once: the unified paper's Fig. 5 (section 4.2).

Needs: a function that evaluates a concurrency level (threads per SM). Leaves: the
level chosen, every level looked at, and the path of decisions. Levels are multiples of the block size.

The listing in the paper leaves some things open. A `Reading` chooses between those that change what comes out; decided
here for all of them:
- Concurrency bound: the original's mean dispatch interval is above `BOUND_THRESHOLD` = 1 cycle. At 1 a single warp
  keeps its issue port busy (Fig. 4, scenario B), so that more warps cannot help.
- Levels are those that the machine can hold; others are not walked. MaxThrd is the most threads of an SM, whether the
  machine can hold so many of the kernel's or not.
- Start: AD_interval * cores rounded down to whole blocks, at least one block, at most the highest level; from there
  down to the first feasible level.
- CI_pred is strict (>); no off-chip instruction at all counts as true; an infeasible level never satisfies it.
- Ascent: looks at every level from the start up, and takes the largest that satisfies CI_pred. A start that was itself
  rounded to MaxThrd, which the listing leaves without an answer, is taken, since its CI_pred holds.
- ActTnum_org is the original program's level. The listing lets the descent run down to it, the prose stops it at
  SmemFitTnum: the descent looks at levels that are above the original and not below SmemFitTnum.
- SmemFitTnum, the most threads without off-chip spills, is looked for from the start: downwards if the start spills,
  upwards (MaxThrd included) while there are none. Spills are taken not to shrink as the level rises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from binalloc.errors import Hint, UsageError

MAX_CMRATIO = Fraction(200)
"""Section 5: half the upper latency of an off-chip access, in cycles, as reads and writes overlap."""

BOUND_THRESHOLD = Fraction(1)
"""Mean dispatch interval (cycles) above which a program counts as concurrency bound."""


class Counted(StrEnum):
    """Which off-chip accesses are MEM in CI_pred."""

    ALL = "all"
    UNTEXTURED = "no-textures"
    SPILLS = "spills"


class Exhausted(StrEnum):
    """Where a descent ends that no level satisfies."""

    ORIGINAL = "original"
    SMEM_FIT = "smem-fit"


@dataclass(frozen=True, slots=True)
class Reading:
    """How Fig. 5 is read where the paper leaves it open; the default is the printed listing.

    counted: section 4.2 says "off-chip instructions", and reports results that fit spills alone better. exhausted: the
    listing does not end there; the prose says that the descent "stops when it hits" SmemFitTnum. up_to_most: the ascent
    looks at MaxThrd, which the listing excludes.
    """

    counted: Counted = Counted.ALL
    exhausted: Exhausted = Exhausted.ORIGINAL
    up_to_most: bool = False

    @property
    def names(self) -> list[str]:
        """Where it departs from the listing, by the names in `DEPARTURES`."""
        return [name for name, (field_name, value) in DEPARTURES.items() if getattr(self, field_name) == value]


DEPARTURES: dict[str, tuple[str, object]] = {
    Counted.UNTEXTURED: ("counted", Counted.UNTEXTURED),
    Counted.SPILLS: ("counted", Counted.SPILLS),
    Exhausted.SMEM_FIT: ("exhausted", Exhausted.SMEM_FIT),
    "up-to-most": ("up_to_most", True),
}
"""By name the field of a `Reading` and what it is then."""


def reading_of(names: Iterable[str]) -> Reading:
    """The reading that departs from the listing in what these names say. UsageError for an unknown name, or for two
    that say of one thing what it is."""
    given: dict[str, object] = {}
    for name in dict.fromkeys(names):
        if name not in DEPARTURES:
            raise UsageError(
                "no such reading of the paper", place=Hint("{reading}"), found=repr(name),
                expected=", ".join(DEPARTURES),
            )  # fmt: skip
        field_name, value = DEPARTURES[name]
        if field_name in given:
            raise UsageError(
                "two readings of one thing", place=Hint("{reading}"), found=f"{given[field_name]} and {name}",
                expected="one of them",
            )  # fmt: skip
        given[field_name] = value
    return Reading(**given)  # type: ignore[arg-type]


PRINTED = Reading()
"""Fig. 5 as it is printed."""


@dataclass(frozen=True, slots=True)
class Level:
    """A program transformed for one concurrency level: static instruction counts after the transformation.

    memory_instructions: those that access off-chip memory; compute_instructions: all others. ad_interval: mean static
    dispatch interval in cycles. offchip_spills, textures: how many of the memory instructions are spill accesses and
    texture fetches.
    """

    compute_instructions: int
    memory_instructions: int
    ad_interval: Fraction
    offchip_spills: int
    feasible: bool = True
    textures: int = 0

    def counts(self, counted: Counted) -> tuple[int, int]:
        """(COMPUTE_inst, MEM_inst): what is not counted as off-chip counts as computing."""
        memory = {
            Counted.ALL: self.memory_instructions,
            Counted.UNTEXTURED: self.memory_instructions - self.textures,
            Counted.SPILLS: self.offchip_spills,
        }[counted]
        return self.compute_instructions + self.memory_instructions - memory, memory


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A level that the search looked at."""

    threads: int
    level: Level
    ci_pred: bool


@dataclass(frozen=True)
class SearchProblem:
    """evaluate: transforms the program for a number of active threads per SM (called once per level).

    cores: per SM. block_size, max_threads (most active threads the machine allows) and original_threads (the original
    program's level): threads. ad_interval: of the original, in cycles. concurrency_bound: None derives it. held: the
    levels, in threads, that the machine can hold; None: all multiples of the block size up to max_threads.
    """

    evaluate: Callable[[int], Level]
    cores: int
    block_size: int
    max_threads: int
    original_threads: int
    ad_interval: Fraction
    max_cmratio: Fraction = MAX_CMRATIO
    concurrency_bound: bool | None = None
    held: Sequence[int] | None = None
    reading: Reading = PRINTED


class Direction(StrEnum):
    """Which way the search went from its start."""

    NOT_BOUND = "not bound"
    UP = "up"
    DOWN = "down"
    ORIGINAL = "original"


@dataclass(frozen=True)
class SearchResult:
    """threads: the level chosen. kept_original: the program is to stay as it is. start: None if nothing was searched.

    levels: ascending. path: one sentence per decision.
    """

    threads: int
    kept_original: bool
    direction: Direction
    start: int | None
    smem_fit: int | None
    levels: tuple[Evaluated, ...]
    path: tuple[str, ...]

    def text(self) -> str:
        """The evaluated levels as a table, then the decisions."""
        lines = ["threads  compute  off-chip  interval  spills  CI_pred"]
        for item in self.levels:
            level = item.level
            answer = ("holds" if item.ci_pred else "fails") if level.feasible else "infeasible"
            lines.append(
                f"{item.threads:7d}  {level.compute_instructions:7d}  {level.memory_instructions:8d}  "
                f"{float(level.ad_interval):8.3f}  {level.offchip_spills:6d}  {answer}"
            )
        return "\n".join([*lines, *self.path]) + "\n"


def ci_pred(
    compute_instructions: int, memory_instructions: int, ad_interval: Fraction, limit: Fraction = MAX_CMRATIO
) -> bool:
    """Equation (1): compute * AD_int / memory > MAX_cmratio, exactly and strictly; true without memory instructions."""
    if memory_instructions == 0:
        return True
    return Fraction(compute_instructions) * ad_interval / memory_instructions > limit


def is_concurrency_bound(ad_interval: Fraction, threshold: Fraction = BOUND_THRESHOLD) -> bool:
    """Whether more warps can fill idle issue cycles (section 4.1)."""
    return ad_interval > threshold


def unified_search(problem: SearchProblem) -> SearchResult:
    """Fig. 5 of the unified paper with the decisions of the module docstring.

    Raises ValueError when the machine cannot hold one block or the original's level is not positive.
    """
    if problem.block_size <= 0 or problem.max_threads < problem.block_size or problem.original_threads <= 0:
        raise ValueError(
            f"block size {problem.block_size}, most threads {problem.max_threads}, original {problem.original_threads}"
        )
    return _Search(problem).run()


@dataclass
class _Search:
    problem: SearchProblem
    seen: dict[int, Evaluated] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        p = self.problem
        held = range(p.block_size, p.max_threads + 1, p.block_size) if p.held is None else p.held
        self.levels = sorted(t for t in held if t <= p.max_threads)

    def run(self) -> SearchResult:
        problem = self.problem
        bound = problem.concurrency_bound
        if bound is None:
            bound = is_concurrency_bound(problem.ad_interval)
        if not bound:
            self.path.append(f"not concurrency bound: dispatch interval {float(problem.ad_interval):.3f} cycles")
            return self._result(None, Direction.NOT_BOUND, None, None)
        start = self._start()
        if start is None:
            self.path.append("no level at or below the start is feasible: the original is kept")
            return self._result(None, Direction.ORIGINAL, None, None)
        if self._look(start).ci_pred:
            return self._result(self._ascend(start), Direction.UP, start, None)
        fit = self._smem_fit(start)
        if start >= fit:
            return self._result(self._descend(start, fit), Direction.DOWN, start, fit)
        self.path.append(
            f"CI_pred fails at the start {start}, below the {fit} threads that need no off-chip spill: "
            "the original is kept"
        )
        return self._result(None, Direction.ORIGINAL, start, fit)

    def _look(self, threads: int) -> Evaluated:
        if threads not in self.seen:
            level = self.problem.evaluate(threads)
            compute, memory = level.counts(self.problem.reading.counted)
            holds = level.feasible and ci_pred(compute, memory, level.ad_interval, self.problem.max_cmratio)
            self.seen[threads] = Evaluated(threads, level, holds)
        return self.seen[threads]

    def _start(self) -> int | None:
        wanted = self.problem.ad_interval * self.problem.cores
        below = [t for t in self.levels if t <= wanted] or self.levels[:1]
        self.path.append(
            f"start: interval {float(self.problem.ad_interval):.3f} * {self.problem.cores} cores = "
            f"{float(wanted):.1f}, in whole blocks {below[-1]} threads"
        )
        for threads in reversed(below):
            if self._look(threads).level.feasible:
                return threads
            self.path.append(f"{threads} threads are not feasible")
        return None

    def _ascend(self, start: int) -> int:
        most = self.problem.max_threads
        if start == most:
            self.path.append(f"CI_pred holds at the start {start}, which is all the machine allows")
            return start
        to = most + self.problem.reading.up_to_most
        best = max(t for t in self.levels if start <= t < to and self._look(t).ci_pred)
        limit = f"not above {most}" if self.problem.reading.up_to_most else f"below {most}"
        self.path.append(f"CI_pred holds at the start {start}: up; {best} is the largest level {limit} where it holds")
        return best

    def _smem_fit(self, start: int) -> int:
        """SmemFitTnum; 0 if every level down to one block spills."""

        def fits(threads: int) -> bool:
            level = self._look(threads).level
            return level.feasible and level.offchip_spills == 0

        above = [t for t in self.levels if t > start]
        if fits(start):
            spilling = next((k for k, t in enumerate(above) if not fits(t)), len(above))
            return ([start, *above])[spilling]
        return next((t for t in reversed(self.levels) if t < start and fits(t)), 0)

    def _descend(self, start: int, fit: int) -> int | None:
        lowest = max(fit, self.problem.original_threads + 1)
        self.path.append(
            f"CI_pred fails at the start {start}: down, above the original's {self.problem.original_threads} threads "
            f"and not below {fit}, the most without off-chip spills"
        )
        for threads in reversed(self.levels):
            if lowest <= threads <= start and self._look(threads).ci_pred:
                self.path.append(f"{threads} is the first level where CI_pred holds")
                return threads
        if self.problem.reading.exhausted == Exhausted.SMEM_FIT and fit > self.problem.original_threads:
            self.path.append(f"no such level satisfies CI_pred: {fit}, where the descent stops, is taken")
            return fit
        self.path.append("no such level satisfies CI_pred: the original is kept")
        return None

    def _result(self, threads: int | None, direction: Direction, start: int | None, fit: int | None) -> SearchResult:
        return SearchResult(
            self.problem.original_threads if threads is None else threads,
            threads is None,
            direction,
            start,
            fit,
            tuple(self.seen[t] for t in sorted(self.seen)),
            tuple(self.path),
        )

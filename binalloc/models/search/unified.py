"""This module decides how many threads should run at once: the unified paper's Fig. 5 (section 4.2).

Needs: a function that evaluates a concurrency level (threads per SM). Leaves: the level chosen, every level evaluated,
and the path of decisions. Levels are multiples of the block size.

The listing in the paper leaves some things open. A `Reading` chooses between those that change the result. These are
decided here for all readings:
- Concurrency bound: the original's mean dispatch interval is above `BOUND_THRESHOLD` = 1 cycle. At 1 a single warp
  keeps its issue port busy (Fig. 4, scenario B), so that more warps cannot help.
- Levels that the machine cannot hold are not evaluated. MaxThrd is the most threads of an SM, even if the machine
  cannot hold that many of the kernel's.
- Start: AD_interval * cores rounded down to whole blocks, at least one block, at most the highest level; from there
  down to the first feasible level.
- CI_pred is strict (>); no off-chip instruction at all counts as true; an infeasible level never satisfies it.
- Ascent: it evaluates every level from the start up, and takes the largest that satisfies CI_pred. The listing gives no
  answer if the start itself was rounded to MaxThrd; such a start is taken, since its CI_pred holds.
- ActTnum_org is the original program's level. The listing lets the descent run down to it, the prose stops it at
  SmemFitTnum: the descent evaluates levels that are above the original and not below SmemFitTnum.
- SmemFitTnum, the most threads without off-chip spills, is sought from the start: downwards if the start spills,
  upwards (MaxThrd included) while there are none. Spills are assumed not to shrink as the level rises.
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
"""A program with a larger mean dispatch interval (cycles) counts as concurrency bound; the module docstring says
why."""


class Counted(StrEnum):
    """A reading of CI_pred counts one of these kinds of off-chip accesses as MEM."""

    ALL = "all"  #: all off-chip accesses
    UNTEXTURED = "no-textures"  #: all but texture fetches
    SPILLS = "spills"  #: spill accesses alone


class Exhausted(StrEnum):
    """A descent ends in one of these ways if no level satisfies CI_pred."""

    ORIGINAL = "original"  #: the original program is kept
    SMEM_FIT = "smem-fit"  #: SmemFitTnum is taken


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading interprets Fig. 5 where the paper leaves it open; the default is the printed listing."""

    #: section 4.2 says "off-chip instructions", and reports results that fit spills alone better
    counted: Counted = Counted.ALL
    #: the listing does not end there; the prose says that the descent "stops when it hits" SmemFitTnum
    exhausted: Exhausted = Exhausted.ORIGINAL
    up_to_most: bool = False  #: the ascent evaluates MaxThrd, which the listing excludes

    @property
    def names(self) -> list[str]:
        """Return the departures from the listing, by the names in `DEPARTURES`."""
        return [name for name, (field_name, value) in DEPARTURES.items() if getattr(self, field_name) == value]


DEPARTURES: dict[str, tuple[str, object]] = {
    Counted.UNTEXTURED: ("counted", Counted.UNTEXTURED),
    Counted.SPILLS: ("counted", Counted.SPILLS),
    Exhausted.SMEM_FIT: ("exhausted", Exhausted.SMEM_FIT),
    "up-to-most": ("up_to_most", True),
}
"""For each name, the field of a `Reading` and its value in that departure."""


def reading_of(names: Iterable[str]) -> Reading:
    """Return the reading with the named departures from the listing.

    Raises UsageError for an unknown name, or for two names that set one field.
    """
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
    """A level has static instruction counts of the program after its transformation for one concurrency level."""

    compute_instructions: int  #: all instructions but `memory_instructions`
    memory_instructions: int  #: instructions that access off-chip memory
    ad_interval: Fraction  #: mean static dispatch interval in cycles
    offchip_spills: int  #: memory instructions that are spill accesses
    feasible: bool = True  #: the level can be allocated
    textures: int = 0  #: memory instructions that are texture fetches

    def counts(self, counted: Counted) -> tuple[int, int]:
        """Return (COMPUTE_inst, MEM_inst); accesses that `counted` leaves out count as computing."""
        memory = {
            Counted.ALL: self.memory_instructions,
            Counted.UNTEXTURED: self.memory_instructions - self.textures,
            Counted.SPILLS: self.offchip_spills,
        }[counted]
        return self.compute_instructions + self.memory_instructions - memory, memory


@dataclass(frozen=True, slots=True)
class Evaluated:
    """An evaluated level is one that the search has looked at."""

    threads: int  #: active threads per SM
    level: Level  #: the program at that level
    ci_pred: bool  #: CI_pred holds


@dataclass(frozen=True)
class SearchProblem:
    """A search problem has what the search needs to know of program and machine."""

    #: transforms the program for a number of active threads per SM (called once per level)
    evaluate: Callable[[int], Level]
    cores: int  #: cores per SM
    block_size: int  #: threads per block
    max_threads: int  #: most active threads that the machine allows
    original_threads: int  #: the original program's level, in threads
    ad_interval: Fraction  #: dispatch interval of the original, in cycles
    max_cmratio: Fraction = MAX_CMRATIO  #: limit in CI_pred
    concurrency_bound: bool | None = None  #: whether the original is; None derives it from `ad_interval`
    #: levels, in threads, that the machine can hold; None: all multiples of block_size up to max_threads
    held: Sequence[int] | None = None
    reading: Reading = PRINTED  #: how Fig. 5 is read


class Direction(StrEnum):
    """The search goes from its start in one of these directions."""

    NOT_BOUND = "not bound"  #: nothing was searched: the original is not concurrency bound
    UP = "up"  #: to higher levels
    DOWN = "down"  #: to lower levels
    ORIGINAL = "original"  #: nowhere: the original is kept


@dataclass(frozen=True)
class SearchResult:
    """The result of a search is the level chosen, with the levels evaluated and the decisions made."""

    threads: int  #: the level chosen
    kept_original: bool  #: the program is to stay as it is
    direction: Direction  #: which way the search went
    start: int | None  #: level at which the search started; None if nothing was searched
    smem_fit: int | None  #: SmemFitTnum; None where it was not needed
    levels: tuple[Evaluated, ...]  #: levels evaluated, ascending
    path: tuple[str, ...]  #: one sentence per decision

    def text(self) -> str:
        """Return the evaluated levels as a table, then the decisions."""
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
    """Evaluate equation (1), exactly and strictly: compute * AD_int / memory > MAX_cmratio; true without memory
    instructions."""
    if memory_instructions == 0:
        return True
    return Fraction(compute_instructions) * ad_interval / memory_instructions > limit


def is_concurrency_bound(ad_interval: Fraction, threshold: Fraction = BOUND_THRESHOLD) -> bool:
    """Return whether more warps can fill idle issue cycles (section 4.1)."""
    return ad_interval > threshold


def unified_search(problem: SearchProblem) -> SearchResult:
    """Search as Fig. 5 of the unified paper does, with the decisions of the module docstring.

    Raises ValueError when the machine cannot hold one block or the original's level is not positive.
    """
    if problem.block_size <= 0 or problem.max_threads < problem.block_size or problem.original_threads <= 0:
        raise ValueError(
            f"block size {problem.block_size}, most threads {problem.max_threads}, original {problem.original_threads}"
        )
    return _Search(problem).run()


@dataclass
class _Search:
    """A search evaluates levels one by one, and records its decisions."""

    problem: SearchProblem  #: the problem
    seen: dict[int, Evaluated] = field(default_factory=dict)  #: levels evaluated so far, by threads
    path: list[str] = field(default_factory=list)  #: decisions so far, one sentence each

    def __post_init__(self) -> None:
        p = self.problem
        held = range(p.block_size, p.max_threads + 1, p.block_size) if p.held is None else p.held
        self.levels = sorted(t for t in held if t <= p.max_threads)

    def run(self) -> SearchResult:
        """Search, and return the result."""
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
        """Evaluate a level, once."""
        if threads not in self.seen:
            level = self.problem.evaluate(threads)
            compute, memory = level.counts(self.problem.reading.counted)
            holds = level.feasible and ci_pred(compute, memory, level.ad_interval, self.problem.max_cmratio)
            self.seen[threads] = Evaluated(threads, level, holds)
        return self.seen[threads]

    def _start(self) -> int | None:
        """Return the first feasible level from the start down; None if there is none."""
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
        """Return the largest level from the start up that satisfies CI_pred."""
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
        """Return SmemFitTnum; 0 if every level down to one block spills."""

        def fits(threads: int) -> bool:
            level = self._look(threads).level
            return level.feasible and level.offchip_spills == 0

        above = [t for t in self.levels if t > start]
        if fits(start):
            spilling = next((k for k, t in enumerate(above) if not fits(t)), len(above))
            return ([start, *above])[spilling]
        return next((t for t in reversed(self.levels) if t < start and fits(t)), 0)

    def _descend(self, start: int, fit: int) -> int | None:
        """Return the first level from the start down that satisfies CI_pred; without one, the reading decides."""
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
        """Return the result. threads: the level chosen; None to keep the original."""
        return SearchResult(
            self.problem.original_threads if threads is None else threads,
            threads is None,
            direction,
            start,
            fit,
            tuple(self.seen[t] for t in sorted(self.seen)),
            tuple(self.path),
        )

"""How many threads should run at once: the unified paper's Fig. 5 (section 4.2).

Needs: a function that evaluates a concurrency level (threads per SM). Leaves: the
level chosen, every level looked at, and the path of decisions. Levels are multiples of the block size.

The listing in the paper leaves some things open. Decided here:
- Concurrency bound: the original's mean dispatch interval is above `BOUND_THRESHOLD` = 1 cycle. At 1 a single warp
  keeps its issue port busy (Fig. 4, scenario B), so that more warps cannot help.
- Start: AD_interval * cores rounded down to whole blocks, at least one block, at most MaxThrd; from there down to the
  first feasible level.
- CI_pred is strict (>); no off-chip instruction at all counts as true; an infeasible level never satisfies it.
- Ascent: looks at every level from the start below MaxThrd, MaxThrd excluded as in the listing, and takes the largest
  that satisfies CI_pred. A start that was itself rounded to MaxThrd, which the listing leaves without an answer, is
  taken, since its CI_pred holds.
- ActTnum_org is the original program's level. The listing lets the descent run down to it, the prose stops it at
  SmemFitTnum: the descent looks at levels that are above the original and not below SmemFitTnum.
- An exhausted descent keeps the original.
- SmemFitTnum, the most threads without off-chip spills, is looked for from the start: downwards if the start spills,
  upwards (MaxThrd included) while there are none. Spills are taken not to shrink as the level rises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

MAX_CMRATIO = Fraction(200)
"""Section 5: half the upper latency of an off-chip access, in cycles, as reads and writes overlap."""

BOUND_THRESHOLD = Fraction(1)
"""Mean dispatch interval (cycles) above which a program counts as concurrency bound."""


@dataclass(frozen=True, slots=True)
class Level:
    """A program transformed for one concurrency level: static instruction counts after the transformation.

    memory_instructions: those that access off-chip memory; compute_instructions: all others. ad_interval: mean static
    dispatch interval in cycles. offchip_spills: how many of the memory instructions are spill accesses.
    """

    compute_instructions: int
    memory_instructions: int
    ad_interval: Fraction
    offchip_spills: int
    feasible: bool = True


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
    program's level): threads. ad_interval: of the original, in cycles. concurrency_bound: None derives it.
    """

    evaluate: Callable[[int], Level]
    cores: int
    block_size: int
    max_threads: int
    original_threads: int
    ad_interval: Fraction
    max_cmratio: Fraction = MAX_CMRATIO
    concurrency_bound: bool | None = None


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
            holds = level.feasible and ci_pred(
                level.compute_instructions, level.memory_instructions, level.ad_interval, self.problem.max_cmratio
            )
            self.seen[threads] = Evaluated(threads, level, holds)
        return self.seen[threads]

    @property
    def _top(self) -> int:
        """MaxThrd in whole blocks."""
        return self.problem.max_threads // self.problem.block_size * self.problem.block_size

    def _start(self) -> int | None:
        step = self.problem.block_size
        wanted = self.problem.ad_interval * self.problem.cores
        threads = min(max(int(wanted // step), 1) * step, self._top)
        self.path.append(
            f"start: interval {float(self.problem.ad_interval):.3f} * {self.problem.cores} cores = "
            f"{float(wanted):.1f}, in whole blocks {threads} threads"
        )
        while threads > 0 and not self._look(threads).level.feasible:
            self.path.append(f"{threads} threads are not feasible")
            threads -= step
        return threads or None

    def _ascend(self, start: int) -> int:
        best = start
        for threads in range(start + self.problem.block_size, self.problem.max_threads, self.problem.block_size):
            if self._look(threads).ci_pred:
                best = threads
        self.path.append(
            f"CI_pred holds at the start {start}: up; {best} is the largest level below {self.problem.max_threads} "
            "where it holds"
            if start < self.problem.max_threads
            else f"CI_pred holds at the start {start}, which is all the machine allows"
        )
        return best

    def _smem_fit(self, start: int) -> int:
        """SmemFitTnum; 0 if every level down to one block spills."""
        step = self.problem.block_size

        def fits(threads: int) -> bool:
            level = self._look(threads).level
            return level.feasible and level.offchip_spills == 0

        if fits(start):
            return next((t - step for t in range(start + step, self._top + 1, step) if not fits(t)), self._top)
        return next((t for t in range(start - step, 0, -step) if fits(t)), 0)

    def _descend(self, start: int, fit: int) -> int | None:
        lowest = max(fit, self.problem.original_threads + 1)
        self.path.append(
            f"CI_pred fails at the start {start}: down, above the original's {self.problem.original_threads} threads "
            f"and not below {fit}, the most without off-chip spills"
        )
        for threads in range(start, lowest - 1, -self.problem.block_size):
            if self._look(threads).ci_pred:
                self.path.append(f"{threads} is the first level where CI_pred holds")
                return threads
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

"""The sharing paper's sentences on its figures are judged here by our runs, with counters where one does not hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from binalloc.laboratory.sharing.figures import BLOCKS, FIGURE, GAIN, LIVES, Bar, Figure
from binalloc.laboratory.sharing.paper import Benchmark
from binalloc.laboratory.sharing.published import ABOUT, ABOVE, BELOW, NEAR, SAYINGS, Saying
from binalloc.laboratory.sharing.rows import Runs, base_of, value

if TYPE_CHECKING:
    from binalloc.laboratory.sharing.rows import Run
    from binalloc.report.shapes.parts.sharing.paired_figures import FailedSayingJson, SayingJson

_COUNTED = (("instructions", "instructions"), ("l1_misses", "L1 misses"), ("l2_misses", "L2 misses"))


def sayings_json(runs: Runs, numbers: Sequence[str]) -> Iterator[SayingJson]:
    """Yield the sentences on figures with these numbers of which there are runs."""
    for saying in SAYINGS:
        if saying.figure not in numbers:
            continue
        figure = FIGURE[saying.figure]
        holds: list[str] = []
        fails: list[FailedSayingJson] = []
        for benchmark in (b for b in figure.rows if b.kernel in saying.kernels.split()):
            bars = _bars(saying)
            left, right = (_value(runs, bar, benchmark) for bar in bars)
            if left is None or right is None:
                continue
            if _is_so(saying, left, right):
                holds.append(benchmark.kernel)
            else:
                why = _why(runs, bars, benchmark)
                fails.append({"row": benchmark.kernel, "left": left, "right": right, "why": why})
        if holds or fails:
            yield {
                "figure": saying.figure, "says": saying.text, "left": saying.left, "relation": saying.relation,
                "right": saying.right or "0", "holds": holds, "fails": fails,
            }  # fmt: skip


_Place = tuple[Figure, Bar | None]


def _bars(saying: Saying) -> tuple[_Place, _Place]:
    """Return the two bars that are compared, each with its figure; without a bar the value is 0."""
    other, _, series = saying.right.rpartition("/")
    return _place(saying.figure, saying.left), _place(other or saying.figure, series)


def _place(number: str, series: str) -> _Place:
    figure = FIGURE[number]
    return figure, next(bar for bar in figure.bars if bar.series == series) if series else None


def _value(runs: Runs, place: _Place, benchmark: Benchmark) -> float | None:
    figure, bar = place
    return 0.0 if bar is None else value(runs, figure, bar, benchmark)


def _is_so(saying: Saying, left: float, right: float) -> bool:
    """Return whether a sentence holds. Values in per cent are near if they differ by `NEAR`; others, by as many per
    cent of the right one."""
    if saying.relation == ABOVE:
        return left > right
    if saying.relation == BELOW:
        return left < right
    near = 0.0
    if saying.relation == ABOUT:
        near = NEAR if FIGURE[saying.figure].shows in (GAIN, LIVES) else NEAR * abs(right) / 100
    return abs(left - right) <= near


def _why(runs: Runs, places: tuple[_Place, _Place], benchmark: Benchmark) -> str:
    """Return how the counters of the two runs differ, the left one over the right one."""
    (figure, bar), (other, against) = places
    assert bar is not None
    if figure.shows in (BLOCKS, LIVES):
        return ""
    left = runs.run(benchmark, bar.run, bar.machine)
    right = base_of(runs, figure, bar, benchmark) if against is None else runs.run(
        benchmark, against.run, against.machine
    )  # fmt: skip
    if against is not None and other is not figure and against.run == bar.run:
        bases = base_of(runs, figure, bar, benchmark), base_of(runs, other, against, benchmark)
        return f"{_compared(left, right)}; unshared: {_compared(*bases)}"
    return _compared(left, right)


def _compared(left: Run | None, right: Run | None) -> str:
    if left is None or right is None:
        return ""
    parts = [
        f"{name} {left[key] / right[key]:.2f} times"  # type: ignore[literal-required]
        for key, name in (*_COUNTED, ("cycles", "cycles"))
        if right[key] and _differ(left[key], right[key])  # type: ignore[literal-required]
    ]
    for stall in dict.fromkeys((*left["stalls"], *right["stalls"])):
        ours, theirs = left["stalls"].get(stall), right["stalls"].get(stall)
        if ours and theirs and _differ(ours, theirs):
            parts.append(f"{stall} {ours / theirs:.2f} times")
        elif ours and not theirs:
            parts.append(f"{stall} now among the first three, {ours:,} slots")
    return ", ".join(parts)


def _differ(left: int, right: int) -> bool:
    """Return whether a counter shows something at two decimals."""
    return f"{left / right:.2f}" != "1.00"

"""The smem-cost paper's experiment runs on the emulator: it measures l shared loads of congestion k by w warps.

Cycles are the latest end minus the earliest start of the kernel in `kernel.py`, minus the cost of two reads of the
clock with nothing between them. The line E = w*l*k*c1 + c2 is fitted to them (sections II and III of the paper). Each
point is run once, because the emulator gives the same cycles every time; the paper takes the average of 100 runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from binalloc.emulator.runs.options import RunOptions
from binalloc.errors import Hint, Refused
from binalloc.isa.instruction import Module
from binalloc.laboratory.smem_cost.kernel import ClockReads, kernel, measure, timed
from binalloc.transform.schedule.schedule import schedule

Progress = Callable[[str], None]
PARTS = ("passes", "launch_skew", "gaps", "latency", "drain")
"""Parts of a run's cycles, in order of time: fields of `CostRow`."""


@dataclass(frozen=True)
class Sweep:
    """A Sweep says which runs to make on one SM: all combinations of w, l and k."""

    options: RunOptions
    warps: tuple[int, ...]  #: values of w, the warps of the block
    loads: tuple[int, ...]  #: values of l, the loads of each warp
    congestion: tuple[int, ...]  #: values of k, the lanes of a warp that want different rows of one bank


@dataclass(frozen=True)
class CostRow:
    """A CostRow has the cycles of one run, and their parts.

    `cycles` is the sum of the five parts from `passes` to `drain`. `arrivals` and `barrier` come before the first read
    of the clock, and belong to no part.
    """

    w: int
    l: int  # noqa: E741  the paper's letter
    k: int
    cycles: int  #: as the paper counts them
    passes: int  #: in which the banks served a load
    launch_skew: int  #: in which the banks were idle before the last warp's first read of the clock
    gaps: int  #: in which the banks were idle from then to the last pass: warps store their clocks by the same port
    latency: int  #: of one load beyond its pass, measured in the run w = l = k = 1
    drain: int  #: from the last value to the latest read of the clock
    arrivals: int  #: between the first warp at the barrier and the last
    barrier: int  #: from the last warp at the barrier to the earliest read of the clock

    @property
    def product(self) -> int:
        """Return w * l * k, the abscissa of the paper's regression."""
        return self.w * self.l * self.k


@dataclass(frozen=True)
class FittedLine:
    """A FittedLine is y = x * c1 + c2 by least squares. Its numbers are None if all x are equal."""

    c1: float | None
    c2: float | None
    r2: float | None  #: share of the variance of y that the line explains; None also if all y are equal


@dataclass(frozen=True)
class Costs:
    """A Costs is the outcome of a sweep."""

    sweep: Sweep
    clock: int  #: cycles between two reads of the clock with nothing between them
    rows: tuple[CostRow, ...]

    @cached_property
    def fit(self) -> FittedLine:
        """Return the paper's regression, of all cycles."""
        return self.line([row.cycles for row in self.rows])

    @cached_property
    def parts(self) -> dict[str, FittedLine]:
        """Return the same regression for each part of the cycles. Its c1 and c2 add up to those of all cycles."""
        return {part: self.line([getattr(row, part) for row in self.rows]) for part in PARTS}

    @cached_property
    def passes(self) -> dict[int, int]:
        """Return for each k the passes of one load.

        These are k passes if there are as many banks as lanes, and a bank serves a lane in one pass.
        """
        return {row.k: row.passes // (row.w * row.l) for row in self.rows}

    def line(self, values: Sequence[int]) -> FittedLine:
        """Return the regression for one number of each row."""
        return fit([row.product for row in self.rows], values)


def fit(xs: Sequence[int], ys: Sequence[int]) -> FittedLine:
    """Return the least-squares line through the points. All but the last divisions are exact."""
    n = len(xs)
    sx, sy = sum(xs), sum(ys)
    sxx = n * sum(x * x for x in xs) - sx * sx
    sxy = n * sum(x * y for x, y in zip(xs, ys, strict=True)) - sx * sy
    syy = n * sum(y * y for y in ys) - sy * sy
    if sxx == 0:
        return FittedLine(None, None, None)
    return FittedLine(sxy / sxx, (sy * sxx - sxy * sx) / (n * sxx), sxy * sxy / (sxx * syy) if syy else None)


def costs(sweep: Sweep, progress: Progress) -> Costs:
    """Run the sweep, and return its costs. progress: called with a sentence before each run.

    Raises Refused if the machine has no blocks of as many warps, and as `run_launch` does.
    """
    machine = sweep.options.machine
    threads, lanes = machine.sm.threads_per_block, machine.chip.warp_size
    most = threads // lanes
    if max(sweep.warps) > most:
        fewer = ",".join(str(w) for w in sorted({1, 8, 16, most}) if w <= most)
        raise Refused(
            "the block is larger than the machine allows", place=Hint("{warps}"),
            found=f"{max(sweep.warps)} warps, {max(sweep.warps) * lanes:,} threads",
            expected=f"at most {most} warps, {threads:,} threads, on {machine.name}",
            remedy=Hint("Ask for fewer: {warps} " + fewer + "."),
        )  # fmt: skip
    pair = _Runs(sweep, 0).measure(1, 1)
    clock = pair.end - pair.start
    one = _Runs(sweep, 1).row(1, 1, clock, None)
    runs = {loads: _Runs(sweep, loads) for loads in sweep.loads}
    points = list(product(sweep.warps, sweep.loads, sweep.congestion))
    rows = []
    for n, (w, loads, k) in enumerate(points, 1):
        progress(f"run {n} of {len(points)}: w {w}, l {loads}, k {k}")
        rows.append(runs[loads].row(w, k, clock, one.latency))
    return Costs(sweep, clock, tuple(rows))


class _Runs:
    """A _Runs runs the kernel with one number of loads per warp."""

    def __init__(self, sweep: Sweep, loads: int) -> None:
        self.sweep, self.loads = sweep, loads
        machine = sweep.options.machine
        self.module: Module = timed(schedule(kernel(machine, loads), machine), loads)

    def measure(self, w: int, k: int) -> ClockReads:
        """Run the kernel by w warps with congestion k."""
        return measure(self.module, w, k, self.sweep.options)

    def row(self, w: int, k: int, clock: int, latency: int | None) -> CostRow:
        """Return one point of the sweep.

        clock: cycles between two reads of the clock. latency: that of one load, None in the run that measures it.
        """
        found = self.measure(w, k)
        start, end, times = found.start, found.end, found.times
        begun = found.last_start + clock  # from now on the last warp loads
        done = max(begun, max(cycle + passes for cycle, passes in times.accesses))
        latency = end - done if latency is None else latency
        row = CostRow(
            w, self.loads, k,
            cycles=end - start - clock,
            passes=times.taken(start, end),
            launch_skew=begun - start - clock - times.taken(start, begun),
            gaps=done - begun - times.taken(begun, done),
            latency=latency,
            drain=end - done - latency,
            arrivals=times.arrivals[-1] - times.arrivals[0],
            barrier=start - times.arrivals[-1],
        )  # fmt: skip
        assert sum(getattr(row, part) for part in PARTS) == row.cycles
        return row

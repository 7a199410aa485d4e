"""The smem-cost paper's experiment on the emulator: what l shared loads of congestion k by w warps cost.

Cycles are the latest end minus the earliest start of the kernel in `kernel.py` beside this, minus what
two reads of the clock cost by themselves; E = w*l*k*c1 + c2 is fitted to them (sections II and III of the paper). Every
run is counted once: the emulator gives the same cycles again, where the paper takes the average of 100.
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
"""What a run's cycles are made of, in order of time; see `CostRow`."""


@dataclass(frozen=True)
class Sweep:
    """What to run: every w (warps), l (loads per warp) and k (congestion), on one SM."""

    options: RunOptions
    warps: tuple[int, ...]
    loads: tuple[int, ...]
    congestion: tuple[int, ...]


@dataclass(frozen=True)
class CostRow:
    """One run. `cycles`, as the paper counts them, are the sum of these parts, all from the run itself:

    passes: cycles in which the banks served a load. launch_skew: in which they had nothing to do until the last warp
    had begun (read its first clock). gaps: likewise, from then to the end of the last pass; warps that have ended store
    what they read, by the same port. latency: what one load takes beyond its pass, as counted in the run w = l = k = 1.
    drain: the rest, from the last value to the latest read of the clock.

    Before the first read of the clock, and in no part: arrivals, the cycles between the first warp at the barrier and
    the last; barrier, those from then to the earliest read.
    """

    w: int
    l: int  # noqa: E741  the paper's letter
    k: int
    cycles: int
    passes: int
    launch_skew: int
    gaps: int
    latency: int
    drain: int
    arrivals: int
    barrier: int

    @property
    def product(self) -> int:
        return self.w * self.l * self.k


@dataclass(frozen=True)
class FittedLine:
    """y = x * c1 + c2 by least squares; r2: the share of y's variance that it explains. None where all x are one, r2
    where all y are."""

    c1: float | None
    c2: float | None
    r2: float | None


@dataclass(frozen=True)
class Costs:
    """A sweep's outcome. clock: cycles between two reads of the clock with nothing between."""

    sweep: Sweep
    clock: int
    rows: tuple[CostRow, ...]

    @cached_property
    def fit(self) -> FittedLine:
        """The paper's regression."""
        return self.line([row.cycles for row in self.rows])

    @cached_property
    def parts(self) -> dict[str, FittedLine]:
        """The same regression of each part: their c1 add up to c1, their c2 to c2."""
        return {part: self.line([getattr(row, part) for row in self.rows]) for part in PARTS}

    @cached_property
    def passes(self) -> dict[int, int]:
        """By k, the passes that one load takes: k, where the banks are as many as lanes, and each gives what a lane
        wants in one."""
        return {row.k: row.passes // (row.w * row.l) for row in self.rows}

    def line(self, values: Sequence[int]) -> FittedLine:
        """The regression of one number of each row."""
        return fit([row.product for row in self.rows], values)


def fit(xs: Sequence[int], ys: Sequence[int]) -> FittedLine:
    """The least-squares line through the points, in exact arithmetic up to the divisions."""
    n = len(xs)
    sx, sy = sum(xs), sum(ys)
    sxx = n * sum(x * x for x in xs) - sx * sx
    sxy = n * sum(x * y for x, y in zip(xs, ys, strict=True)) - sx * sy
    syy = n * sum(y * y for y in ys) - sy * sy
    if sxx == 0:
        return FittedLine(None, None, None)
    return FittedLine(sxy / sxx, (sy * sxx - sxy * sx) / (n * sxx), sxy * sxy / (sxx * syy) if syy else None)


def costs(sweep: Sweep, progress: Progress) -> Costs:
    """Run the sweep. Refused where a block of so many warps does not fit on the machine; else as `run`."""
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
    """Runs of the kernel with so many loads."""

    def __init__(self, sweep: Sweep, loads: int) -> None:
        self.sweep, self.loads = sweep, loads
        machine = sweep.options.machine
        self.module: Module = timed(schedule(kernel(machine, loads), machine), loads)

    def measure(self, w: int, k: int) -> ClockReads:
        return measure(self.module, w, k, self.sweep.options)

    def row(self, w: int, k: int, clock: int, latency: int | None) -> CostRow:
        """One point of the sweep; latency None: it is the run that says what it is."""
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

"""This module accounts for the issue slots of schedulers that issue nothing. The reason is entered when it changes.

While no warp of a scheduler can issue, the reason stays the same until one of its warps changes its state. Its slots
are entered then, for all cycles since the last ones that were entered, so an idle scheduler costs nothing in between. A
scheduler that has had its turn in this cycle (`s.turned`) keeps this cycle's slot from before the change.
"""

from __future__ import annotations

from binalloc.emulator.policies.waits import idle_reason
from binalloc.emulator.sm.profile import charge
from binalloc.emulator.state.arrays import Grid
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.modes import CHECKING
from binalloc.emulator.state.records import Gpu, Sm


@device(inline=True)
def over(s: Sm, sch: int, until: int) -> int:
    """Return the last cycle whose slots the scheduler has used or lost, if all schedulers have up to cycle `until`. It
    is the next cycle where the scheduler has had its turn in it."""
    return until + (1 if sch < s.turned else 0)


@device(apart=True)
def enter_idle(g: Gpu, s: Sm, sch: int, until: int) -> None:
    """Enter the scheduler's slots as lost, from the last cycle that was entered up to cycle `until`."""
    s.stall[idle_reason(s, sch)] += (until - s.entered[sch]) * g.issue_width
    s.entered[sch] = until


@device
def enter_profiled(g: Gpu, s: Sm, program: Grid, sch: int, until: int) -> None:
    """Enter the scheduler's slots as lost up to cycle `until`, if some have not been entered. In profiled runs hold
    them against an instruction, too."""
    if s.entered[sch] < until:
        if CHECKING and g.profile:
            charge(g, s, program, sch, idle_reason(s, sch), (until - s.entered[sch]) * g.issue_width)
        enter_idle(g, s, sch, until)


@device
def enter_residence(s: Sm, until: int) -> None:
    """Count the warp cycles up to cycle `until`. The SM has had its present warps since the last count."""
    if s.last_time < until:
        s.stat[Stat.WARP_CYCLES] += (until - s.last_time) * s.live_warps
        s.last_time = until


@device
def bring_up(g: Gpu, s: Sm, program: Grid, until: int) -> None:
    """Enter all that the SM has left out up to cycle `until`. Enter the slots of the next cycle, too, for schedulers
    that have had their turn in it."""
    enter_residence(s, until)
    for sch in range(g.schedulers):
        enter_profiled(g, s, program, sch, over(s, sch, until))

"""This module takes a warp from its waking to its turn: through gates, the scoreboards of its next instruction, and
more gates, in the order of their table.

Where there are gates, a warp *knocks* when it wakes, or when something that it waited for has come. The warps that have
knocked are looked at together, after all other events of the cycle: scheduler by scheduler, and in the order of their
slots within each. So the order does not depend on the form of a cycle's bookkeeping. A warp goes on from the gate that
it has waited at.
"""

from __future__ import annotations

from binalloc.emulator.policies.events import closed
from binalloc.emulator.policies.gates.table import BEHIND_BOARDS, closed_before, closed_behind
from binalloc.emulator.sm.events import may_issue, set_state, wait_for_boards, wake_at
from binalloc.emulator.state.arrays import Cube, Grid
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import StackColumn, Warp
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.scan import lowest_bit


@device
def wait_at(g: Gpu, s: Sm, w: int, gate: int) -> None:
    """Make the warp wait at the gate from now on."""
    if s.closed_until > g.cycle:
        wake_at(g, s, w, s.closed_until, Warp.GATE + gate)
    else:
        set_state(g, s, w, Warp.GATE + gate)
        s.ready_at[w] = -1
    closed(g, s, w, gate)


@device
def answer_knock(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int) -> None:
    """Let the warp go on to the next thing that it waits for, or to its turn."""
    pc = s.stack[w, s.sp[w], StackColumn.PC]
    state = s.state[w]
    if state != Warp.SCOREBOARD and (state < Warp.GATE or (BEHIND_BOARDS >> (state - Warp.GATE)) & 1 == 0):
        gate = closed_before(g, s, program, regs, w, pc)
        if gate >= 0:
            wait_at(g, s, w, gate)
            return
        if wait_for_boards(g, s, program, w):
            return
    gate = closed_behind(g, s, program, regs, w, pc)
    if gate >= 0:
        wait_at(g, s, w, gate)
        return
    may_issue(g, s, program, w)


@device(apart=True)
def answer_knocks(g: Gpu, s: Sm, program: Grid, regs: Cube) -> None:
    """Look at the warps that have knocked in this cycle. Warps called after the turns of the last cycle are among
    them."""
    s.called = 0
    for sch in range(g.schedulers):
        knocking = s.knocking[sch]
        s.knocking[sch] = 0
        while knocking:
            bit = lowest_bit(knocking)
            knocking &= knocking - 1
            answer_knock(g, s, program, regs, bit * g.schedulers + sch)

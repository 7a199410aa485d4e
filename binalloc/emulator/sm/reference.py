"""This module is the plain per-cycle form of a cycle's bookkeeping: no wheel, no calendar, no ready masks, no census.

Every cycle it looks afresh at every warp and every scoreboard time. It shares the execution of an instruction with the
event-skipping form (`issue.begin_issue` to `issue.end_issue`). It has its own ways to find the next cycle with work,
the eligible warps and the stall reasons. Both forms must agree on every counter.

What `sm.issue` calls here is compiled apart. As a part of each cycle's code it would cost the usual form a tenth of its
speed.
"""

from __future__ import annotations

from binalloc.emulator.policies.events import completed, resumed, waits
from binalloc.emulator.policies.waits import NO_RANK, rank_of, reason_of
from binalloc.emulator.sm.dispatch import next_launch
from binalloc.emulator.sm.events import knock, retire_warp, set_state
from binalloc.emulator.sm.log import log_event, log_wait
from binalloc.emulator.sm.ports import port_free
from binalloc.emulator.state.arrays import Grid
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import SCOREBOARDS, Column, StackColumn, Warp
from binalloc.emulator.state.memory_layout import NEVER, Tagged
from binalloc.emulator.state.parts.log import LogKind
from binalloc.emulator.state.records import Gpu, Sm


@device(apart=True)
def refresh(g: Gpu, s: Sm, program: Grid) -> None:
    """Bring the states of scoreboards and warps up to the current cycle."""
    for w in range(g.warp_limit):
        if s.state[w] != Warp.NONE:
            for b in range(SCOREBOARDS):
                if (s.busy[w] >> b) & 1 and s.board_open[w, b] == 0 and s.board_time[w, b] <= g.cycle:
                    s.busy[w] &= ~(1 << b)
                    completed(g, s, w, b)
    for w in range(g.warp_limit):
        state = s.state[w]
        if state == Warp.DONE and s.busy[w] == 0 and s.gone[w] == 0:
            retire_warp(g, s, w)
        elif state == Warp.SCOREBOARD:
            if not waited_for(s, program, w):
                resumed(g, s, w)
                if g.logging:
                    log_event(g, s, LogKind.RESUME, w, -1, 0)
                if g.gates:
                    knock(g, s, w)
                else:
                    set_state(g, s, w, Warp.READY)
        elif (
            state == Warp.STALL
            or state == Warp.BRANCH
            or state >= Warp.GATE
            or (state == Warp.BARRIER and s.bar_id[w] < 0)
        ) and s.ready_at[w] == g.cycle:
            if g.gates:
                knock(g, s, w)
                continue
            boards = waited_for(s, program, w)
            set_state(g, s, w, Warp.SCOREBOARD if boards else Warp.READY)
            if boards:
                waits(g, s, w, boards)
                if g.logging:
                    log_wait(g, s, w, boards)


@device
def waited_for(s: Sm, program: Grid, w: int) -> int:
    """Return the busy scoreboards that the warp's next instruction waits for, as bits."""
    return s.busy[w] & program[s.stack[w, s.sp[w], StackColumn.PC], Column.WAIT]


@device(apart=True)
def reason(g: Gpu, s: Sm, sch: int) -> int:
    """Return the reason why the scheduler issues nothing, a `Stall`, from its warps' states."""
    best = NO_RANK
    for w in range(sch, g.warp_limit, g.schedulers):
        best = min(best, rank_of(s.state[w]))
    return reason_of(best)


@device(apart=True)
def resident_warps(g: Gpu, s: Sm) -> int:
    """Return the number of warps of resident blocks."""
    n = 0
    for w in range(g.warp_limit):
        n += 1 if s.state[w] != Warp.NONE else 0
    return n


@device(apart=True)
def eligible_now(g: Gpu, s: Sm, program: Grid, sch: int) -> int:
    """Return the scheduler's warps whose next instruction could issue now, as a bit mask."""
    eligible = 0
    for w in range(sch, g.warp_limit, g.schedulers):
        if s.state[w] == Warp.READY:
            pc = s.stack[w, s.sp[w], StackColumn.PC]
            if port_free(g, s, sch, program[pc, Column.UNIT]) <= g.cycle:
                eligible |= g.bit_of[w]
    return eligible


@device(apart=True)
def can_go_on(g: Gpu, s: Sm) -> int:
    """Return 1 if any warp of the SM can ever issue again by itself, or a block can still come."""
    if next_launch(g, s) < NEVER or s.loads_out or s.stores_out or s.called:
        return 1
    if s.tagged_out[Tagged.CODE] or s.tagged_out[Tagged.CONSTANTS]:
        return 1
    for w in range(g.warp_limit):
        state = s.state[w]
        if (
            state == Warp.READY
            or state == Warp.STALL
            or state == Warp.BRANCH
            or (state == Warp.BARRIER and s.bar_id[w] < 0)
            or (state >= Warp.GATE and s.ready_at[w] > g.cycle)
        ):
            return 1
        if state == Warp.SCOREBOARD or state == Warp.DONE:
            for b in range(SCOREBOARDS):
                if (s.busy[w] >> b) & 1 and s.board_time[w, b] > g.cycle:
                    return 1
    return 0

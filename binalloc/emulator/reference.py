"""The plain per-cycle form of `issue.step_sm`: no wheel, no calendar, no ready masks, no census.

Every cycle it looks at every warp and every scoreboard time afresh. It shares with the event-skipping form what an
instruction does (`issue.issue_warp`), but not how the next cycle with work, the eligible warps and the stall reasons are
found; both must agree on every counter.
"""

from __future__ import annotations

from typing import Any

from binalloc.emulator.device import device
from binalloc.emulator.dispatch import dispatch
from binalloc.emulator.events import retire_warp, set_state
from binalloc.emulator.issue import issue_warp, port_free
from binalloc.emulator.layout import (
    C_UNIT,
    C_WAIT,
    R_BARRIER,
    R_BRANCH,
    R_DRAIN,
    R_NO_PAIR,
    R_NO_WARP,
    R_PORT,
    R_SCOREBOARD,
    R_STALL,
    S_DUAL,
    S_SLOTS,
    S_WARP_CYCLES,
    SCOREBOARDS,
    ST_PC,
    W_BARRIER,
    W_BRANCH,
    W_DONE,
    W_NONE,
    W_READY,
    W_SCOREBOARD,
    W_STALL,
)
from binalloc.emulator.schedulers import pick


@device
def refresh(g: Any, s: Any, program: Any) -> None:
    """Bring scoreboards and warp states up to now."""
    for w in range(g.warp_limit):
        if s.state[w] != W_NONE and not (s.state[w] == W_BARRIER and s.bar_id[w] >= 0):
            for b in range(SCOREBOARDS):
                if (s.busy[w] >> b) & 1 and s.board_time[w, b] <= g.cycle:
                    s.busy[w] &= ~(1 << b)
    for w in range(g.warp_limit):
        state = s.state[w]
        if state == W_DONE and s.busy[w] == 0:
            retire_warp(g, s, w)
        elif (state == W_STALL or state == W_BRANCH or (state == W_BARRIER and s.bar_id[w] < 0)) and s.ready_at[
            w
        ] == g.cycle:
            set_state(g, s, w, W_SCOREBOARD)
    for w in range(g.warp_limit):
        if s.state[w] == W_SCOREBOARD and not s.busy[w] & program[s.stack[w, s.sp[w], ST_PC], C_WAIT]:
            set_state(g, s, w, W_READY)


@device
def reason(g: Any, s: Any, sch: int) -> int:
    """Why the scheduler issues nothing, from its warps' states."""
    best = R_NO_WARP
    rank = 7
    for w in range(sch, g.warp_limit, g.schedulers):
        state = s.state[w]
        r = R_NO_WARP
        k = 7
        if state == W_READY:
            r, k = R_PORT, 0
        elif state == W_STALL:
            r, k = R_STALL, 1
        elif state == W_BRANCH:
            r, k = R_BRANCH, 2
        elif state == W_SCOREBOARD:
            r, k = R_SCOREBOARD, 3
        elif state == W_BARRIER:
            r, k = R_BARRIER, 4
        elif state == W_DONE:
            r, k = R_DRAIN, 5
        if k < rank:
            best, rank = r, k
    return best


@device
def step_reference(
    g: Any, s: Any, program: Any, regs: Any, hazard: Any, global_: Any, shared: Any, local: Any, const: Any,
    counts: Any,
) -> None:  # fmt: skip
    """The cycle `g.cycle` of one SM; `s.next_time` becomes the next cycle, or -1 if no warp can ever go on."""
    refresh(g, s, program)
    dispatch(g, s, program, regs, hazard, shared, local)
    resident = 0
    for w in range(g.warp_limit):
        resident += 1 if s.state[w] != W_NONE else 0
    s.stat[S_WARP_CYCLES] += resident
    for sch in range(g.schedulers):
        eligible = 0
        for w in range(sch, g.warp_limit, g.schedulers):
            if s.state[w] == W_READY:
                unit = program[s.stack[w, s.sp[w], ST_PC], C_UNIT]
                if port_free(g, s, unit) <= g.cycle:
                    eligible |= 1 << (w // g.schedulers)
        issued = 0
        if eligible:
            i = pick(g, s, sch, eligible)
            s.last[sch] = i
            issued = issue_warp(
                g, s, program, regs, hazard, global_, shared, local, const, counts, i * g.schedulers + sch
            )
            if g.fault:
                return
            if issued > 1:
                s.stat[S_DUAL] += 1
            s.stall[R_NO_PAIR] += g.issue_width - issued
        else:
            s.stall[reason(g, s, sch)] += g.issue_width
        s.stat[S_SLOTS] += issued
    alive = 0
    for w in range(g.warp_limit):
        state = s.state[w]
        if state == W_READY or state == W_STALL or state == W_BRANCH or (state == W_BARRIER and s.bar_id[w] < 0):
            alive = 1
        if state == W_SCOREBOARD or state == W_DONE:
            for b in range(SCOREBOARDS):
                if (s.busy[w] >> b) & 1 and s.board_time[w, b] > g.cycle:
                    alive = 1
    if g.next_block < g.blocks and s.resident < g.resident_limit:
        alive = 1
    s.next_time = g.cycle + 1 if alive else -1

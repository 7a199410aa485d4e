"""Instructions that look across lanes or at the launch: SHFL, VOTE, MATCH, WARPSYNC, S2R, CS2R."""

from __future__ import annotations

from binalloc.emulator.arithmetic.integer import shfl_source
from binalloc.emulator.checks.faulting import set_fault
from binalloc.emulator.execute.operands import write_predicate
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import (
    C_PS0_XOR,
    F_M64,
    F_MATCH,
    F_PD0,
    F_PS0,
    F_SHFL,
    F_SREG,
    F_SRW,
    F_VOTE,
    FULL,
    LOCAL_WINDOW,
    SHARED_WINDOW,
    Fault,
)
from binalloc.emulator.state.records import Gpu, Grid, Sm
from binalloc.emulator.state.scan import lowest_bit


@device
def shuffle(g: Gpu, s: Sm, program: Grid, w: int, pc: int, mask: int) -> None:
    """SHFL: another lane's word, zero from a lane that does not take part; whether the lane was in range."""
    mode = program[pc, F_SHFL]
    bits = 0
    for t in range(g.lanes):
        if (mask >> t) & 1:
            source, ok = shfl_source(mode, t, s.b[t], s.c[t])
            bits |= ok << t
            s.d[t] = s.a[source] if (mask >> source) & 1 else 0
    write_predicate(s, w, program[pc, F_PD0], bits, mask)


@device
def vote(g: Gpu, s: Sm, program: Grid, w: int, pc: int, mask: int) -> None:
    """VOTE: the lanes whose predicate holds; whether all do, any does, or all agree."""
    votes = (s.pred[w, program[pc, F_PS0]] ^ program[pc, C_PS0_XOR]) & mask
    mode = program[pc, F_VOTE]
    if mode == 0:
        truth = 1 if votes == mask else 0
    elif mode == 1:
        truth = 1 if votes != 0 else 0
    else:
        truth = 1 if votes == 0 or votes == mask else 0
    for t in range(g.lanes):
        s.d[t] = votes
    write_predicate(s, w, program[pc, F_PD0], FULL * truth, mask)


@device
def match_lanes(g: Gpu, s: Sm, program: Grid, w: int, pc: int, mask: int) -> None:
    """MATCH: the lanes of `mask` with the own value (ANY), or all of them if they agree (ALL)."""
    wide = program[pc, F_M64]
    agree = 1
    for t in range(g.lanes):
        same = 0
        for k in range(g.lanes):
            if s.a[k] == s.a[t] and (wide == 0 or s.ah[k] == s.ah[t]):
                same |= 1 << k
        s.d[t] = same & mask
        if (mask >> t) & 1 and s.d[t] != mask:
            agree = 0
    if program[pc, F_MATCH]:
        for t in range(g.lanes):
            s.d[t] = mask * agree
        write_predicate(s, w, program[pc, F_PD0], FULL * agree, mask)
    else:
        write_predicate(s, w, program[pc, F_PD0], FULL, mask)


@device
def warpsync(g: Gpu, s: Sm, w: int, pc: int, mask: int) -> None:
    """WARPSYNC by the lanes of `mask`: the lanes that one of them names, those that have ended apart, must execute it
    too and name the same."""
    rest = mask
    while rest:
        lane = lowest_bit(rest)
        same = 0  # the lanes that name the same as `lane`
        for t in range(g.lanes):
            if (mask >> t) & 1 and s.b[t] == s.b[lane]:
                same |= 1 << t
        missing = s.b[lane] & s.live[w] & ~same
        if missing & ~mask:
            set_fault(g, s, Fault.WARPSYNC, w, pc, lowest_bit(missing & ~mask), s.b[lane], mask, 0)
        elif missing:
            set_fault(g, s, Fault.WARPSYNC, w, pc, lane, s.b[lane], missing, 1)
        rest &= ~same


@device
def launch_register(g: Gpu, s: Sm, w: int, sreg: int) -> int:
    """Special registers that are the same for the whole warp."""
    block = s.block_id[s.block_of[w]]
    value = 0
    if sreg == 3:
        value = g.ntid_x
    elif sreg == 4:
        value = g.ntid_y
    elif sreg == 5:
        value = g.ntid_z
    elif sreg == 6:
        value = block % g.nctaid_x
    elif sreg == 7:
        value = block // g.nctaid_x % g.nctaid_y
    elif sreg == 8:
        value = block // (g.nctaid_x * g.nctaid_y)
    elif sreg == 9:
        value = g.nctaid_x
    elif sreg == 10:
        value = g.nctaid_y
    elif sreg == 11:
        value = g.nctaid_z
    elif sreg == 13:
        value = s.in_block[w]
    elif sreg == 14:
        value = g.warps_per_block
    elif sreg == 15:
        value = s.id
    elif sreg == 16:
        value = g.nsm_reported
    elif sreg == 22:
        value = g.cycle & FULL
    elif sreg == 23:
        value = (g.cycle >> 32) & FULL
    elif sreg == 24:
        value = g.dynamic_shared
    elif sreg == 25:
        value = g.shared_total
    elif sreg == 28:
        value = SHARED_WINDOW
    elif sreg == 29:
        value = LOCAL_WINDOW
    return value


@device
def lane_register(g: Gpu, s: Sm, w: int, sreg: int, t: int) -> int:
    """Special registers that differ from lane to lane."""
    thread = s.in_block[w] * 32 + t
    value = 0
    if sreg == 0:
        value = thread % g.ntid_x
    elif sreg == 1:
        value = thread // g.ntid_x % g.ntid_y
    elif sreg == 2:
        value = thread // (g.ntid_x * g.ntid_y)
    elif sreg == 12:
        value = t
    elif sreg == 17:
        value = 1 << t
    elif sreg == 18:
        value = (1 << t) - 1
    elif sreg == 19:
        value = (2 << t) - 1
    elif sreg == 20:
        value = FULL & ~((2 << t) - 1)
    elif sreg == 21:
        value = FULL & ~((1 << t) - 1)
    elif sreg == 26:
        value = g.slot_base + s.in_block[w] * g.slot_bytes + 4 * t
    return value


@device
def read_special(g: Gpu, s: Sm, program: Grid, w: int, pc: int, mask: int) -> None:
    """S2R and CS2R; the 64-bit form adds the clock's high word, zero for the others."""
    sreg = program[pc, F_SREG]
    if sreg < 3 or sreg == 12 or 17 <= sreg <= 21 or sreg == 26:
        for t in range(g.lanes):
            s.d[t] = lane_register(g, s, w, sreg, t)
    else:
        value = launch_register(g, s, w, sreg)
        for t in range(g.lanes):
            s.d[t] = value
    high = launch_register(g, s, w, 23) if sreg == 22 and program[pc, F_SRW] else 0
    for t in range(g.lanes):
        s.dh[t] = high

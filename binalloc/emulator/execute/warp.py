"""This module executes the instructions that look across lanes or at the launch: SHFL, VOTE, MATCH, WARPSYNC, S2R,
CS2R."""

from __future__ import annotations

from binalloc.emulator.arithmetic.integer import shfl_source
from binalloc.emulator.checks.faulting import set_fault
from binalloc.emulator.execute.operands import write_predicate
from binalloc.emulator.state.arrays import Grid
from binalloc.emulator.state.codes import Codes
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import FULL, LANES, LOCAL_WINDOW, SHARED_WINDOW, WORD, Column, Fault
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.scan import lowest_bit
from binalloc.isa.table.opcodes import SPECIAL_REGISTERS

# special registers by the names in `SpecialRead`
_SPECIAL = {name.removeprefix("SR_").replace(".", "_").lower(): i for i, name in enumerate(SPECIAL_REGISTERS)}


class SpecialRead(Codes, numbers=_SPECIAL):
    """S2R and CS2R read these special registers as something else than zero."""

    TID_X: int
    TID_Y: int
    TID_Z: int
    NTID_X: int
    NTID_Y: int
    NTID_Z: int
    CTAID_X: int
    CTAID_Y: int
    CTAID_Z: int
    NCTAID_X: int
    NCTAID_Y: int
    NCTAID_Z: int
    LANEID: int
    WARPID: int
    NWARPID: int
    SMID: int
    NSMID: int
    EQMASK: int
    LTMASK: int
    LEMASK: int
    GTMASK: int
    GEMASK: int
    CLOCKLO: int
    CLOCKHI: int
    DYNAMIC_SMEM: int
    TOTAL_SMEM: int
    SLOTBASE: int
    SHARED_WINDOW: int
    LOCAL_WINDOW: int
    TIMERLO: int
    TIMERHI: int


@device
def shuffle(g: Gpu, s: Sm, program: Grid, w: int, pc: int, mask: int) -> None:
    """Execute SHFL: another lane's word, zero from a lane that does not execute it; pd0 says whether the lane was in
    range."""
    mode = program[pc, Column.SHFL]
    bits = 0
    for t in range(g.lanes):
        if (mask >> t) & 1:
            source, ok = shfl_source(mode, t, s.b[t], s.c[t])
            bits |= ok << t
            s.d[t] = s.a[source] if (mask >> source) & 1 else 0
    write_predicate(s, w, program[pc, Column.PD0], bits, mask)


@device
def vote(g: Gpu, s: Sm, program: Grid, w: int, pc: int, mask: int) -> None:
    """Execute VOTE: the lanes whose predicate is true, and in pd0 whether all are, any is, or all agree."""
    votes = (s.pred[w, program[pc, Column.PS0]] ^ program[pc, Column.PS0_XOR]) & mask
    mode = program[pc, Column.VOTE]
    if mode == 0:
        truth = 1 if votes == mask else 0
    elif mode == 1:
        truth = 1 if votes != 0 else 0
    else:
        truth = 1 if votes == 0 or votes == mask else 0
    for t in range(g.lanes):
        s.d[t] = votes
    write_predicate(s, w, program[pc, Column.PD0], FULL * truth, mask)


@device
def match_lanes(g: Gpu, s: Sm, program: Grid, w: int, pc: int, mask: int) -> None:
    """Execute MATCH: the lanes of `mask` with the lane's own value (ANY), or all of them if they agree (ALL)."""
    wide = program[pc, Column.M64]
    agree = 1
    for t in range(g.lanes):
        same = 0
        for k in range(g.lanes):
            if s.a[k] == s.a[t] and (wide == 0 or s.ah[k] == s.ah[t]):
                same |= 1 << k
        s.d[t] = same & mask
        if (mask >> t) & 1 and s.d[t] != mask:
            agree = 0
    if program[pc, Column.MATCH]:
        for t in range(g.lanes):
            s.d[t] = mask * agree
        write_predicate(s, w, program[pc, Column.PD0], FULL * agree, mask)
    else:
        write_predicate(s, w, program[pc, Column.PD0], FULL, mask)


@device
def warpsync(g: Gpu, s: Sm, w: int, pc: int, mask: int) -> None:
    """Execute WARPSYNC by the lanes of `mask`. All live lanes that one of them names must execute it too and name the
    same lanes."""
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
def nanoseconds(g: Gpu) -> int:
    """Return the time of the core clock in nanoseconds, rounded down. No product exceeds 64 bits."""
    return g.cycle // g.core_khz * 1000000 + g.cycle % g.core_khz * 1000000 // g.core_khz


@device
def launch_register(g: Gpu, s: Sm, w: int, sreg: int) -> int:
    """Return a special register that is the same for the whole warp."""
    block = s.block_id[s.block_of[w]]
    value = 0
    if sreg == SpecialRead.NTID_X:
        value = g.ntid_x
    elif sreg == SpecialRead.NTID_Y:
        value = g.ntid_y
    elif sreg == SpecialRead.NTID_Z:
        value = g.ntid_z
    elif sreg == SpecialRead.CTAID_X:
        value = block % g.nctaid_x
    elif sreg == SpecialRead.CTAID_Y:
        value = block // g.nctaid_x % g.nctaid_y
    elif sreg == SpecialRead.CTAID_Z:
        value = block // (g.nctaid_x * g.nctaid_y)
    elif sreg == SpecialRead.NCTAID_X:
        value = g.nctaid_x
    elif sreg == SpecialRead.NCTAID_Y:
        value = g.nctaid_y
    elif sreg == SpecialRead.NCTAID_Z:
        value = g.nctaid_z
    elif sreg == SpecialRead.WARPID:
        value = s.in_block[w]
    elif sreg == SpecialRead.NWARPID:
        value = g.warps_per_block
    elif sreg == SpecialRead.SMID:
        value = s.id
    elif sreg == SpecialRead.NSMID:
        value = g.nsm_reported
    elif sreg == SpecialRead.CLOCKLO:
        value = g.cycle & FULL
    elif sreg == SpecialRead.CLOCKHI:
        value = (g.cycle >> 32) & FULL
    elif sreg == SpecialRead.DYNAMIC_SMEM:
        value = g.dynamic_shared
    elif sreg == SpecialRead.TOTAL_SMEM:
        value = g.shared_total
    elif sreg == SpecialRead.SHARED_WINDOW:
        value = SHARED_WINDOW
    elif sreg == SpecialRead.LOCAL_WINDOW:
        value = LOCAL_WINDOW
    elif sreg == SpecialRead.TIMERLO:
        value = nanoseconds(g) & FULL
    elif sreg == SpecialRead.TIMERHI:
        value = (nanoseconds(g) >> 32) & FULL
    return value


@device
def lane_register(g: Gpu, s: Sm, w: int, sreg: int, t: int) -> int:
    """Return a special register that differs from lane to lane."""
    thread = s.in_block[w] * LANES + t
    value = 0
    if sreg == SpecialRead.TID_X:
        value = thread % g.ntid_x
    elif sreg == SpecialRead.TID_Y:
        value = thread // g.ntid_x % g.ntid_y
    elif sreg == SpecialRead.TID_Z:
        value = thread // (g.ntid_x * g.ntid_y)
    elif sreg == SpecialRead.LANEID:
        value = t
    elif sreg == SpecialRead.EQMASK:
        value = 1 << t
    elif sreg == SpecialRead.LTMASK:
        value = (1 << t) - 1
    elif sreg == SpecialRead.LEMASK:
        value = (2 << t) - 1
    elif sreg == SpecialRead.GTMASK:
        value = FULL & ~((2 << t) - 1)
    elif sreg == SpecialRead.GEMASK:
        value = FULL & ~((1 << t) - 1)
    elif sreg == SpecialRead.SLOTBASE:
        value = g.slot_base + s.in_block[w] * g.slot_bytes + WORD * t
    return value


@device
def read_special(g: Gpu, s: Sm, program: Grid, w: int, pc: int, mask: int) -> None:
    """Execute S2R and CS2R. The 64-bit form adds the high word of the clock and of the timer, zero for the others."""
    sreg = program[pc, Column.SREG]
    if (
        sreg <= SpecialRead.TID_Z or sreg == SpecialRead.LANEID or SpecialRead.EQMASK <= sreg <= SpecialRead.GEMASK
        or sreg == SpecialRead.SLOTBASE
    ):  # fmt: skip
        for t in range(g.lanes):
            s.d[t] = lane_register(g, s, w, sreg, t)
    else:
        value = launch_register(g, s, w, sreg)
        for t in range(g.lanes):
            s.d[t] = value
    high = 0
    if (sreg == SpecialRead.CLOCKLO or sreg == SpecialRead.TIMERLO) and program[pc, Column.SRW]:
        high = launch_register(g, s, w, sreg + 1)
    for t in range(g.lanes):
        s.dh[t] = high

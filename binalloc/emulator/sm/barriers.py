"""This module has block barriers: BAR.SYNC, BAR.ARV and the reductions, sixteen per block, counted in whole warps.
BAR.ALLOC and BAR.FREE are barriers, too: barrier 0 of the whole block.

A barrier opens when as many warps have come as the first arrival expects: thread count / 32, or every warp of the block
that has not ended. A warp must come with all its live lanes and one thread count. All arrivals at one opening must have
the same count, and reductions must not mix with other kinds. Hardware leaves the rest undefined; here it is a fault.
"""

from __future__ import annotations

from binalloc.emulator.checks.faulting import set_fault
from binalloc.emulator.checks.races import race_arrive, race_ended, race_leave, race_reset
from binalloc.emulator.execute.control import advance
from binalloc.emulator.policies.events import arrived, opened
from binalloc.emulator.policies.smm import ask, check_allocation, check_free, give_back, serve_next
from binalloc.emulator.sm.events import board_done, guard_until, hold_board, set_state, wake_at
from binalloc.emulator.sm.log import log_event, log_memory
from binalloc.emulator.state.arrays import Cube, Grid
from binalloc.emulator.state.codes import Codes
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import BARRIERS, LANES, PT, RZ, Column, Fault, Warp
from binalloc.emulator.state.modes import CHECKING
from binalloc.emulator.state.parts.log import LogKind
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.scan import count_bits, lowest_bit
from binalloc.isa.table.opcodes import BAR_MODES

MODES = (*BAR_MODES, "ALLOC", "FREE")
"""The kinds of barriers: the modes of BAR with their numbers in the table of opcodes, then the other two opcodes."""


class Mode(Codes, numbers={name.rpartition(".")[2].lower(): mode for mode, name in enumerate(MODES)}):
    """An arrival at a barrier is of one of these kinds."""

    SYNC: int
    ARV: int
    POPC: int
    AND: int
    OR: int
    ALLOC: int
    FREE: int


@device
def expected_warps(g: Gpu, s: Sm, slot: int, b: int) -> int:
    """Return the number of arrivals that opens barrier `b`: the count of its arrivals, or all warps not yet ended."""
    asked = s.bar_expected[slot, b]
    if asked > 0:
        return asked
    first = slot * g.warps_per_block
    alive = 0
    for w in range(first, first + g.warps_per_block):
        if s.live[w] != 0:
            alive += 1
    return alive


@device
def thread_count(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, mask: int) -> int:
    """Return operand B of the lanes in `mask`.

    Sets a fault unless the lanes agree on a multiple of 32 up to the block's threads. An arrival that does not wait
    must name a count: so a warp at a barrier of all warps is still there when the barrier opens.
    """
    most = g.warps_per_block * LANES
    count = program[pc, Column.B_LO]
    if program[pc, Column.B_REG] >= 0:
        count = int(regs[s.warp_base + w, program[pc, Column.B_REG], lowest_bit(mask)]) + 0
        for t in range(LANES):
            other = int(regs[s.warp_base + w, program[pc, Column.B_REG], t]) + 0
            if (mask >> t) & 1 and other != count:
                set_fault(g, s, Fault.BAR_COUNT, w, pc, t, other, count, program[pc, Column.BARID])
    if count % LANES != 0 or count > most or (count == 0 and program[pc, Column.BAR] == Mode.ARV):
        set_fault(g, s, Fault.BAR_COUNT, w, pc, -1, count, most, program[pc, Column.BARID])
    return count


@device
def agree(g: Gpu, s: Sm, w: int, pc: int, b: int, count: int, mode: int) -> None:
    """Enter the count and the kind of the first arrival at an opening. Later arrivals must have the same, else it is a
    fault.

    No count means the same as the count of all the block's threads, which then holds.
    """
    slot, asked = s.block_of[w], count // LANES
    kind = mode if mode >= Mode.POPC else Mode.SYNC
    if s.bar_arrived[slot, b] == 0:
        s.bar_expected[slot, b] = asked
        s.bar_kind[slot, b] = kind
        s.bar_votes[slot, b, 0] = 0
        s.bar_votes[slot, b, 1] = 0
        return
    before = s.bar_expected[slot, b]
    if before != asked and (before * asked != 0 or before + asked != g.warps_per_block):
        set_fault(g, s, Fault.BAR_COUNT, w, pc, -1, count, before * LANES, b)
    if kind != s.bar_kind[slot, b]:
        set_fault(g, s, Fault.BAR_MODE, w, pc, -1, mode, s.bar_kind[slot, b], b)
    s.bar_expected[slot, b] = max(before, asked)


@device
def barrier(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, mask: int) -> None:
    """Execute BAR, and set `s.waits` to whether the warp now waits."""
    advance(s, w, pc)
    s.waits = arrive(g, s, program, regs, w, pc, mask)


@device
def comes_whole(g: Gpu, s: Sm, w: int, pc: int, mask: int) -> int:
    """Return 1 if warp w comes to the barrier at `pc` with all its live lanes. Set a fault if only some of them do."""
    if mask != 0 and mask != s.live[w]:
        set_fault(g, s, Fault.BAR_DIVERGED, w, pc, -1, mask, s.live[w], 0)
        return 0
    return 1 if mask else 0


@device
def arrive(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, mask: int) -> int:
    """Execute BAR by the lanes `mask`. Return 1 if the warp has to wait, which is then in state Warp.BARRIER."""
    if comes_whole(g, s, w, pc, mask) == 0:
        return 0
    slot = s.block_of[w]
    b = program[pc, Column.BARID]
    mode = program[pc, Column.BAR]
    if mode > Mode.OR:
        set_fault(g, s, Fault.BAR_MODE, w, pc, -1, mode, -1, b)
        return 0
    count = thread_count(g, s, program, regs, w, pc, mask)
    agree(g, s, w, pc, b, count, mode)
    if g.fault:
        return 0
    count_arrival(g, s, w, b)
    bits = (s.pred[w, program[pc, Column.PS0]] ^ program[pc, Column.PS0_XOR]) & mask
    s.bar_votes[slot, b, 0] += count_bits(mask & ~bits)
    s.bar_votes[slot, b, 1] += count_bits(bits)
    if mode != Mode.ARV:
        wait_for_opening(g, s, program, w, pc, mask, b)
    open_if_complete(g, s, program, regs, slot, b)
    return 1 if mode != Mode.ARV else 0


@device
def count_arrival(g: Gpu, s: Sm, w: int, b: int) -> None:
    """Count warp w among those that have come to barrier `b`."""
    slot = s.block_of[w]
    s.stat[Stat.BARRIERS] += 1
    s.bar_arrived[slot, b] += 1
    if CHECKING and g.race:
        race_arrive(s, w, slot, b)


@device
def wait_for_opening(g: Gpu, s: Sm, program: Grid, w: int, pc: int, mask: int, b: int) -> None:
    """Have the warp wait until barrier `b`, at which it has arrived in lanes `mask`, opens."""
    s.bar_id[w] = b
    s.bar_pc[w] = pc
    s.bar_lanes[w] = mask
    set_state(g, s, w, Warp.BARRIER)
    arrived(g, s, w)
    if g.logging:
        log_event(g, s, LogKind.BARRIER, w, pc, b)
    hold_board(s, w, program[pc, Column.WBAR])


@device
def allocate(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, mask: int) -> None:
    """Execute BAR.ALLOC."""
    advance(s, w, pc)
    s.waits = arrive_managed(g, s, program, regs, w, pc, mask, Mode.ALLOC)


@device
def free(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, mask: int) -> None:
    """Execute BAR.FREE."""
    advance(s, w, pc)
    s.waits = arrive_managed(g, s, program, regs, w, pc, mask, Mode.FREE)


@device(apart=True)
def arrive_managed(
    g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, mask: int, mode: int
) -> int:
    """Do as `arrive` for a BAR.ALLOC or BAR.FREE."""
    if comes_whole(g, s, w, pc, mask) == 0:
        return 0
    agree(g, s, w, pc, 0, 0, mode)
    if g.smm and mode == Mode.ALLOC:
        check_allocation(g, s, program, regs, w, pc, mask)
    elif g.smm:
        check_free(g, s, program, regs, w, pc, mask)
    if g.fault:
        return 0
    count_arrival(g, s, w, 0)
    wait_for_opening(g, s, program, w, pc, mask, 0)
    open_if_complete(g, s, program, regs, s.block_of[w], 0)
    return 1


@device
def open_if_complete(g: Gpu, s: Sm, program: Grid, regs: Cube, slot: int, b: int) -> None:
    """Open barrier `b` of the block if all expected warps have come."""
    if s.bar_arrived[slot, b] == 0 or s.bar_arrived[slot, b] < expected_warps(g, s, slot, b):
        return
    s.bar_arrived[slot, b] = 0
    if g.smm and s.bar_kind[slot, b] > Mode.OR and manage(g, s, slot) == 0:
        return
    let_go(g, s, program, regs, slot, b)


@device(apart=True)
def manage(g: Gpu, s: Sm, slot: int) -> int:
    """Do what the BAR.ALLOC or BAR.FREE asks for at which the block in `slot` has met. Return 1 if the block goes on, 0
    if it has to wait for memory."""
    kind = s.bar_kind[slot, 0]
    first = slot * g.warps_per_block
    pc = -1
    for w in range(first, first + g.warps_per_block):
        if s.state[w] == Warp.BARRIER and s.bar_id[w] == 0:
            pc = s.bar_pc[w]
    if kind == Mode.FREE:
        give_back(s, slot, pc)
        log_memory(g, s, LogKind.GIVE, slot, pc)
        return 1
    if ask(g, s, slot, pc):
        log_memory(g, s, LogKind.TAKE, slot, pc)
        return 1
    log_memory(g, s, LogKind.FULL, slot, pc)
    for w in range(first, first + g.warps_per_block):
        if s.state[w] == Warp.BARRIER and s.bar_id[w] == 0:
            set_state(g, s, w, Warp.SHARED)
    return 0


@device(apart=True)
def hand_out(g: Gpu, s: Sm, program: Grid, regs: Cube) -> None:
    """Give the regions that have been closed in this cycle to blocks that wait, in order, and let these go on. The
    turns of all schedulers are over."""
    s.closed_some = 0
    s.turned = g.schedulers  # the slots of this cycle are lost for the reasons that there were until now
    slot = serve_next(g, s)
    while slot >= 0:
        log_memory(g, s, LogKind.TAKE, slot, s.allocated_pc[slot])
        let_go(g, s, program, regs, slot, 0)
        slot = serve_next(g, s)


@device
def let_go(g: Gpu, s: Sm, program: Grid, regs: Cube, slot: int, b: int) -> None:
    """Let the warps that wait at barrier `b` of the block go on when the unit's latency has passed, with their
    results."""
    first = slot * g.warps_per_block
    if CHECKING and g.race:
        race_ended(g, s, slot, b)
    for w in range(first, first + g.warps_per_block):
        if (s.state[w] == Warp.BARRIER or s.state[w] == Warp.SHARED) and s.bar_id[w] == b:
            s.bar_id[w] = -1
            if CHECKING and g.race:
                race_leave(s, w, slot, b)
            pc = s.bar_pc[w]
            time = g.cycle + g.unit_latency[program[pc, Column.UNIT]]
            write_result(g, s, program, regs, w, pc, slot, b)
            guard_until(g, s, w, program[pc, Column.WBAR], time)
            board_done(g, s, program, w, program[pc, Column.WBAR])
            opened(g, s, w)
            if g.logging:
                log_event(g, s, LogKind.OPEN, w, pc, time)
            wake_at(g, s, w, time, Warp.BARRIER)
    if CHECKING and g.race:
        race_reset(s, slot, b)


@device
def write_result(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, slot: int, b: int) -> None:
    """Write the result for the lanes that came: of a reduction the count into rd or the truth value into pd0, of
    BAR.ALLOC the address into rd."""
    mode = s.bar_kind[slot, b]
    lanes = s.bar_lanes[w]
    rd = program[pc, Column.RD]
    if (mode == Mode.POPC or mode == Mode.ALLOC) and rd != RZ:
        value = s.bar_votes[slot, b, 1]
        if mode == Mode.ALLOC:
            value = s.region_base[s.allocated[slot] - 1] if g.smm else g.static_base
        for t in range(LANES):
            if lanes >> t & 1:
                regs[s.warp_base + w, rd, t] = value
    pd = program[pc, Column.PD0]
    if (mode == Mode.AND or mode == Mode.OR) and pd != PT:
        truth = s.bar_votes[slot, b, 0] == 0 if mode == Mode.AND else s.bar_votes[slot, b, 1] != 0
        s.pred[w, pd] = (s.pred[w, pd] & ~lanes) | (lanes if truth else 0)


@device
def reconsider(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int) -> None:
    """Open the barriers that are complete now, as the warp has ended."""
    for b in range(BARRIERS):
        open_if_complete(g, s, program, regs, s.block_of[w], b)

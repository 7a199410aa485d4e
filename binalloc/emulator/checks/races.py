"""`race` detects shared-memory accesses that nothing orders, in the sense of ISA.md's "Memory model".

The vector clocks are those of FastTrack (Flanagan and Freund, PLDI 2009, section 3), with warps for threads and barrier
arrivals for synchronisation; named barriers and arrivals without waiting are covered. The difference is that a read
clock per warp is always kept, because a block has at most 32. Under the model `loom` the lanes of one warp execute in
step: among them only one store instruction that writes different values to one place is a race. For `ptx` see
`lane_races`. Atomics and ordered accesses do not race with one another; .SPILL accesses are private.
"""

from __future__ import annotations

from binalloc.emulator.arithmetic.matrix import giving_lanes
from binalloc.emulator.checks.faulting import set_fault
from binalloc.emulator.checks.history import READS, Before, History, RaceModel
from binalloc.emulator.checks.lane_races import ORDERED, lane_conflict, lanes_meet, lanes_start, note_lane
from binalloc.emulator.state.arrays import Cube, Grid, Words
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import (
    FULL,
    MAX_BLOCK_WARPS,
    RZ,
    SHARED_WINDOW,
    AccessCode,
    Column,
    Fault,
    SpaceCode,
)
from binalloc.emulator.state.records import Gpu, Sm


@device
def race_start(g: Gpu, s: Sm, races: Cube, slot: int) -> None:
    """Begin a new block in `slot`: every warp is at the start of its first interval."""
    race_forget(g, s, races, s.shared_first[slot], s.shared_end[slot])
    for i in range(g.warps_per_block):
        w = slot * g.warps_per_block + i
        for k in range(MAX_BLOCK_WARPS):
            s.clock[w, k] = 0
        s.clock[w, i] = 1
        if g.race == RaceModel.PTX:
            lanes_start(s.id, races, w)
    for b in range(s.bar_clock.shape[1]):
        for k in range(MAX_BLOCK_WARPS):
            s.bar_clock[slot, b, k] = 0


@device
def race_forget(g: Gpu, s: Sm, races: Cube, first: int, end: int) -> None:
    """Forget all accesses to words of the SM's shared memory."""
    races[s.id, (first << 2) >> g.race_shift : (end << 2) >> g.race_shift, :] = 0


@device
def race_arrive(s: Sm, w: int, slot: int, b: int) -> None:
    """Let a warp arrive at a barrier: what it did so far comes before all that follows the barrier."""
    for k in range(MAX_BLOCK_WARPS):
        s.bar_clock[slot, b, k] = max(s.bar_clock[slot, b, k], s.clock[w, k])
    s.clock[w, s.in_block[w]] += 1


@device
def race_ended(g: Gpu, s: Sm, slot: int, b: int) -> None:
    """Let barrier `b` open: where it waited for all warps of the block that run, it waited for the ends of others."""
    if s.bar_expected[slot, b] > 0:
        return
    for w in range(slot * g.warps_per_block, (slot + 1) * g.warps_per_block):
        for k in range(MAX_BLOCK_WARPS if s.live[w] == 0 else 0):
            s.bar_clock[slot, b, k] = max(s.bar_clock[slot, b, k], s.clock[w, k])


@device
def race_leave(s: Sm, w: int, slot: int, b: int) -> None:
    """Let a waiting warp go on behind the barrier."""
    for k in range(MAX_BLOCK_WARPS):
        s.clock[w, k] = max(s.clock[w, k], s.bar_clock[slot, b, k])


@device
def race_reset(s: Sm, slot: int, b: int) -> None:
    """Clear the barrier's clock for its next use."""
    for k in range(MAX_BLOCK_WARPS):
        s.bar_clock[slot, b, k] = 0


@device
def race_meet(g: Gpu, s: Sm, races: Cube, w: int, lanes: int, named: int) -> None:
    """Let lanes of a warp meet in a barrier, or in a WARPSYNC (`named`). In a WARPSYNC only lanes that name the same
    lanes meet. A barrier has waited for the ends of the others."""
    if g.race != RaceModel.PTX:
        return
    if named == 0:
        lanes |= FULL & ~s.live[w]
    for t in range(g.lanes):
        if (lanes >> t) & 1:
            same = lanes
            if named:
                for u in range(g.lanes):
                    if s.b[u] != s.b[t]:
                        same &= ~(1 << u)
            lanes_meet(s.id, races, w, same)
            lanes &= ~same


@device
def race_word(g: Gpu, s: Sm, cell: Words, w: int, pc: int, t: int, address: int, access: int, ordered: int) -> None:
    """Check the access of lane t of warp slot w to the place with history `cell`, and enter it there. ordered: it is an
    atomic or an ordered access."""
    me = s.in_block[w]
    writer = cell[History.WRITER] - 1
    late = writer >= 0 and writer != me and s.clock[w, writer] < cell[History.CLOCK]
    if late and not (ordered and cell[History.ATOMIC] == 1):
        set_fault(g, s, Fault.RACE, w, pc, t, address, cell[History.WRITE_PC], Before.WRITTEN)
    if access == AccessCode.LOAD:
        if not ordered:
            cell[READS + me] = s.clock[w, me]
            cell[History.READ_PC] = pc
        return
    for k in range(g.warps_per_block):
        if k != me and cell[READS + k] > s.clock[w, k]:
            set_fault(g, s, Fault.RACE, w, pc, t, address, cell[History.READ_PC], Before.READ)
    cell[History.WRITER] = me + 1
    cell[History.CLOCK] = s.clock[w, me]
    cell[History.WRITE_PC] = pc
    cell[History.ATOMIC] = ordered


@device
def race_lanes(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, mask: int) -> None:
    """Report two lanes of one store that have one address and different data."""
    rb = program[pc, Column.DATA]
    size = program[pc, Column.SIZE]
    row = s.warp_base + w
    field = (1 << (8 * min(size, 4))) - 1
    for k in range(max(size >> 2, 1)):
        reg = rb + k if rb != RZ else RZ
        for t in range(g.lanes):
            if (mask >> t) & 1:
                for u in range(t):
                    other = (int(regs[row, reg, u]) ^ int(regs[row, reg, t])) & field
                    if (mask >> u) & 1 and s.addr[u] == s.addr[t] and other:
                        set_fault(g, s, Fault.RACE, w, pc, t, s.addr[t], pc, Before.LANE)
                        return


@device
def race_place(
    g: Gpu, s: Sm, races: Cube, place: int, w: int, pc: int, t: int, address: int, access: int, ordered: int,
    compare: int,
) -> None:  # fmt: skip
    """Check lane t's access to one place and enter it. `compare`: only compare it with accesses of other lanes of the
    warp."""
    cell = races[s.id, place]
    me, load = s.in_block[w], 1 if access == AccessCode.LOAD else 0
    if compare:
        found = lane_conflict(s.id, races, cell, w, me, t, load, ordered)
        if found != ORDERED:
            other = cell[History.READ_PC] if found == Before.LANE_READ else cell[History.WRITE_PC]
            set_fault(g, s, Fault.RACE, w, pc, t, address, other, found)
        return
    race_word(g, s, cell, w, pc, t, address, access, ordered)
    if g.race == RaceModel.PTX:
        note_lane(s.id, races, cell, w, me, t, load, ordered)


@device
def race_places(g: Gpu, s: Sm, program: Grid, races: Cube, w: int, pc: int, mask: int, compare: int) -> int:
    """Check all places that a memory instruction accesses. Return the mask of lanes that access shared memory."""
    space, access = program[pc, Column.SPACE], program[pc, Column.ACCESS]
    ordered = 1 if access == AccessCode.ATOMIC or program[pc, Column.PAST] else 0
    asking = mask & giving_lanes(program[pc, Column.MATRICES])
    lanes = 0
    base = (s.shared_first[s.block_of[w]] << 2) >> g.race_shift
    for t in range(g.lanes):
        address = s.addr[t]
        if space == SpaceCode.GENERIC:
            address -= SHARED_WINDOW
        if (asking & s.to_shared) >> t & 1:
            lanes |= 1 << t
            first = address >> g.race_shift
            last = (address + program[pc, Column.SIZE] - 1) >> g.race_shift
            for i in range(first, last + 1):
                race_place(g, s, races, base + i, w, pc, t, address, access, ordered, compare)
    return lanes


@device
def race_access(g: Gpu, s: Sm, program: Grid, regs: Cube, races: Cube, w: int, pc: int, mask: int) -> None:
    """Check a memory instruction that has executed in lanes `mask`."""
    space = program[pc, Column.SPACE]
    if program[pc, Column.SPILL] or (space != SpaceCode.SHARED and space != SpaceCode.GENERIC):
        return
    if g.race == RaceModel.PTX:
        race_places(g, s, program, races, w, pc, mask, 1)
    lanes = race_places(g, s, program, races, w, pc, mask, 0)
    if program[pc, Column.ACCESS] == AccessCode.STORE:
        race_lanes(g, s, program, regs, w, pc, lanes)

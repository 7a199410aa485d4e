"""This gate is the lock of a pair of blocks that share a part of their shared memory: an access to it must wait while
the other block holds the lock.

After "Scratchpad Sharing in GPUs", section 3 and Fig. 3. There a warp that is kept out tries again in each cycle. Here
it is called when the lock is free, and may go on in the next cycle: it waits as long, and takes no issue slot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.arithmetic.matrix import giving_lanes
from binalloc.emulator.memory.lanes import address_of, has_pair
from binalloc.emulator.policies.gates.gate import Gate
from binalloc.emulator.policies.knocks import UNTIL_CALLED
from binalloc.emulator.policies.pairs import shares_slots, slot_is_common, take_lock
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import RZ, SHARED_WINDOW, WINDOW_SIZE, Column, ExecGroup, SpaceCode, StackColumn

if TYPE_CHECKING:
    from binalloc.emulator.state.arrays import Cube, Grid
    from binalloc.emulator.state.records import Gpu, Sm


@device(inline=True)
def may_need_lock(g: Gpu, s: Sm, program: Grid, w: int, pc: int) -> int:
    """Return 1 if the instruction at `pc` may access shared memory, private slots aside, and warp w is of a block that
    does not hold the lock of its pair."""
    if program[pc, Column.GROUP] != ExecGroup.MEM:
        return 0
    space = program[pc, Column.SPACE]
    if space != SpaceCode.SHARED and space != SpaceCode.GENERIC:
        return 0
    if program[pc, Column.SPILL] and shares_slots(g) == 0:
        return 0
    slot = s.block_of[w]
    return 1 if s.partner[slot] and s.holds[slot] == 0 else 0


@device(apart=True)
def reaches_common(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int) -> int:
    """Return 1 if the access at `pc` has a lane with a byte behind the private ones of the block, or is to a slot that
    is none of the private ones."""
    mask = s.stack[w, s.sp[w], StackColumn.MASK] & (s.pred[w, program[pc, Column.GUARD]] ^ program[pc, Column.GUARDN])
    mask &= giving_lanes(program[pc, Column.MATRICES])
    generic = has_pair(program[pc, Column.SPACE])
    rows, low = regs[s.warp_base + w], program[pc, Column.A_REG]
    high = low + 1 if low < RZ else low
    offset, size, spill = program[pc, Column.OFFSET], program[pc, Column.SIZE], program[pc, Column.SPILL]
    for t in range(g.lanes):
        if (mask >> t) & 1:
            address = address_of(rows, low, high, generic, offset, t)
            if generic:
                if address < SHARED_WINDOW or address >= SHARED_WINDOW + WINDOW_SIZE:
                    continue
                address -= SHARED_WINDOW
            if spill:
                return slot_is_common(g, s, w, address)
            if address + size > g.private_bytes:
                return 1
    return 0


@device
def lacks_lock(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, again: int) -> int:
    """Return 0 if the warp may access what it is about to, UNTIL_CALLED if its partner holds the lock. Takes the lock
    if it is needed and free."""
    if may_need_lock(g, s, program, w, pc) and reaches_common(g, s, program, regs, w, pc):
        slot = s.block_of[w]
        if s.holds[s.partner[slot] - 1]:
            if s.kept_out[w] == 0:
                s.kept_out[w] = g.cycle + 1
                s.stat[Stat.LOCK_WAITS] += 1
            return UNTIL_CALLED
        take_lock(g, s, slot)
    if s.kept_out[w]:
        s.stat[Stat.LOCK_WAIT_CYCLES] += g.cycle + 1 - s.kept_out[w]
        s.kept_out[w] = 0
    return 0


@device
def needs_no_lock(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int) -> int:
    """Return 1 if the instruction needs no lock that its block has not got. What has to take it is no second
    instruction of a pair."""
    return 0 if may_need_lock(g, s, program, w, pc) and reaches_common(g, s, program, regs, w, pc) else 1


@device
def takes_nothing(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int) -> None:
    """Do nothing: the instruction needs no lock that its block has not got."""
    return


LOCK = Gate(
    "shared_lock", "the nearest warp waits for shared memory that its block shares with another, which has it",
    "shared memory that the block's partner has", False, lambda machine, pairs: pairs > 0, lacks_lock, needs_no_lock,
    takes_nothing,
)  # fmt: skip

"""This module is the shared memory management (SMM) of an SM. Blocks get regions of shared memory by BAR.ALLOC, and
give them back by BAR.FREE.

After "Shared Memory Multiplexing" (PACT 2012), section 5. The valid entries of its SMM table are the open regions
(`policies.regions`). The paper leaves open which of several waiting blocks is served first. Here it is the block whose
BAR.ALLOC opened first, and no other gets a region before it. All regions that BAR.ALLOC opens in a launch have one
size.
"""

from __future__ import annotations

from binalloc.emulator.checks.faulting import set_fault
from binalloc.emulator.policies.regions import close_region, open_region
from binalloc.emulator.state.arrays import Cube, Grid
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import LANES, Column, Fault
from binalloc.emulator.state.records import Gpu, Sm


@device
def public_words(g: Gpu) -> int:
    """Return the words of a region that BAR.ALLOC opens."""
    words = (g.public_bytes + 3) >> 2
    return (words + g.public_unit - 1) // g.public_unit * g.public_unit


@device(apart=True)
def check_allocation(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, mask: int) -> None:
    """Set a fault unless warp w may arrive at the BAR.ALLOC at `pc` in lanes `mask`.

    Its block must hold nothing, and every lane must ask for the size of the launch. This is the size of the first
    BAR.ALLOC where the code does not say it.
    """
    slot = s.block_of[w]
    if s.allocated[slot]:
        base = s.region_base[s.allocated[slot] - 1]
        set_fault(g, s, Fault.ALLOC_NESTED, w, pc, -1, base, g.public_bytes, s.allocated_pc[slot])
        return
    for t in range(LANES):
        if (mask >> t) & 1:
            size = program[pc, Column.B_LO]
            if program[pc, Column.B_REG] >= 0:
                size = int(regs[s.warp_base + w, program[pc, Column.B_REG], t]) + 0
            if g.public_bytes == 0:
                g.public_bytes = size
            if size == 0 or size != g.public_bytes:
                set_fault(g, s, Fault.ALLOC_SIZE, w, pc, t, size, g.public_bytes, 0)
                return
    room = g.shared_words - g.public_first
    if public_words(g) > room:
        set_fault(g, s, Fault.ALLOC_ROOM, w, pc, -1, g.public_bytes, room << 2, g.public_first << 2)


@device(apart=True)
def check_free(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, mask: int) -> None:
    """Set a fault unless every lane of `mask` names the address of what the block holds at the BAR.FREE at `pc`."""
    held = s.allocated[s.block_of[w]]
    for t in range(LANES):
        if (mask >> t) & 1:
            base = int(regs[s.warp_base + w, program[pc, Column.A_REG], t]) + 0
            if held == 0 or base != s.region_base[held - 1]:
                set_fault(g, s, Fault.FREE_BASE, w, pc, t, base, held, 0)
                return


@device
def open_public(g: Gpu, s: Sm, slot: int) -> int:
    """Open the region that the block in `slot` asks for. Return 1, or 0, with nothing done, if there is no room.

    Its address in the block is its place in the SM, the starting address of the paper's table. That lies behind all
    addresses of the block's first region.
    """
    r = open_region(g, s, slot, public_words(g), 0)
    if r < 0:
        return 0
    s.region_base[r] = s.region_first[r] << 2
    s.region_bytes[r] = g.public_bytes
    s.region_fresh[r] = 1
    s.fresh = 1
    s.allocated[slot] = r + 1
    s.stat[Stat.SHARED_ALLOCATIONS] += 1
    return 1


@device
def first_waiting(g: Gpu, s: Sm) -> int:
    """Return the slot of the block that has waited for the longest time, -1 if none waits."""
    first = -1
    for slot in range(g.resident_limit):
        if s.ticket[slot] and (first < 0 or s.ticket[slot] < s.ticket[first]):
            first = slot
    return first


@device(apart=True)
def ask(g: Gpu, s: Sm, slot: int, pc: int) -> int:
    """Let the block in `slot` ask for a region, as its BAR.ALLOC at `pc` opens. Return 1 if it has got one, 0 if it
    waits from now on."""
    s.allocated_pc[slot] = pc
    if first_waiting(g, s) < 0 and open_public(g, s, slot):
        return 1
    s.tickets += 1
    s.ticket[slot] = s.tickets
    s.waits_since[slot] = g.cycle
    s.stat[Stat.SHARED_WAITS] += 1
    return 0


@device(apart=True)
def serve_next(g: Gpu, s: Sm) -> int:
    """Open a region for the first block that waits. Return its slot, -1 if none waits or there is no room."""
    slot = first_waiting(g, s)
    if slot < 0 or open_public(g, s, slot) == 0:
        return -1
    s.ticket[slot] = 0
    s.stat[Stat.SHARED_WAIT_CYCLES] += g.cycle - s.waits_since[slot]
    return slot


@device(apart=True)
def give_back(s: Sm, slot: int, pc: int) -> None:
    """Close the region that the block in `slot` holds, as its BAR.FREE at `pc` opens."""
    r = s.allocated[slot] - 1
    s.freed_base[slot] = s.region_base[r]
    s.freed_pc[slot] = pc + 1
    s.allocated[slot] = 0
    s.closed_some = 1
    close_region(s, slot, r)

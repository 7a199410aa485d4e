"""Blocks onto SMs: which block comes next, where it goes, and what its warps start with.

`next_block` and `block_slot` are the policies: blocks in order, one per SM and cycle, into the lowest free slot. Slot
k of an SM owns warp slots k*warps_per_block and following, so a warp's scheduler follows from its slot."""

from __future__ import annotations

from binalloc.emulator.checks.hazards import forget
from binalloc.emulator.schedulers.table import started
from binalloc.emulator.sm.events import make_ready
from binalloc.emulator.state.arrays import Cube, Grid
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import BARRIERS, FULL, LANES, PT, Entry, EntryKind
from binalloc.emulator.state.records import Gpu, Sm


@device(inline=True)
def next_block(g: Gpu) -> int:
    """The block to dispatch next, -1 if none is left."""
    return g.next_block if g.next_block < g.blocks else -1


@device
def block_slot(g: Gpu, s: Sm) -> int:
    """A free block slot of the SM, -1 if it is full."""
    if s.resident < g.resident_limit:
        for i in range(g.resident_limit):
            if s.block_active[i] == 0:
                return i
    return -1


@device(apart=True)
def dispatch(g: Gpu, s: Sm, program: Grid, regs: Cube, hazard: Cube, shared: Grid, local: Cube) -> int:
    """Place one block if there is one and room for it, and return its slot, else -1; its warps may issue at once."""
    block = next_block(g)
    if block < 0:
        return -1
    slot = block_slot(g, s)
    if slot < 0:
        return -1
    g.next_block += 1
    s.block_active[slot] = 1
    s.block_id[slot] = block
    s.block_warps[slot] = g.warps_per_block
    s.resident += 1
    s.live_warps += g.warps_per_block
    s.stat[Stat.BLOCKS_DISPATCHED] += 1
    shared[s.block_base + slot, :] = 0
    for b in range(BARRIERS):
        s.bar_arrived[slot, b] = 0
    for i in range(g.warps_per_block):
        start_warp(g, s, regs, hazard, local, slot, i)
        started(g, s, slot * g.warps_per_block + i)
        make_ready(g, s, program, slot * g.warps_per_block + i)
    return slot


@device
def start_warp(g: Gpu, s: Sm, regs: Cube, hazard: Cube, local: Cube, slot: int, i: int) -> None:
    """Warp i of the block in `slot`: registers, predicates and local memory zero, one stack entry at the kernel."""
    w = slot * g.warps_per_block + i
    regs[s.warp_base + w, : g.registers, :] = 0
    local[s.warp_base + w, :, :] = 0
    forget(s, hazard, w)
    for p in range(PT):
        s.pred[w, p] = 0
    s.pred[w, PT] = FULL
    threads = min(LANES, g.threads - i * LANES)
    mask = (1 << threads) - 1
    s.live[w] = mask
    s.sp[w] = 0
    s.at[w] = g.entry
    s.stack[w, 0, Entry.KIND] = EntryKind.PLAIN
    s.stack[w, 0, Entry.PC] = g.entry
    s.stack[w, 0, Entry.RPC] = -1
    s.stack[w, 0, Entry.MASK] = mask
    s.gone[w] = 0
    s.block_of[w] = slot
    s.in_block[w] = i
    s.age[w] = s.warps_started
    s.warps_started += 1

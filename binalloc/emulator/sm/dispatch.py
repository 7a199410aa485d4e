"""Blocks onto SMs: which block comes next, where it goes and when, and what its warps start with.

`next_block`, `block_slot`, `shared_place`, `next_launch` and `start_delay` are the policies: blocks in order, SMs in
turn, an SM's own ones at the machine's interval, each into the lowest free slot and the first gap of shared memory that
holds it. Slot k of an SM owns warp slots k*warps_per_block and following, so a warp's scheduler follows from its slot.
"""

from __future__ import annotations

from binalloc.emulator.checks.hazards import forget
from binalloc.emulator.schedulers.table import started
from binalloc.emulator.sm.events import make_ready, wake_at
from binalloc.emulator.sm.log import log_block
from binalloc.emulator.state.arrays import Cube, Grid
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import BARRIERS, FULL, LANES, PT, SKEW_CYCLES, Entry, EntryKind, Warp
from binalloc.emulator.state.memory_layout import NEVER
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


@device
def shared_place(g: Gpu, s: Sm, words: int) -> int:
    """The first word of the lowest gap of the SM's shared memory that holds so many words, -1 if none does. What a
    block has had is free when it has gone."""
    first = 0
    i = 0
    while i < g.resident_limit:
        if s.block_active[i] and s.shared_first[i] < first + words and first < s.shared_end[i]:
            first = s.shared_end[i]
            i = 0
        else:
            i += 1
    return first if first + words <= g.shared_words else -1


@device(inline=True)
def next_launch(g: Gpu, s: Sm) -> int:
    """The first cycle in which the SM may take another block, NEVER if none is left or the SM is full."""
    return s.launch_free if g.next_block < g.blocks and s.resident < g.resident_limit else NEVER


@device
def start_delay(g: Gpu, block: int) -> int:
    """Cycles that the block's warps wait before they start, by a hash of seed and number: 0 without skew."""
    if g.skew == 0:
        return 0
    x = (block + 1 + g.skew * 0x2545F491) & FULL
    for _ in range(2):
        x = ((x ^ (x >> 16)) * 0x45D9F3B) & FULL
    return (x ^ (x >> 16)) % SKEW_CYCLES


@device
def dispatch(g: Gpu, s: Sm, program: Grid, regs: Cube, hazard: Cube, shared: Grid, local: Cube) -> int:
    """Place one block if there is one and room for it, and return its slot, else -1; its warps may issue at once."""
    block = next_block(g)
    if block < 0 or g.cycle < s.launch_free:
        return -1
    slot = block_slot(g, s)
    if slot < 0:
        return -1
    first = shared_place(g, s, g.block_words)
    if first < 0:
        return -1
    g.next_block += 1
    s.launch_free = g.cycle + g.launch_interval
    s.shared_first[slot] = first
    s.shared_end[slot] = first + g.block_words
    s.shared_limit[slot] = g.user_shared
    s.block_active[slot] = 1
    s.block_id[slot] = block
    s.block_warps[slot] = g.warps_per_block
    s.resident += 1
    s.live_warps += g.warps_per_block
    s.stat[Stat.BLOCKS_DISPATCHED] += 1
    shared[s.id, first : first + g.block_words] = 0
    for b in range(BARRIERS):
        s.bar_arrived[slot, b] = 0
    for i in range(g.warps_per_block):
        start_warp(g, s, regs, hazard, local, slot, i)
        started(g, s, slot * g.warps_per_block + i)
    if g.logging:
        log_block(g, s, slot)
    delay = start_delay(g, block)
    for w in range(slot * g.warps_per_block, (slot + 1) * g.warps_per_block):
        if delay:
            wake_at(g, s, w, g.cycle + delay, Warp.STALL)
        else:
            make_ready(g, s, program, w)
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

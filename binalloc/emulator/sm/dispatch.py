"""This module dispatches blocks to SMs. The dispatcher chooses the next block and its time, the placement chooses the
part of shared memory for it.

A block takes the lowest free slot. Slot k of an SM owns the warp slots from k * warps_per_block on, so a warp's
scheduler follows from its slot.
"""

from __future__ import annotations

from binalloc.emulator.checks.hazards import forget
from binalloc.emulator.policies.dispatchers.table import block_for, may_take_from, took
from binalloc.emulator.policies.events import block_begins, started
from binalloc.emulator.policies.pairs import open_place
from binalloc.emulator.policies.regions import open_first
from binalloc.emulator.sm.events import make_ready, wake_at
from binalloc.emulator.sm.log import log_block
from binalloc.emulator.state.arrays import Cube, Grid
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import BARRIERS, FULL, LANES, PT, SKEW_CYCLES, EntryKind, StackColumn, Warp
from binalloc.emulator.state.memory_layout import NEVER
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.scan import quotient


@device
def block_slot(g: Gpu, s: Sm) -> int:
    """Return a free block slot of the SM, -1 if it is full."""
    if s.resident < g.resident_limit:
        for i in range(g.resident_limit):
            if s.block_active[i] == 0:
                return i
    return -1


@device(inline=True)
def next_launch(g: Gpu, s: Sm) -> int:
    """Return the first cycle in which the SM may take another block, NEVER if there is none for it or the SM is
    full."""
    if g.dispatched == g.blocks or s.resident >= g.resident_limit or block_for(g, s) < 0:
        return NEVER
    return may_take_from(g, s)


@device
def batch_of(g: Gpu, block: int) -> int:
    """Return the number of a block's batch."""
    place = block - g.first_block
    each = quotient(place, g.batch_modulus if g.batch_modulus else g.batch_stride)
    return place - each * g.batch_modulus if g.batch_modulus else each


@device
def has_batch(g: Gpu, s: Sm, batch: int) -> int:
    """Return 1 if a resident block of the SM belongs to a batch, else 0."""
    for slot in range(g.resident_limit):
        if s.block_active[slot] and s.block_batch[slot] == batch:
            return 1
    return 0


@device
def start_delay(g: Gpu, block: int) -> int:
    """Return the cycles that the block's warps wait before they start: a hash of seed and block number, 0 without
    skew."""
    if g.skew == 0:
        return 0
    x = (block + 1 + g.skew * 0x2545F491) & FULL
    for _ in range(2):
        x = ((x ^ (x >> 16)) * 0x45D9F3B) & FULL
    return (x ^ (x >> 16)) % SKEW_CYCLES


@device(apart=True)
def dispatch(g: Gpu, s: Sm, program: Grid, regs: Cube, hazard: Cube, shared: Grid, local: Cube) -> int:
    """Place the next block, if there is room for it, and return its slot, else -1. Its warps may issue at once. To be
    called where `next_launch` has come."""
    block = block_for(g, s)
    slot = block_slot(g, s)
    if slot < 0:
        return -1
    first = open_place(g, s, slot) if g.pairs else open_first(g, s, slot)
    if first < 0:
        return -1
    g.dispatched += 1
    s.launch_free = g.cycle + g.launch_interval
    took(g, s, block)
    s.block_id[slot] = block
    s.block_batch[slot] = batch_of(g, block)
    if has_batch(g, s, s.block_batch[slot]) == 0:
        s.batches += 1
        s.batch_area -= g.cycle
    s.block_active[slot] = 1
    s.block_warps[slot] = g.warps_per_block
    s.resident += 1
    s.live_warps += g.warps_per_block
    s.stat[Stat.BLOCKS_DISPATCHED] += 1
    clear_shared(g, s, shared, slot)
    for b in range(BARRIERS):
        s.bar_arrived[slot, b] = 0
    block_begins(g, s, slot)
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
def clear_shared(g: Gpu, s: Sm, shared: Grid, slot: int) -> None:
    """Set the words to zero that belong to the new block in `slot`. What it shares with a partner keeps its contents:
    the partner may be using it."""
    first = s.shared_first[slot]
    shared[s.id, first : s.shared_end[slot]] = 0
    if g.pairs and s.own_slots[slot]:
        for i in range(g.warps_per_block):
            row = s.own_slots[slot] + (i * g.slot_bytes >> 2)
            shared[s.id, row : row + g.private_rows * LANES] = 0


@device
def start_warp(g: Gpu, s: Sm, regs: Cube, hazard: Cube, local: Cube, slot: int, i: int) -> None:
    """Start warp i of the block in `slot`: registers, predicates and local memory are zero, the stack has one entry at
    the kernel's first word."""
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
    s.stack[w, 0, StackColumn.KIND] = EntryKind.PLAIN
    s.stack[w, 0, StackColumn.PC] = g.entry
    s.stack[w, 0, StackColumn.RPC] = -1
    s.stack[w, 0, StackColumn.MASK] = mask
    s.gone[w] = 0
    s.block_of[w] = slot
    s.in_block[w] = i
    s.age[w] = s.warps_started
    s.warps_started += 1

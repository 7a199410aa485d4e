"""Accesses are checked here before they are done: their alignment, and that they lie inside a buffer, a frame, the
slots or a region of shared memory."""

from __future__ import annotations

from binalloc.emulator.arithmetic.atomic import adds_halves
from binalloc.emulator.arithmetic.half import HALF, SIGN16
from binalloc.emulator.checks.faulting import set_fault
from binalloc.emulator.execute.counting import buffer_of
from binalloc.emulator.policies.pairs import common_first, place_of, shares_slots, slot_is_common
from binalloc.emulator.state.arrays import Grid, Words
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import GRANULE_SHIFT, MAP_SHIFT, SLOT_ROW, WORD, Column, Fault
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.scan import lowest_bit


@device(apart=True)
def misaligned(g: Gpu, s: Sm, w: int, pc: int, mask: int, size: int) -> None:
    """Report a fault of the first misaligned lane, if there is one."""
    for t in range(g.lanes):
        if (mask >> t) & 1 and s.addr[t] & (size - 1):
            set_fault(g, s, Fault.MISALIGNED, w, pc, t, s.addr[t], size, 0)
            return


@device
def within(g: Gpu, s: Sm, mask: int, low: int, high: int, size: int) -> int:
    """Return the first lane of `mask` whose access is not inside [low, high), or -1. 0 <= low, high <= 2^62."""
    last = high - size  # addresses may be any numbers: a sum with one of them could wrap, this cannot
    wrong = 0
    for t in range(g.lanes):
        outside = 1 if s.addr[t] < low or s.addr[t] > last else 0
        wrong |= outside & (mask >> t)
    if wrong:
        for t in range(g.lanes):
            if (mask >> t) & 1 and (s.addr[t] < low or s.addr[t] > last):
                return t
    return -1


@device(apart=True)
def heap_bounds(g: Gpu, s: Sm, global_: Words, w: int, pc: int, mask: int, size: int) -> None:
    """Report the first lane not in a granule of a live block, by the heap's map. All are in the heap and aligned."""
    first = (g.heap_map - g.global_base) >> 2
    for t in range(g.lanes):
        if (mask >> t) & 1:
            granule = (s.addr[t] - g.heap_start) >> GRANULE_SHIFT
            word = int(global_[first + (granule >> MAP_SHIFT)]) + 0
            if (word >> (granule & ((1 << MAP_SHIFT) - 1))) & 1 == 0:
                set_fault(g, s, Fault.HEAP, w, pc, t, s.addr[t], size, 0)
                return


@device(apart=True)
def global_bounds(g: Gpu, s: Sm, global_: Words, w: int, pc: int, mask: int, size: int) -> None:
    """Report the first lane that is not inside one buffer; lanes mostly share one. As in `within`, no sum wraps."""
    rest = mask
    while rest:
        lane = 0
        while not (rest >> lane) & 1:
            lane += 1
        b = buffer_of(g, s.addr[lane])
        last = g.buffer_end[b] - size if b >= 0 else 0
        if b < 0 or s.addr[lane] > last:
            set_fault(g, s, Fault.GLOBAL, w, pc, lane, s.addr[lane], size, b)
            return
        inside = 0
        for t in range(g.lanes):
            ok = 1 if s.addr[t] >= g.buffer_start[b] and s.addr[t] <= last else 0
            inside |= ok << t
        if g.buffer_start[b] == g.heap_start:
            heap_bounds(g, s, global_, w, pc, rest & inside, size)
            if g.fault:
                return
        rest &= ~inside


@device(apart=True)
def lone_halves(g: Gpu, s: Sm, program: Grid, pc: int, mask: int, shift: int) -> int:
    """Return the lanes whose atomic adds to two halves, and -0 to the half from bit `shift` on. That half does not
    change, and need not be inside."""
    found = 0
    if adds_halves(program[pc, Column.AOP], program[pc, Column.ATYP]):
        for t in range(g.lanes):
            found |= (1 if (int(s.b[t]) >> shift) & HALF == SIGN16 else 0) << t
    return found & mask


@device(apart=True)
def shared_bounds(g: Gpu, s: Sm, w: int, pc: int, mask: int, size: int, spill: int) -> None:
    """Check that user accesses end below the slots, and spill accesses hit the thread's word in its warp's rows."""
    if not spill:
        limit = s.shared_limit[s.block_of[w]]
        lane = within(g, s, mask, 0, limit, size)
        if lane >= 0:
            set_fault(g, s, Fault.SHARED, w, pc, lane, s.addr[lane], size, limit)
        return
    low = g.slot_base + s.in_block[w] * g.slot_bytes
    lane = within(g, s, mask, low, low + g.slot_bytes, size)
    if lane < 0:
        for t in range(g.lanes):
            if (mask >> t) & 1 and ((s.addr[t] - low) & (SLOT_ROW - 1) != WORD * t or size != WORD):
                lane = t
                break
    if lane >= 0:
        set_fault(g, s, Fault.SPILL, w, pc, lane, s.addr[lane], low, low + g.slot_bytes)


@device(apart=True)
def in_other_regions(g: Gpu, s: Sm, w: int, mask: int, size: int) -> int:
    """Return the lanes of `mask` whose accesses are in a region of shared memory that the block has opened besides the
    one that it began with. Their addresses become distances from the block's first word, which may be negative: so
    data, banks and checks need not know of regions."""
    slot = s.block_of[w]
    found = 0
    for t in range(g.lanes):
        r = s.more_regions[slot] - 1 if (mask >> t) & 1 else -1
        while r >= 0:
            into = s.addr[t] - s.region_base[r]
            if 0 <= into <= s.region_bytes[r] - size:
                s.addr[t] = into + ((s.region_first[r] - s.shared_first[slot]) << 2)
                found |= 1 << t
                r = -1
            else:
                r = s.region_next[r] - 1
    return found


@device(inline=True)
def moved_by(g: Gpu, s: Sm, w: int, spill: int, address: int) -> int:
    """Return how many bytes behind the place of its address an access lies, counted from the block's first word, where
    the block has its shared memory in two places. Bytes and slots that it shares with its partner lie in the partner's
    place, and its private slots directly behind its private bytes, those of a warp together."""
    slot = s.block_of[w]
    if spill:
        if slot_is_common(g, s, w, address):
            return place_of(g, slot - g.lone_blocks) - s.shared_first[slot] << 2
        return s.split[slot] - g.slot_base - s.in_block[w] * (g.slot_bytes - g.private_rows * SLOT_ROW)
    if address < s.split[slot]:
        return 0
    return (common_first(g, s, slot) - s.shared_first[slot] << 2) - s.split[slot]


@device(apart=True)
def to_places(g: Gpu, s: Sm, w: int, mask: int, spill: int) -> None:
    """Change the addresses of the lanes in `mask` to distances from the block's first word, which may be negative, in a
    block that has its shared memory in two places: so data, banks and checks need not know of the places."""
    for t in range(g.lanes):
        if (mask >> t) & 1:
            s.addr[t] += moved_by(g, s, w, spill, s.addr[t])
    s.even = 0


@device(apart=True)
def after_release(g: Gpu, s: Sm, w: int, pc: int, mask: int, size: int, spill: int) -> None:
    """Report the first lane that accesses bytes, or a slot, that it has released."""
    if spill:
        lane = lowest_bit(mask)
        if shares_slots(g) and slot_is_common(g, s, w, s.addr[lane]):
            low = g.slot_base + s.in_block[w] * g.slot_bytes
            set_fault(g, s, Fault.RELEASED, w, pc, lane, (s.addr[lane] - low) // SLOT_ROW, 0, g.private_rows)
        return
    for t in range(g.lanes):
        if (mask >> t) & 1 and s.addr[t] + size > g.private_bytes:
            set_fault(g, s, Fault.RELEASED, w, pc, t, s.addr[t], size, g.private_bytes)
            return


@device(apart=True)
def local_bounds(g: Gpu, s: Sm, w: int, pc: int, mask: int, size: int, spill: int) -> None:
    """Check that user accesses stay in the frames, and spill accesses in the spill area behind them."""
    low = g.local_user if spill else 0
    high = g.local_total if spill else g.local_user
    lane = within(g, s, mask, low, high, size)
    if lane >= 0:
        set_fault(g, s, Fault.SPILL if spill else Fault.LOCAL, w, pc, lane, s.addr[lane], low, high)

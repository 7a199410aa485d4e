"""This module opens and closes regions of an SM's shared memory. The placement policy finds free space for them.

A block has one region when it is dispatched, and may open others while it runs. All of them are parts of one array,
which has the size of the SM's shared memory.
"""

from __future__ import annotations

from binalloc.emulator.policies.placements.table import place
from binalloc.emulator.state.device import device
from binalloc.emulator.state.parts.regions import REGIONS
from binalloc.emulator.state.records import Gpu, Sm


@device
def unused_region(s: Sm) -> int:
    """Return a free region, -1 if all are taken."""
    for r in range(REGIONS):
        if s.region_owner[r] == 0:
            return r
    return -1


@device
def enter_region(s: Sm, r: int, slot: int, first: int, words: int, base: int) -> None:
    """Enter region r as open: `words` words from `first` on, at address `base` of the block in `slot`."""
    s.region_owner[r] = slot + 1
    s.region_first[r] = first
    s.region_end[r] = first + words
    s.region_base[r] = base
    s.region_bytes[r] = words << 2
    s.region_next[r] = 0
    s.regions = max(s.regions, r + 1)


@device
def open_first(g: Gpu, s: Sm, slot: int) -> int:
    """Open the first region of the block in `slot` and return its first word. Return -1, with nothing done, if there is
    no room.

    Where blocks open others as they run, the first regions are in places of equal size from word 0 on. So they never
    lie among the others, and whatever is free behind them is free for those.
    """
    r = unused_region(s)
    first = -1
    if r >= 0:
        first = slot * g.block_words if g.smm else place(g, s, g.block_words)
    if first < 0:
        return -1
    s.allocated[slot] = 0
    s.freed_pc[slot] = 0
    enter_region(s, r, slot, first, g.block_words, 0)
    s.shared_first[slot] = first
    s.shared_end[slot] = first + g.block_words
    s.shared_limit[slot] = g.user_shared
    s.more_regions[slot] = 0
    return first


@device(apart=True)
def open_region(g: Gpu, s: Sm, slot: int, words: int, base: int) -> int:
    """Open a further region for the block in `slot`, with its first byte at address `base` of the block. Return its
    number, or -1, with nothing done, if there is no room.

    The words keep what was left in them. base: a multiple of 4 beyond all other regions of the block, and beyond its
    slots.
    """
    r = unused_region(s)
    first = place(g, s, words) if r >= 0 else -1
    if first < 0:
        return -1
    enter_region(s, r, slot, first, words, base)
    s.region_next[r] = s.more_regions[slot]
    s.more_regions[slot] = r + 1
    return r


@device(apart=True)
def close_region(s: Sm, slot: int, r: int) -> None:
    """Close region r, which `open_region` opened for the block in `slot`."""
    s.region_owner[r] = 0
    if s.more_regions[slot] == r + 1:
        s.more_regions[slot] = s.region_next[r]
        return
    before = s.more_regions[slot] - 1
    while s.region_next[before] != r + 1:
        before = s.region_next[before] - 1
    s.region_next[before] = s.region_next[r]


@device
def close_all(s: Sm, slot: int) -> None:
    """Close all regions of the block in `slot`, which has ended."""
    for r in range(s.regions):
        if s.region_owner[r] == slot + 1:
            s.region_owner[r] = 0
    s.closed_some |= s.more_regions[slot]
    s.more_regions[slot] = 0

"""Addresses of shared memory are found here for messages: where a block's bytes lie, and which byte lies somewhere.

A block whose partner has what the two share has its bytes in two places, see `policies.pairs`.
"""

from __future__ import annotations

from binalloc.emulator.state.layout import SLOT_ROW
from binalloc.emulator.stops.context import StoppedContext


def word_at(c: StoppedContext, sm: int, w: int, address: int, spill: bool) -> int:
    """Return which word of the SM's shared memory holds an address of a warp's block. spill: it is of a slot."""
    slot = int(c.at(sm, "block_of")[w])
    split, distance = int(c.at(sm, "split")[slot]), 0
    if spill:
        distance = _slot_distance(c, sm, w, address) if c.at(sm, "apart")[slot] else 0
    elif address >= split:
        distance = _distance(c, sm, slot)
    return int(c.at(sm, "shared_first")[slot]) + (address + distance) // 4


def address_at(c: StoppedContext, sm: int, w: int, place: int) -> int:
    """Return the address of a byte that lies so far behind the first one of a warp's block, and is of no slot."""
    slot = int(c.at(sm, "block_of")[w])
    return place if 0 <= place < int(c.at(sm, "split")[slot]) else place - _distance(c, sm, slot)


def _slot_distance(c: StoppedContext, sm: int, w: int, address: int) -> int:
    """Return by how much more than its address a slot of a block in two places lies behind the block's first byte."""
    slot, before = int(c.at(sm, "block_of")[w]), int(c.at(sm, "in_block")[w])
    size, own = c.of("slot_bytes"), c.of("private_rows") * SLOT_ROW
    if address - c.of("slot_base") - before * size >= own:
        first = c.at(sm, "shared_first")
        return 4 * int(first[slot - c.of("lone_blocks")] - first[slot])
    return int(c.at(sm, "split")[slot]) - c.of("slot_base") - before * (size - own)


def _distance(c: StoppedContext, sm: int, slot: int) -> int:
    """Return by how much more than their addresses the bytes that a block shares lie behind its first one."""
    if not c.at(sm, "apart")[slot]:
        return 0
    first = c.at(sm, "shared_first")
    return 4 * int(first[slot - c.of("lone_blocks")] - first[slot])

"""Chordal graphs, which colouring in search order colours with as few colours as their largest clique has members."""

from __future__ import annotations

from collections.abc import Sequence

from binalloc.bitset import bits
from binalloc.models.allocation.stack.slot_colouring import search_order


def is_chordal(adjacency: Sequence[int], wanted: int) -> bool:
    """Whether the graph on `wanted` is chordal (every cycle of four or more has a chord)."""
    visited = 0
    position: dict[int, int] = {}
    for number, v in enumerate(search_order(adjacency, wanted)):
        earlier = adjacency[v] & visited
        if earlier:
            parent = max(bits(earlier), key=lambda u: position[u])
            if earlier & ~(1 << parent) & ~adjacency[parent]:
                return False
        position[v] = number
        visited |= 1 << v
    return True

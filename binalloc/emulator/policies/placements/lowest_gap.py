"""This placement is first fit: it takes the lowest gap that is large enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.policies.placements.placement import Placement
from binalloc.emulator.state.device import device

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm


@device
def lowest_gap(g: Gpu, s: Sm, words: int) -> int:
    """Return the first word of the lowest gap of at least `words` words, -1 for none."""
    first = 0
    i = 0
    while i < s.regions:
        if s.region_owner[i] and s.region_first[i] < first + words and first < s.region_end[i]:
            first = s.region_end[i]
            i = 0
        else:
            i += 1
    return first if first + words <= g.shared_words else -1


LOWEST_GAP = Placement("lowest_gap", "in the lowest gap that is large enough", lowest_gap)

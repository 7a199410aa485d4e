"""The part of an SM's record that says who has which part of its shared memory."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.layout import MAX_BLOCKS

REGIONS = 2 * MAX_BLOCKS
"""Most regions that an SM has open: one for each block that it holds, and as many again that blocks open as they
run."""


class RegionRecord:
    """A region is a part of the SM's one array of shared memory, which belongs to one block slot. A block begins with
    one, which its addresses from 0 on lie in; it may open others (`policies.regions`) at addresses behind."""

    # regions that have ever been open: those from here on are unused. Of each: 1 + the block slot it belongs to, 0 if
    # it is free; its first word and the word behind its last; the address of its first byte in its block; 1 + the next
    # region of its block but the first, 0 for none
    regions: int
    region_owner: Annotated[Words, REGIONS]
    region_first: Annotated[Words, REGIONS]
    region_end: Annotated[Words, REGIONS]
    region_base: Annotated[Words, REGIONS]
    region_next: Annotated[Words, REGIONS]
    # of a block slot: words of its first region; bytes of it that are not slots; 1 + the first of its other regions
    shared_first: Annotated[Words, MAX_BLOCKS]
    shared_end: Annotated[Words, MAX_BLOCKS]
    shared_limit: Annotated[Words, MAX_BLOCKS]
    more_regions: Annotated[Words, MAX_BLOCKS]

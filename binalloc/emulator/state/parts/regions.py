"""This module has the part of an SM's record that divides its shared memory among its blocks."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.layout import MAX_BLOCKS

REGIONS = 2 * MAX_BLOCKS
"""Most open regions of an SM: one for each block that it holds, and as many again that blocks open as they run. The
second half is chosen by hand."""


class RegionRecord:
    """A region is a part of the SM's one array of shared memory that belongs to one block slot.

    A block begins with one region, which has its addresses from 0 on. It may open others (`policies.regions`) at higher
    addresses.
    """

    regions: int  #: regions from this one on have never been open
    region_owner: Annotated[Words, REGIONS]  #: 1 + the block slot that it belongs to, 0 where it is free
    region_first: Annotated[Words, REGIONS]  #: its first word
    region_end: Annotated[Words, REGIONS]  #: the word behind its last
    region_base: Annotated[Words, REGIONS]  #: address of its first byte in its block
    region_next: Annotated[Words, REGIONS]  #: 1 + the next region of its block but the first, 0 for none
    shared_first: Annotated[Words, MAX_BLOCKS]  #: first word of the first region of a block slot
    shared_end: Annotated[Words, MAX_BLOCKS]  #: the word behind its last
    shared_limit: Annotated[Words, MAX_BLOCKS]  #: bytes of it that are not slots
    more_regions: Annotated[Words, MAX_BLOCKS]  #: 1 + the first of the block slot's other regions

"""This module has the part of an SM's record that divides its shared memory among its blocks."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.layout import MAX_BLOCKS

REGIONS = 2 * MAX_BLOCKS + 1
"""Most open regions of an SM: one for each block that it holds, one that each of these opens as it runs (BAR.ALLOC does
not nest), and the reserve."""
RESERVED = -1
"""The owner of the reserve. It keeps the places of private parts free of regions that blocks open as they run."""


class RegionFigures:
    """These figures of a launch say how blocks get shared memory as they run (`policies.smm`)."""

    smm: int  #: whether BAR.ALLOC and BAR.FREE open and close regions; otherwise they are plain barriers
    public_bytes: int  #: bytes that each BAR.ALLOC asks for, 0 as long as that is not known
    public_unit: int  #: words of which a region that BAR.ALLOC opens has a whole number
    public_first: int  #: the word behind the places of private parts
    static_base: int  #: address that BAR.ALLOC gives where it opens nothing


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
    region_bytes: Annotated[Words, REGIONS]  #: bytes from there on that the block may access
    region_next: Annotated[Words, REGIONS]  #: 1 + the next region of its block but the first, 0 for none
    shared_first: Annotated[Words, MAX_BLOCKS]  #: first word of the first region of a block slot
    #: the word behind its last, or behind the private ones in front of what it shares with another block
    shared_end: Annotated[Words, MAX_BLOCKS]
    shared_limit: Annotated[Words, MAX_BLOCKS]  #: bytes of it that are not slots
    more_regions: Annotated[Words, MAX_BLOCKS]  #: 1 + the first of the block slot's other regions
    # what BAR.ALLOC gave, and who waits for it
    closed_some: int  #: whether such a region has been closed in this cycle
    fresh: int  #: number of regions opened by BAR.ALLOC that checks have yet to see
    tickets: int  #: blocks that had to wait so far
    region_fresh: Annotated[Words, REGIONS]  #: whether the region is one of these
    allocated: Annotated[Words, MAX_BLOCKS]  #: 1 + the region that the block slot got from BAR.ALLOC, 0 for none
    allocated_pc: Annotated[Words, MAX_BLOCKS]  #: code word of that BAR.ALLOC, or of the one that the block waits at
    freed_base: Annotated[Words, MAX_BLOCKS]  #: address that the block slot's last BAR.FREE gave back
    freed_pc: Annotated[Words, MAX_BLOCKS]  #: 1 + the code word of that BAR.FREE, 0 for none
    ticket: Annotated[Words, MAX_BLOCKS]  #: number of the block slot among those that had to wait; 0: it does not wait
    waits_since: Annotated[Words, MAX_BLOCKS]  #: the cycle from which on it waits

"""This module has the parts of the records for the instruction cache and the constant cache of an SM: their shape in
the device's record, their contents in the SM's. `memory.tagged` keeps them. Where a machine has neither, nothing
touches them."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.layout import MAX_SCHEDULERS, MAX_WARPS
from binalloc.emulator.state.memory_layout import TAGGED_ROWS, Tagged, TaggedStat

CACHES = len(Tagged.names)


class TaggedFigures:
    """The arrays are indexed by `Tagged`. A line of a cache is known by its number: its start in the code, or in all
    constant banks side by side, divided by its length."""

    tagged: int  #: a bit for each cache that the machine has
    last_code_line: int  #: the last line of the code
    code_ahead: int  #: lines ahead of a miss that are prefetched
    tagged_shift: Annotated[Words, CACHES]
    tagged_sets: Annotated[Words, CACHES]
    tagged_ways: Annotated[Words, CACHES]
    tagged_mshrs: Annotated[Words, CACHES]


class TaggedRecord:
    """Rows of the instruction cache come first, then rows of the constant cache.

    A row is on its way while its age carries `replacement.BUSY`. The age is the cycle of its last use + 1, 0 where it
    is empty.
    """

    knocking: Annotated[Words, MAX_SCHEDULERS]  #: masks of the warps to look at in this cycle, by scheduler
    awaits: Annotated[Words, MAX_WARPS]  #: what a warp waits for: a row + 1, a `tagged.Awaits`, 0 for nothing
    code_row: Annotated[Words, MAX_WARPS]  #: the row of the last word that the warp looked for
    tagged_out: Annotated[Words, CACHES]  #: requests under way
    tagged_line: Annotated[Words, TAGGED_ROWS]  #: line number + 1 of a row, 0 where it is empty
    tagged_age: Annotated[Words, TAGGED_ROWS]
    tagged_fresh: Annotated[Words, TAGGED_ROWS]  #: whether the row was prefetched and has not been looked for since
    tagged_first: Annotated[Words, TAGGED_ROWS]  #: 1 + the first of the loads that wait for the row
    tagged_stat: Annotated[Words, len(TaggedStat.names)]

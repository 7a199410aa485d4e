"""The part of an SM's record that is its instruction cache and its constant cache, and of the device's that is their
shape. Kept by `memory.tagged`; where a machine has neither, nothing of it is touched."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.layout import MAX_SCHEDULERS, MAX_WARPS
from binalloc.emulator.state.memory_layout import TAGGED_ROWS, Tagged, TaggedStat

CACHES = len(Tagged.names)


class TaggedFigures:
    """By `Tagged`. A line of a cache is known by its number: where it begins in the code, or in all constant banks side
    by side, over its length."""

    # which of them there are, a bit each; the last line of the code; lines ahead of a miss that are asked for, too
    tagged: int
    last_code_line: int
    code_ahead: int
    tagged_shift: Annotated[Words, CACHES]
    tagged_sets: Annotated[Words, CACHES]
    tagged_ways: Annotated[Words, CACHES]
    tagged_mshrs: Annotated[Words, CACHES]


class TaggedRecord:
    """Rows of the instruction cache, then of the constant cache. A row is on its way while its age carries
    `replacement.BUSY`; the age is the cycle of its last use + 1, 0 where it is empty."""

    # warps that are to be looked at in this cycle: masks, by scheduler
    knocking: Annotated[Words, MAX_SCHEDULERS]
    # what each warp waits for: a row + 1, a `tagged.Awaits`, 0 for nothing; the row of the last word that it looked for
    awaits: Annotated[Words, MAX_WARPS]
    code_row: Annotated[Words, MAX_WARPS]
    # requests under way; line number + 1 of each row (0: empty); its age; whether it was prefetched and nobody has
    # looked for it yet; the first of the loads that wait for it + 1
    tagged_out: Annotated[Words, CACHES]
    tagged_line: Annotated[Words, TAGGED_ROWS]
    tagged_age: Annotated[Words, TAGGED_ROWS]
    tagged_fresh: Annotated[Words, TAGGED_ROWS]
    tagged_first: Annotated[Words, TAGGED_ROWS]
    tagged_stat: Annotated[Words, len(TaggedStat.names)]

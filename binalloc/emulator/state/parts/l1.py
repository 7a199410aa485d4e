"""This module has the part of an SM's record for its path to memory: L1, accesses with lines under way, and held
lines."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.layout import MAX_WARPS
from binalloc.emulator.state.memory_layout import (
    LINE_LISTS,
    MAX_ACCESSES,
    MAX_L1_LINES,
    MAX_LINES_OF_ACCESS,
    MAX_WAITERS,
)


class L1Record:
    """A line of memory is known by its number, which is its address / 128. Its words are known by a bit each."""

    loads_out: int  #: loads that were sent and have not been answered, with lines that are on their way to L1
    stores_out: int  #: stores that were sent and have not been answered
    access: int  #: the access that the running instruction made, -1 if all of it was done at once
    accesses: int  #: accesses that have ever been in use
    free_access: int  #: the first free access + 1
    waiters: int  #: waiters that have ever been in use
    free_waiter: int  #: the first free waiter + 1
    # the lines that the running instruction wants
    lines: int  #: how many they are
    line: Annotated[Words, MAX_LINES_OF_ACCESS]  #: line number
    line_policy: Annotated[Words, MAX_LINES_OF_ACCESS]  #: what happens to the line, a `LinePolicy`
    line_words: Annotated[Words, MAX_LINES_OF_ACCESS]  #: wanted words
    line_serial: Annotated[Words, MAX_LINES_OF_ACCESS]  #: most lanes that meet at one address of the line
    line_last: Annotated[Words, LINE_LISTS]  #: the last line entered in the list of a hash
    line_before: Annotated[Words, MAX_LINES_OF_ACCESS]  #: the line entered before in the same list, -1 for none
    # lines that L1 has given up and that no policy has heard of, where evictions are noted
    given_up: int  #: how many they are
    given_line: Annotated[Words, MAX_LINES_OF_ACCESS]  #: line number
    given_owner: Annotated[Words, MAX_LINES_OF_ACCESS]  #: warp slot that asked for the line last
    # lines that loads have not found in L1, or that have been stored to, likewise
    sought: int  #: how many they are
    sought_line: Annotated[Words, MAX_LINES_OF_ACCESS]  #: line number
    sought_warp: Annotated[Words, MAX_LINES_OF_ACCESS]  #: warp slot
    sought_stored: Annotated[Words, MAX_LINES_OF_ACCESS]  #: 1 for a store
    # lines of the access that found no room
    held: int  #: number of lines of the access that has held ones, 0 where none is held
    held_next: int  #: the first line that is held
    held_access: int  #: the access
    # accesses
    missing: Annotated[Words, MAX_ACCESSES]  #: lines still missing
    access_warp: Annotated[Words, MAX_ACCESSES]  #: warp that waits
    access_board: Annotated[Words, MAX_ACCESSES]  #: scoreboard that waits
    access_time: Annotated[Words, MAX_ACCESSES]  #: the last of the cycles that were known from the start
    next_access: Annotated[Words, MAX_ACCESSES]  #: link of the free accesses, and of fences
    # accesses in profiled runs
    access_word: Annotated[Words, MAX_ACCESSES]  #: code word
    access_since: Annotated[Words, MAX_ACCESSES]  #: cycle of issue
    access_known: Annotated[Words, MAX_ACCESSES]  #: time of the data that does not come in lines
    # waiters, in lists
    waiter_access: Annotated[Words, MAX_WAITERS]  #: the access
    waiter_words: Annotated[Words, MAX_WAITERS]  #: words of the line that it lacks
    next_waiter: Annotated[Words, MAX_WAITERS]
    # warp slots
    warp_stores: Annotated[Words, MAX_WARPS]  #: stores and atomics that have not been answered
    warp_fence: Annotated[Words, MAX_WARPS]  #: the fence that waits for them + 1; `next_access` links further ones
    # lines of L1
    l1_line: Annotated[Words, MAX_L1_LINES]  #: line number + 1, 0 for an empty way
    l1_age: Annotated[Words, MAX_L1_LINES]
    l1_valid: Annotated[Words, MAX_L1_LINES]  #: words that are there
    l1_dirty: Annotated[Words, MAX_L1_LINES]  #: words that L2 lacks
    l1_coming: Annotated[Words, MAX_L1_LINES]  #: words that are on their way
    l1_first: Annotated[Words, MAX_L1_LINES]  #: first waiter + 1
    l1_last: Annotated[Words, MAX_L1_LINES]  #: last waiter + 1
    l1_owner: Annotated[Words, MAX_L1_LINES]  #: warp slot that asked for the line last, where evictions are noted
    l1_cause: Annotated[Words, MAX_L1_LINES]  #: what has changed the line last, a `Cause`, in profiled runs

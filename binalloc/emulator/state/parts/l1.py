"""The part of an SM's record that is its way to memory: L1, accesses whose lines are under way, lines that wait."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.layout import MAX_WARPS
from binalloc.emulator.state.memory_layout import ACCESS_ROWS, L1_ROWS, LINE_LISTS, MAX_LINES_OF_ACCESS, WAITER_ROWS


class L1Record:
    """A line of memory is known by its number, its address / 128; words of it by a bit each."""

    # loads, lines on their way among them, that were sent and have not been answered; stores likewise
    loads_out: int
    stores_out: int
    # the access that the running instruction made, -1 if all of it was done at once; free accesses and waiters
    access: int
    accesses: int
    free_access: int
    waiters: int
    free_waiter: int
    # the lines that the running instruction wants: how many; number, words, what happens to each, how many lanes
    # meet at one address of it
    lines: int
    line: Annotated[Words, MAX_LINES_OF_ACCESS]
    line_policy: Annotated[Words, MAX_LINES_OF_ACCESS]
    line_words: Annotated[Words, MAX_LINES_OF_ACCESS]
    line_serial: Annotated[Words, MAX_LINES_OF_ACCESS]
    # those of one hash in a list: the last entered, and the one entered before each, -1 if it was the first
    line_last: Annotated[Words, LINE_LISTS]
    line_before: Annotated[Words, MAX_LINES_OF_ACCESS]
    # lines that L1 has given up and of which nobody has been told, where that is noted: how many; number; warp slot
    # that asked for it last
    given_up: int
    given_line: Annotated[Words, MAX_LINES_OF_ACCESS]
    given_owner: Annotated[Words, MAX_LINES_OF_ACCESS]
    # those of them that found no room: how many lines there are (0: none is held), the first that is held; whose they
    # are
    held: int
    held_next: int
    held_access: int
    # accesses: lines still missing, warp and scoreboard that wait, cycle of the last line that was known from the start
    missing: Annotated[Words, ACCESS_ROWS]
    access_warp: Annotated[Words, ACCESS_ROWS]
    access_board: Annotated[Words, ACCESS_ROWS]
    access_time: Annotated[Words, ACCESS_ROWS]
    next_access: Annotated[Words, ACCESS_ROWS]
    # in profiled runs: the word and the cycle at which it issued, and when what does not come in lines is there
    access_word: Annotated[Words, ACCESS_ROWS]
    access_since: Annotated[Words, ACCESS_ROWS]
    access_known: Annotated[Words, ACCESS_ROWS]
    # waiters, in lists: the access, and the words of a line that it lacks
    waiter_access: Annotated[Words, WAITER_ROWS]
    waiter_words: Annotated[Words, WAITER_ROWS]
    next_waiter: Annotated[Words, WAITER_ROWS]
    # warp slots: stores and atomics that have not been answered; the fence that waits for them + 1, further ones linked
    # by `next_access`
    warp_stores: Annotated[Words, MAX_WARPS]
    warp_fence: Annotated[Words, MAX_WARPS]
    # lines of L1: line number + 1 (0: empty), age, words that are there, that L2 lacks, that are on their way; waiters
    l1_line: Annotated[Words, L1_ROWS]
    l1_age: Annotated[Words, L1_ROWS]
    l1_valid: Annotated[Words, L1_ROWS]
    l1_dirty: Annotated[Words, L1_ROWS]
    l1_coming: Annotated[Words, L1_ROWS]
    l1_first: Annotated[Words, L1_ROWS]
    l1_last: Annotated[Words, L1_ROWS]
    # the warp slot that asked for it last, where evictions are noted
    l1_owner: Annotated[Words, L1_ROWS]

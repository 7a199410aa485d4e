"""The part of the device record that all SMs share behind their L1: requests, interconnect, L2, DRAM."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.layout import USED_BITS
from binalloc.emulator.state.memory_layout import (
    L2_ROWS,
    MAX_SLICES,
    MAX_SMS,
    MEMORY_CALENDAR,
    REQUEST_ROWS,
    MemoryStat,
)
from binalloc.emulator.state.parts.dram import DramRecord


class MemoryRecord(DramRecord):
    """Times are core cycles here. A request is a row of the `Annotated[Words, REQUEST_ROWS]` arrays."""

    # lanes whose accesses are put together, and whether into segments
    lane_group: int
    segments: int
    # interconnect: bytes a cycle of one SM's link in each direction, cycles on the way, bytes that say what a packet is
    request_bytes: int
    request_latency: int
    response_bytes: int
    response_latency: int
    header_bytes: int
    # L2: slices, sets and ways of each, bytes a cycle that one gives out, cycles from arrival to departure of a hit,
    # lines that may be on their way to it at once, and loads that may wait for each; cycles per colliding atomic;
    # whether it holds more than textures
    slices: int
    slices_per_channel: int
    l2_sets: int
    l2_ways: int
    l2_bytes: int
    l2_latency: int
    l2_mshrs: int
    l2_merges: int
    l2_atomic: int
    l2_data: int
    # DRAM as L2 sees it: cycles beside the commands' on the way back, bytes of a burst, of a row, of what one channel
    # has before the next one's turn comes
    dram_latency: int
    burst_bytes: int
    row_bytes: int
    interleave: int
    # requests: how many have ever been made, the free ones, the youngest one's age; events outstanding
    requests: int
    free_request: int
    stamp: int
    events: int
    # stores, write-backs and atomics of all SMs that have not arrived; requests that wait at slices
    unfinished: int
    turned_away: int
    dram_log: int
    dram_logged: int

    kind: Annotated[Words, REQUEST_ROWS]
    stage: Annotated[Words, REQUEST_ROWS]
    source: Annotated[Words, REQUEST_ROWS]
    # the line as it was asked for, and the one that it is in L2 and DRAM (`pages`)
    line: Annotated[Words, REQUEST_ROWS]
    home: Annotated[Words, REQUEST_ROWS]
    words: Annotated[Words, REQUEST_ROWS]
    link: Annotated[Words, REQUEST_ROWS]
    at_slice: Annotated[Words, REQUEST_ROWS]
    at_way: Annotated[Words, REQUEST_ROWS]
    writes: Annotated[Words, REQUEST_ROWS]
    age: Annotated[Words, REQUEST_ROWS]
    # the list that a request stands in: of a bucket of the calendar, of a slice, of a line's loads, or of the free ones
    following: Annotated[Words, REQUEST_ROWS]
    due: Annotated[Words, REQUEST_ROWS]
    event_first: Annotated[Words, MEMORY_CALENDAR]
    event_last: Annotated[Words, MEMORY_CALENDAR]
    event_used: Annotated[Words, MEMORY_CALENDAR // USED_BITS]
    # the SMs' links: first free cycle of each direction
    request_free: Annotated[Words, MAX_SMS]
    response_free: Annotated[Words, MAX_SMS]
    # slices: first cycle for the next request, for the next departure; lines on their way; requests that it turned away
    slice_free: Annotated[Words, MAX_SLICES]
    slice_out: Annotated[Words, MAX_SLICES]
    slice_pending: Annotated[Words, MAX_SLICES]
    slice_first: Annotated[Words, MAX_SLICES]
    slice_last: Annotated[Words, MAX_SLICES]
    # places at its channel for want of which the first of them could not go on, 0 if it waits for something else; the
    # way that it is to take then, the words that it lacks, and those that it has fetched
    slice_wants: Annotated[Words, MAX_SLICES]
    slice_way: Annotated[Words, MAX_SLICES]
    slice_lacks: Annotated[Words, MAX_SLICES]
    slice_fetch: Annotated[Words, MAX_SLICES]
    # lines of L2: line number + 1 (0: empty), age (behind all others while words are on their way); words that are
    # there, that are newer than DRAM's, that are on their way; how many requests wait for them, the first and the last
    l2_line: Annotated[Words, L2_ROWS]
    l2_age: Annotated[Words, L2_ROWS]
    l2_valid: Annotated[Words, L2_ROWS]
    l2_dirty: Annotated[Words, L2_ROWS]
    l2_coming: Annotated[Words, L2_ROWS]
    l2_waiting: Annotated[Words, L2_ROWS]
    l2_first: Annotated[Words, L2_ROWS]
    l2_last: Annotated[Words, L2_ROWS]
    memory_stat: Annotated[Words, len(MemoryStat.names)]

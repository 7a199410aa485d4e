"""This module has the part of the device record that all SMs share behind their L1: requests, interconnect, L2 and
DRAM."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.layout import USED_BITS
from binalloc.emulator.state.memory_layout import (
    MAX_L2_LINES,
    MAX_REQUESTS,
    MAX_SLICES,
    MAX_SMS,
    MEMORIES,
    MEMORY_CALENDAR,
    MemoryStat,
)
from binalloc.emulator.state.parts.dram import DramRecord
from binalloc.emulator.state.parts.shares import ShareRecord


class MemoryRecord(DramRecord, ShareRecord):
    """Times are core cycles here. A request is a row of the `Annotated[Words, MAX_REQUESTS]` arrays."""

    lane_group: int  #: lanes whose accesses are coalesced
    segments: int  #: whether they are coalesced into segments
    # interconnect
    sms_per_port: int  #: SMs that share a link to L2 and one from it
    request_bytes: int  #: bytes per cycle of a port's link to L2
    request_latency: int  #: cycles on the way to L2
    response_bytes: int  #: bytes per cycle of a port's link from L2
    response_latency: int  #: cycles on the way back
    header_bytes: int  #: bytes of a packet beside its data
    # L2
    slices: int  #: slices of the near memory, which come first
    slices_per_channel: int
    l2_sets: int  #: sets of a slice
    l2_ways: int
    l2_bytes: int  #: bytes per cycle that a slice gives out
    l2_latency: int  #: cycles from arrival to departure of a hit
    l2_mshrs: int  #: lines that may be on their way to a slice at once
    l2_merges: int  #: loads that may wait for one of these lines
    l2_atomic: int  #: cycles per colliding atomic
    l2_data: int  #: whether L2 holds more than textures
    # DRAM as L2 sees it
    dram_latency: Annotated[Words, MEMORIES]  #: cycles on the way back beside those of the commands
    burst_bytes: Annotated[Words, MEMORIES]
    row_bytes: Annotated[Words, MEMORIES]
    interleave: int  #: bytes of one channel before the next channel's turn comes
    # requests
    requests: int  #: how many rows have ever been in use
    free_request: int  #: the first free row + 1
    stamp: int  #: age of the youngest request
    events: int  #: outstanding events
    unfinished: int  #: stores, write-backs and atomics of all SMs that have not arrived
    waiting_at_slices: int  #: requests that wait at slices
    dram_log: int  #: words of the log of DRAM's commands, 0 without one
    dram_logged: int  #: commands in it
    dram_lost: int  #: commands that found it full

    kind: Annotated[Words, MAX_REQUESTS]
    stage: Annotated[Words, MAX_REQUESTS]
    source: Annotated[Words, MAX_REQUESTS]
    line: Annotated[Words, MAX_REQUESTS]  #: the line that was asked for
    home: Annotated[Words, MAX_REQUESTS]  #: the line that it is in L2 and DRAM (`pages`)
    words: Annotated[Words, MAX_REQUESTS]
    link: Annotated[Words, MAX_REQUESTS]
    at_slice: Annotated[Words, MAX_REQUESTS]
    at_way: Annotated[Words, MAX_REQUESTS]
    writes: Annotated[Words, MAX_REQUESTS]
    age: Annotated[Words, MAX_REQUESTS]
    #: link of the request's list: a bucket of the calendar, a slice, a line's loads, or the free requests
    following: Annotated[Words, MAX_REQUESTS]
    due: Annotated[Words, MAX_REQUESTS]
    event_first: Annotated[Words, MEMORY_CALENDAR]
    event_last: Annotated[Words, MEMORY_CALENDAR]
    event_used: Annotated[Words, MEMORY_CALENDAR // USED_BITS]
    request_free: Annotated[Words, MAX_SMS]  #: first free cycle of a port's link to L2
    response_free: Annotated[Words, MAX_SMS]  #: first free cycle of a port's link from L2
    # slices
    slice_free: Annotated[Words, MAX_SLICES]  #: first cycle for the next request
    slice_out: Annotated[Words, MAX_SLICES]  #: first cycle for the next departure
    slice_pending: Annotated[Words, MAX_SLICES]  #: lines on their way
    slice_first: Annotated[Words, MAX_SLICES]  #: first request that waits at the slice + 1
    slice_last: Annotated[Words, MAX_SLICES]  #: last request that waits at the slice
    #: places at the channel that the first waiting request needs, 0 if it waits for something else
    slice_wants: Annotated[Words, MAX_SLICES]
    slice_way: Annotated[Words, MAX_SLICES]  #: the way that this request will take
    slice_lacks: Annotated[Words, MAX_SLICES]  #: the words that it lacks
    slice_fetch: Annotated[Words, MAX_SLICES]  #: the words that it fetches
    # lines of L2
    l2_line: Annotated[Words, MAX_L2_LINES]  #: line number + 1, 0 for an empty way
    l2_age: Annotated[Words, MAX_L2_LINES]  #: above every other age while words are on their way
    l2_valid: Annotated[Words, MAX_L2_LINES]  #: words that are there
    l2_dirty: Annotated[Words, MAX_L2_LINES]  #: words that are newer than DRAM's
    l2_coming: Annotated[Words, MAX_L2_LINES]  #: words that are on their way
    l2_waiting: Annotated[Words, MAX_L2_LINES]  #: how many requests wait for the line
    l2_first: Annotated[Words, MAX_L2_LINES]  #: the first of them
    l2_last: Annotated[Words, MAX_L2_LINES]  #: the last of them
    memory_stat: Annotated[Words, len(MemoryStat.names)]

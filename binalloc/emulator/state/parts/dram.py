"""This module has the DRAM part of the device record: channels of banks with row buffers, and their timing figures."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.memory_layout import (
    DRAM_BANKS,
    DRAM_STATS,
    FAW_ACTIVATES,
    MAX_CHANNELS,
    MAX_REQUESTS,
    MEMORIES,
)


class DramRecord:
    """Times are ticks of the memory's command clock where nothing else is said, counted from the start of the run.

    A bank's number is channel * MAX_BANKS_OF_DRAM + its place in the channel. A request's number is its row in the
    arrays of `state.parts.memory`.
    """

    # figures: shape
    dram_channels: int  #: channels of the near memory, which come first
    all_channels: int  #: channels of both memories
    # figures of each memory, see `Memory`
    dram_banks: Annotated[Words, MEMORIES]  #: banks of a channel
    dram_groups: Annotated[Words, MEMORIES]  #: bank groups of a channel
    dram_depth: Annotated[Words, MEMORIES]  #: requests that wait at a channel
    command_buses: Annotated[Words, MEMORIES]
    tick_numerator: Annotated[Words, MEMORIES]  #: ticks per core cycle, as a fraction
    tick_denominator: Annotated[Words, MEMORIES]
    # timing constraints, as JEDEC names them
    t_rcd: Annotated[Words, MEMORIES]
    t_rp: Annotated[Words, MEMORIES]
    t_ras: Annotated[Words, MEMORIES]
    t_rc: Annotated[Words, MEMORIES]
    t_cl: Annotated[Words, MEMORIES]
    t_wl: Annotated[Words, MEMORIES]
    t_ccd: Annotated[Words, MEMORIES]
    t_ccdl: Annotated[Words, MEMORIES]
    t_rrd: Annotated[Words, MEMORIES]
    t_wr: Annotated[Words, MEMORIES]
    t_cdlr: Annotated[Words, MEMORIES]
    t_rtp: Annotated[Words, MEMORIES]
    t_rtw: Annotated[Words, MEMORIES]  #: from a read command to a write command
    t_faw: Annotated[Words, MEMORIES]
    t_refi: Annotated[Words, MEMORIES]
    t_rfc: Annotated[Words, MEMORIES]
    t_burst: Annotated[Words, MEMORIES]  #: ticks that one burst takes on the data bus
    #: time of a burst on the data bus, longer where the channel has less bandwidth; in 2^-DATA_FRACTION ticks
    t_data: Annotated[Words, MEMORIES]
    dram_due: int  #: first core cycle in which a request of any channel may end

    dram_stat: Annotated[Words, MEMORIES * DRAM_STATS]  #: counters of each memory, see `DramStat`

    # channels
    #: first core cycle in which one of the channel's requests may end or all its banks are refreshed
    channel_due: Annotated[Words, MAX_CHANNELS]
    channel_end: Annotated[Words, MAX_CHANNELS]  #: the tick of that
    channel_seen: Annotated[Words, MAX_CHANNELS]  #: core cycle in which the last request came
    channel_bus: Annotated[Words, MAX_CHANNELS]  #: the tick after the last command
    row_bus: Annotated[Words, MAX_CHANNELS]  #: first free tick of the bus for activations and precharges
    channel_data: Annotated[Words, MAX_CHANNELS]  #: first free time of the data bus, in 2^-DATA_FRACTION ticks
    channel_activated: Annotated[Words, MAX_CHANNELS * FAW_ACTIVATES]  #: ends of tFAW of the last activations
    channel_oldest: Annotated[Words, MAX_CHANNELS]  #: place of the oldest of these activations
    channel_waiting: Annotated[Words, MAX_CHANNELS]  #: requests that wait
    channel_used: Annotated[Words, MAX_CHANNELS]  #: mask of the banks for which requests wait
    channel_tick: Annotated[Words, MAX_CHANNELS]  #: tick of the next command
    channel_next: Annotated[Words, MAX_CHANNELS]  #: bank of the next command, or REFRESHING
    channel_served: Annotated[Words, MAX_CHANNELS]  #: whether a request has left since slices were last tried again
    channel_refresh: Annotated[Words, MAX_CHANNELS]  #: tick of the next refresh, where `t_refi` is not 0
    channel_busy: Annotated[Words, MAX_CHANNELS]  #: tick at which the last command to any bank has been carried out
    channel_rows: Annotated[Words, MAX_CHANNELS]  #: open banks
    channel_opened: Annotated[Words, MAX_CHANNELS]  #: tick since which a bank is open; where none is, of the last time
    channel_shut: Annotated[Words, MAX_CHANNELS]  #: tick at which the last open bank was closed
    #: ticks in which a bank was open, up to `channel_shut`; that may be ahead of time, in front of a refresh
    channel_open: Annotated[Words, MAX_CHANNELS]
    bank_busy: Annotated[Words, DRAM_BANKS]  #: tick at which the last command to the bank has been carried out
    channel_read: Annotated[Words, MAX_CHANNELS]  #: first tick at which the channel takes a read
    channel_write: Annotated[Words, MAX_CHANNELS]  #: first tick at which the channel takes a write
    channel_activate: Annotated[Words, MAX_CHANNELS]  #: first tick at which the channel takes an activation
    #: first tick at which a bank group takes a read or a write; a group has the number of its first bank
    group_column: Annotated[Words, DRAM_BANKS]
    # banks
    bank_row: Annotated[Words, DRAM_BANKS]  #: open row + 1, 0 where it is closed
    bank_first: Annotated[Words, DRAM_BANKS]  #: oldest request
    bank_last: Annotated[Words, DRAM_BANKS]  #: youngest request
    bank_next: Annotated[Words, DRAM_BANKS]  #: the request to serve next
    bank_wants: Annotated[Words, DRAM_BANKS]  #: the command that this request needs
    bank_key: Annotated[Words, DRAM_BANKS]  #: priority of that command among those of the same tick
    bank_ready: Annotated[Words, DRAM_BANKS]  #: first tick at which bank and group can take that command
    bank_rest: Annotated[Words, DRAM_BANKS]  #: fewest ticks from then on to the last command of the request
    bank_activate: Annotated[Words, DRAM_BANKS]  #: first tick at which the bank may be activated
    bank_precharge: Annotated[Words, DRAM_BANKS]  #: first tick at which the bank may be precharged
    bank_column: Annotated[Words, DRAM_BANKS]  #: first tick at which the bank may be read or written
    # requests at a channel
    at_bank: Annotated[Words, MAX_REQUESTS]
    at_row: Annotated[Words, MAX_REQUESTS]
    bursts: Annotated[Words, MAX_REQUESTS]  #: bursts still to go
    asked: Annotated[Words, MAX_REQUESTS]  #: core cycle in which the request came
    opened: Annotated[Words, MAX_REQUESTS]  #: whether the row had to be opened for the request
    younger: Annotated[Words, MAX_REQUESTS]  #: the next younger request at the bank
    older: Annotated[Words, MAX_REQUESTS]  #: the next older request at the bank

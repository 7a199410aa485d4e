"""The part of the device record that is DRAM: channels of banks with row buffers, and their timing figures."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.memory_layout import (
    CONSTRAINTS,
    FAW_ACTIVATES,
    MAX_BANKS_OF_DRAM,
    MAX_CHANNELS,
    MAX_REQUESTS,
)

_BANKS = MAX_CHANNELS * MAX_BANKS_OF_DRAM


class DramRecord:
    """Times are ticks of the command clock where nothing else is said, counted from the start of the run.

    A bank's number is channel * MAX_BANKS_OF_DRAM + its place in the channel. A request's number is its row in the
    `request_*` arrays, which `memory_record` has.
    """

    # figures: shape; ticks per core cycle as a fraction; timing constraints as JEDEC names them, `t_burst` the ticks
    # that one burst takes on the data bus, `t_rtw` from a read command to a write command
    dram_channels: int
    dram_banks: int
    dram_groups: int
    dram_depth: int
    tick_numerator: int
    tick_denominator: int
    t_rcd: int
    t_rp: int
    t_ras: int
    t_rc: int
    t_cl: int
    t_wl: int
    t_ccd: int
    t_ccdl: int
    t_rrd: int
    t_wr: int
    t_cdlr: int
    t_rtp: int
    t_rtw: int
    t_faw: int
    t_burst: int
    # what a burst takes of the data bus, with less bandwidth than the channel has; in 2^-DATA_FRACTION ticks
    t_data: int
    # the core cycle at which the first of the channels can act
    dram_due: int

    # channels: the core cycle at which it can act next; first free ticks of the command bus, of the data bus (in
    # 2^-DATA_FRACTION); the last activations, oldest at `channel_oldest`; requests waiting; banks for which some do
    channel_due: Annotated[Words, MAX_CHANNELS]
    channel_bus: Annotated[Words, MAX_CHANNELS]
    channel_data: Annotated[Words, MAX_CHANNELS]
    channel_activated: Annotated[Words, MAX_CHANNELS * FAW_ACTIVATES]
    channel_oldest: Annotated[Words, MAX_CHANNELS]
    channel_waiting: Annotated[Words, MAX_CHANNELS]
    channel_used: Annotated[Words, MAX_CHANNELS]
    # the command that comes next: twice its tick, plus one for an activation or a precharge (NEVER: none); the age of
    # its request; its bank. Whether a request has left since slices were told
    channel_key: Annotated[Words, MAX_CHANNELS]
    channel_age: Annotated[Words, MAX_CHANNELS]
    channel_next: Annotated[Words, MAX_CHANNELS]
    channel_served: Annotated[Words, MAX_CHANNELS]
    # first tick at which the channel takes a command of each kind, and columns of each bank group as far as only
    # tCCDL counts
    constraint: Annotated[Words, MAX_CHANNELS * CONSTRAINTS]
    group_column: Annotated[Words, MAX_CHANNELS * CONSTRAINTS]
    # banks: open row + 1 (0: closed); requests, oldest first, the one to serve next, the command that it needs,
    # the first tick at which the bank can have that, and the place of the channel's constraint on it;
    # first ticks at which it may be activated, precharged, read or written
    bank_row: Annotated[Words, _BANKS]
    bank_first: Annotated[Words, _BANKS]
    bank_last: Annotated[Words, _BANKS]
    bank_next: Annotated[Words, _BANKS]
    bank_wants: Annotated[Words, _BANKS]
    bank_ready: Annotated[Words, _BANKS]
    bank_meets: Annotated[Words, _BANKS]
    bank_activate: Annotated[Words, _BANKS]
    bank_precharge: Annotated[Words, _BANKS]
    bank_column: Annotated[Words, _BANKS]
    # requests at a channel: bank, row, bursts still to go, whether the row had to be opened for it, neighbours
    at_bank: Annotated[Words, MAX_REQUESTS]
    at_row: Annotated[Words, MAX_REQUESTS]
    bursts: Annotated[Words, MAX_REQUESTS]
    opened: Annotated[Words, MAX_REQUESTS]
    younger: Annotated[Words, MAX_REQUESTS]
    older: Annotated[Words, MAX_REQUESTS]

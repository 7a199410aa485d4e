"""The part of the device record that is DRAM: channels of banks with row buffers, and their timing figures."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.memory_layout import (
    BANK_ROWS,
    FAW_ACTIVATES,
    MAX_CHANNELS,
    REQUEST_ROWS,
)


class DramRecord:
    """Times are ticks of the command clock where nothing else is said, counted from the start of the run.

    A bank's number is channel * MAX_BANKS_OF_DRAM + its place in the channel. A request's number is its row in the
    arrays of `state.parts.memory`.
    """

    # figures: shape; ticks per core cycle as a fraction; timing constraints as JEDEC names them, `t_burst` the ticks
    # that one burst takes on the data bus, `t_rtw` from a read command to a write command
    dram_channels: int
    dram_banks: int
    dram_groups: int
    dram_depth: int
    command_buses: int
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
    t_refi: int
    t_rfc: int
    t_burst: int
    # what a burst takes of the data bus, with less bandwidth than the channel has; in 2^-DATA_FRACTION ticks
    t_data: int
    # the first core cycle in which a request of any of the channels may end
    dram_due: int

    # channels: the first core cycle in which one of its requests may end or all banks are refreshed, and the tick of
    # that; the core cycle in which the last request came; the tick behind its last command; first free ticks of the bus
    # for activations and precharges, of the data bus (in 2^-DATA_FRACTION); ends of tFAW of the last activations, the
    # oldest's at `channel_oldest`; requests waiting; banks for which some do
    channel_due: Annotated[Words, MAX_CHANNELS]
    channel_end: Annotated[Words, MAX_CHANNELS]
    channel_seen: Annotated[Words, MAX_CHANNELS]
    channel_bus: Annotated[Words, MAX_CHANNELS]
    row_bus: Annotated[Words, MAX_CHANNELS]
    channel_data: Annotated[Words, MAX_CHANNELS]
    channel_activated: Annotated[Words, MAX_CHANNELS * FAW_ACTIVATES]
    channel_oldest: Annotated[Words, MAX_CHANNELS]
    channel_waiting: Annotated[Words, MAX_CHANNELS]
    channel_used: Annotated[Words, MAX_CHANNELS]
    # tick and bank (or REFRESHING) of the command that comes next; whether a request has left since slices were told
    channel_tick: Annotated[Words, MAX_CHANNELS]
    channel_next: Annotated[Words, MAX_CHANNELS]
    channel_served: Annotated[Words, MAX_CHANNELS]
    # the tick at which the channel is to be refreshed next, where `t_refi` is not 0
    channel_refresh: Annotated[Words, MAX_CHANNELS]
    # ticks at which the last of the commands given so far, to any bank, to each bank, has been carried out
    channel_busy: Annotated[Words, MAX_CHANNELS]
    bank_busy: Annotated[Words, BANK_ROWS]
    # first ticks at which the channel takes reads, writes, activations; and a bank group, which has the number of its
    # first bank, reads or writes
    channel_read: Annotated[Words, MAX_CHANNELS]
    channel_write: Annotated[Words, MAX_CHANNELS]
    channel_activate: Annotated[Words, MAX_CHANNELS]
    group_column: Annotated[Words, BANK_ROWS]
    # banks: open row + 1 (0: closed); requests, oldest first, and the one to serve next; the command that it needs,
    # what that is chosen by among those of one tick, the first tick at which bank and group can have it, and the ticks
    # from then on to the request's last one at the least; first ticks at which the bank may be activated, precharged,
    # read or written
    bank_row: Annotated[Words, BANK_ROWS]
    bank_first: Annotated[Words, BANK_ROWS]
    bank_last: Annotated[Words, BANK_ROWS]
    bank_next: Annotated[Words, BANK_ROWS]
    bank_wants: Annotated[Words, BANK_ROWS]
    bank_key: Annotated[Words, BANK_ROWS]
    bank_ready: Annotated[Words, BANK_ROWS]
    bank_rest: Annotated[Words, BANK_ROWS]
    bank_activate: Annotated[Words, BANK_ROWS]
    bank_precharge: Annotated[Words, BANK_ROWS]
    bank_column: Annotated[Words, BANK_ROWS]
    # requests at a channel: bank, row, bursts still to go, whether the row had to be opened for it, neighbours
    at_bank: Annotated[Words, REQUEST_ROWS]
    at_row: Annotated[Words, REQUEST_ROWS]
    bursts: Annotated[Words, REQUEST_ROWS]
    opened: Annotated[Words, REQUEST_ROWS]
    younger: Annotated[Words, REQUEST_ROWS]
    older: Annotated[Words, REQUEST_ROWS]

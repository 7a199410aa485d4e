"""This module has the part of the device record for the log of what the SMs do. Device code writes rows, and the driver
drains them (`runs.issue_log`). Where the log is off nothing touches it, and its pages cost no memory."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Grid, Words
from binalloc.emulator.state.codes import Codes
from binalloc.emulator.state.layout import LANES


class LogKind(Codes):
    """A row of the log is of one of these kinds. The comments say what the row's columns hold."""

    #: a warp issues the instruction at PC, before it executes; MASK: lanes that execute it, DETAIL: lanes active before
    #: its guard
    ISSUE: int
    BLOCK: int  #: a block has come; DETAIL: its slot, MASK: how many warps it has, WARP: the first of them
    BLOCK_END: int  #: the block has gone
    WARP_END: int  #: a warp has ended
    SCOREBOARD: int  #: a warp that is awake finds that its next instruction, at PC, waits for the scoreboards in DETAIL
    RESUME: int  #: these scoreboards are released
    BARRIER: int  #: a warp waits at barrier DETAIL, in the BAR at PC
    OPEN: int  #: that barrier has opened; the warp sleeps until cycle DETAIL
    HOLD: int  #: lines of the warp's access are held; its SM's path to memory is closed from the next instruction on
    GO_ON: int  #: the path to memory is open again
    FULL: int  #: a block waits for shared memory, as its BAR.ALLOC at PC has opened; DETAIL: its slot
    #: a block has got shared memory for its BAR.ALLOC at PC; DETAIL: its slot, MASK: address of the first byte
    TAKE: int
    GIVE: int  #: a block has given it back by its BAR.FREE at PC; DETAIL: its slot


class LogColumn(Codes):
    """A row of the log has these columns."""

    KIND: int
    CYCLE: int
    SM: int
    WARP: int  #: slot of the warp in its SM
    BLOCK: int  #: number of its block in the grid
    IN_BLOCK: int  #: number of the warp in the block
    PC: int  #: code word, -1 where the kind has none
    MASK: int
    DETAIL: int
    LANES: int  #: the row of addresses, -1 for none


LOG_COLUMNS = len(LogColumn.names)
LOG_ROWS = 1 << 18  # more than a cycle of any device can write after the mark at which the host is asked to drain
LOG_ACCESSES = 1 << 14
"""More than a cycle can write after its mark, too; `runs.issue_log` refuses a device for which it is not."""
DATA_WORDS = 4  # words of a lane that are kept: what it stores, or an atomic's operands B, two words, and C
LANE_COLUMNS = LANES * (1 + DATA_WORDS)  # addresses, then the lanes' first words, and so on
MAX_WATCHES = 64  # watched ranges; each access is compared with all of them. Chosen by hand
ATOM_BYTES = 8  # size of the largest atomic: a watch gets all stores as near as that to its own bytes


class Keep(Codes):
    """The log keeps as much of the lanes of accesses as its listeners need."""

    NOTHING: int
    ADDRESSES: int
    DATA: int  #: addresses, and what the lanes store


class LogRecord:
    """Rows wait in `log`, and rows of accesses' lanes in `log_lane`, until the host takes them."""

    logging: int  #: whether anything is logged
    log_all: int  #: whether all is logged, or only accesses to what is watched
    log_keep: int  #: how much of lanes is kept, a `Keep`
    logged: int  #: rows that wait
    log_full: int  #: number of waiting rows at which the quantum has to end
    logged_lanes: int  #: rows of lanes that wait
    log_lanes_full: int  #: the same mark for rows of lanes
    log_stop: int  #: whether the quantum has to end
    watches: int  #: number of watched ranges of global memory
    watch_stops: int  #: whether an access to one of them stops the run
    watch_from: Annotated[Words, MAX_WATCHES]  #: first address of a range
    watch_to: Annotated[Words, MAX_WATCHES]  #: address behind a range
    log: Annotated[Grid, LOG_ROWS, LOG_COLUMNS]
    log_lane: Annotated[Grid, LOG_ACCESSES, LANE_COLUMNS]

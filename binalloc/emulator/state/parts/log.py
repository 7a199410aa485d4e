"""The part of the device record that is the log of what the SMs do: rows that device code writes and the driver drains
(`runs.issue_log`). Off, nothing of it is touched; its pages then cost no memory."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Grid, Words
from binalloc.emulator.state.codes import Codes
from binalloc.emulator.state.layout import LANES


class LogKind(Codes):
    """What a row says.

    ISSUE: a warp issues the instruction at PC, before it executes; MASK the lanes that execute it, DETAIL those that
    were active before its guard. BLOCK: a block has come, DETAIL its slot, MASK how many warps it has; WARP the first
    of them. BLOCK_END: it has gone. WARP_END: a warp has ended. SCOREBOARD: a warp that is awake finds that its next
    instruction, at PC, waits for the scoreboards in DETAIL. RESUME: they are released. BARRIER: a warp waits at barrier
    DETAIL, in the BAR at PC. OPEN: that barrier has opened, the warp sleeps until cycle DETAIL. HOLD: lines of the
    warp's access are held, its SM's path to memory is closed from the next instruction on. GO_ON: it is open again.
    """

    ISSUE: int
    BLOCK: int
    BLOCK_END: int
    WARP_END: int
    SCOREBOARD: int
    RESUME: int
    BARRIER: int
    OPEN: int
    HOLD: int
    GO_ON: int


class LogColumn(Codes):
    """A row. WARP: the warp's slot in its SM; BLOCK, IN_BLOCK: its block's number in the grid, its own in the block;
    PC: a code word, -1 where the kind says nothing of it; LANES: the row of addresses, -1 if there is none."""

    KIND: int
    CYCLE: int
    SM: int
    WARP: int
    BLOCK: int
    IN_BLOCK: int
    PC: int
    MASK: int
    DETAIL: int
    LANES: int


LOG_COLUMNS = len(LogColumn.names)
LOG_ROWS = 1 << 18  # more than any cycle of any device can write behind the mark at which the host is asked to drain
LOG_ACCESSES = 1 << 14
DATA_WORDS = 4  # of a lane: what it stores; an atomic's operands B, two words, and C
LANE_COLUMNS = LANES * (1 + DATA_WORDS)  # addresses, then the lanes' first words, and so on
MAX_WATCHES = 64
ATOM_BYTES = 8  # of the largest atomic operation: a watch hears of all stores as near as that to its own bytes


class Keep(Codes):
    """What is kept of the lanes of accesses: nothing, addresses, what they store as well."""

    NOTHING: int
    ADDRESSES: int
    DATA: int


class LogRecord:
    """Rows wait in `log`, those of accesses' lanes in `log_lane`, until the host takes them."""

    # whether anything is logged; whether all of it, or accesses to what is watched alone; what of lanes, a `Keep`
    logging: int
    log_all: int
    log_keep: int
    # rows that wait; at which number of them the quantum is to end; whether it is
    logged: int
    log_full: int
    logged_lanes: int
    log_lanes_full: int
    log_stop: int
    # addresses of global memory that are watched, from and up to; whether an access to them stops the run
    watches: int
    watch_stops: int
    watch_from: Annotated[Words, MAX_WATCHES]
    watch_to: Annotated[Words, MAX_WATCHES]
    log: Annotated[Grid, LOG_ROWS, LOG_COLUMNS]
    log_lane: Annotated[Grid, LOG_ACCESSES, LANE_COLUMNS]

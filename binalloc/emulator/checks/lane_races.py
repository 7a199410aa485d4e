"""`race` detects accesses among the lanes of one warp that no WARPSYNC or barrier orders. It does so for binaries of
the memory model `ptx`.

Each lane has a vector clock. For every other lane it has a moment of the warp: up to then the other lane's accesses
come before this lane's own. The warp's meetings count the moments. Lanes that meet take over one another's knowledge.
The history of a place keeps lane and moment of the last write, and the reads of each lane of the warp that read last.
Reads of earlier warps need not be kept: another warp's read in between without a barrier would be a race of warps, and
a barrier is a meeting of all lanes.

The clocks are stored behind the places in the array of histories, a row per lane of a warp. The first row also holds
the moment.
"""

from __future__ import annotations

from binalloc.emulator.checks.history import HISTORY_COLUMNS, LANE_READS, Before, History
from binalloc.emulator.state.arrays import Cube, Words
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import LANES, MAX_WARPS

CLOCK_ROWS = MAX_WARPS * LANES  # Number of rows that the lanes' clocks take in the array of histories.
_NOW = LANES  # Column, in the row of lane 0, of the warp's moment: the first one behind the clocks of 32 lanes.
ORDERED = -1  # `lane_conflict` returns this where there is no race; the codes of `Before` begin at 0.
assert HISTORY_COLUMNS > _NOW


@device
def lanes_start(sm: int, races: Cube, w: int) -> None:
    """Clear the clocks of a warp that begins: no lanes have met."""
    first = races.shape[1] - CLOCK_ROWS + w * LANES
    races[sm, first : first + LANES, :] = 0


@device
def lanes_meet(sm: int, races: Cube, w: int, lanes: int) -> None:
    """Let some lanes meet: from here on each knows what the others did and knew."""
    first = races.shape[1] - CLOCK_ROWS + w * LANES
    now = races[sm, first, _NOW] + 1
    for of in range(LANES):
        known = now if (lanes >> of) & 1 else 0
        for t in range(LANES):
            if (lanes >> t) & 1:
                known = max(known, races[sm, first + t, of])
        for t in range(LANES):
            if (lanes >> t) & 1:
                races[sm, first + t, of] = known
    races[sm, first, _NOW] = now


@device
def lane_conflict(sm: int, races: Cube, cell: Words, w: int, me: int, t: int, load: int, ordered: int) -> int:
    """Return the kind of another lane's access that lane t's access races with, one of `Before`, or ORDERED.

    cell: history of the place. me: number of the warp in its block. ordered: lane t's access is an atomic or an ordered
    one.
    """
    mine = races.shape[1] - CLOCK_ROWS + w * LANES + t
    found = ORDERED
    lane = cell[History.WRITE_LANE]
    others = cell[History.WRITER] == me + 1 and lane != t and not (ordered and cell[History.ATOMIC])
    if others and races[sm, mine, lane] <= cell[History.WRITE_MOMENT]:
        found = Before.LANE_WRITTEN
    if not load and cell[History.READER] == me + 1:
        for u in range(LANES):
            if u != t and cell[LANE_READS + u] > races[sm, mine, u]:
                found = Before.LANE_READ
    return found


@device
def note_lane(sm: int, races: Cube, cell: Words, w: int, me: int, t: int, load: int, ordered: int) -> None:
    """Enter the access of lane t into the history of the place."""
    now = races[sm, races.shape[1] - CLOCK_ROWS + w * LANES, _NOW]
    if not load:
        cell[History.WRITE_LANE] = t
        cell[History.WRITE_MOMENT] = now
    elif not ordered:
        if cell[History.READER] != me + 1:
            for u in range(LANES):
                cell[LANE_READS + u] = 0
            cell[History.READER] = me + 1
        cell[LANE_READS + t] = now + 1

"""`race` among the lanes of one warp, for binaries of the memory model `ptx`: accesses that no WARPSYNC or barrier
orders.

Each lane knows of every other up to which moment of the warp's that one's accesses come before its own: a vector clock
per lane, moments counted by the warp's meetings. Lanes that meet know what any of them knew. Of a place's history a
write has its lane and moment, reads those of each lane of the warp that read last: had another warp's read come between
without a barrier, that would be a race of warps, and a barrier is a meeting of all lanes.

The clocks lie behind the places in the array of histories, a row per lane of a warp; the first row has the moment, too.
"""

from __future__ import annotations

from binalloc.emulator.checks.history import HISTORY_COLUMNS, LANE_READS, Before, History
from binalloc.emulator.state.arrays import Cube, Words
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import LANES, MAX_WARPS

CLOCK_ROWS = MAX_WARPS * LANES
"""Rows that the lanes' clocks take."""
_NOW = LANES
"""Column, in the row of lane 0, of the warp's moment."""
ORDERED = -1
"""What `lane_conflict` answers where there is none."""
assert HISTORY_COLUMNS > _NOW


@device
def lanes_start(sm: int, races: Cube, w: int) -> None:
    """A warp begins: nobody has met."""
    first = races.shape[1] - CLOCK_ROWS + w * LANES
    races[sm, first : first + LANES, :] = 0


@device
def lanes_meet(sm: int, races: Cube, w: int, lanes: int) -> None:
    """Some lanes meet: each knows from here on what they did, and what they knew."""
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
    """What the access of another lane was that lane t's to the place with history `cell` races with, or ORDERED. me:
    the warp in its block. ordered: it is an atomic, or the like."""
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
    """Lane t has accessed the place."""
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

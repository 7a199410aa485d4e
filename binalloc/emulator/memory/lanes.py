"""This module computes the address of a lane from the registers of its memory instruction."""

from __future__ import annotations

from binalloc.emulator.state.arrays import Grid
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import FULL, SpaceCode

SIGN = 0x80000000  # the sign bit of an address's high word


@device(inline=True)
def has_pair(space: int) -> int:
    """Return 1 if addresses of the space are 64 bits in two registers, signed, else 0: they are 32 bits and wrap."""
    return 1 if space == SpaceCode.GLOBAL or space == SpaceCode.GENERIC else 0


@device(inline=True)
def address_of(rows: Grid, low: int, high: int, pair: int, offset: int, t: int) -> int:
    """Return lane t's address, from rows `low` and, if it is a pair, `high`."""
    if pair:
        return (((((int(rows[high, t]) + 0) ^ SIGN) - SIGN) << 32) | int(rows[low, t])) + offset
    return (int(rows[low, t]) + offset) & FULL

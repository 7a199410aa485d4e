"""This module finds registers free around calls, for the moves of the moving stack."""

from __future__ import annotations

from bisect import bisect_left

from binalloc.bitset import lowest
from binalloc.transform.allocate.functions.registers import RegisterAllocation
from binalloc.transform.virtual.flat import flatten
from binalloc.transform.virtual.live_ranges import live_ranges


def scratch_registers(alloc: RegisterAllocation, available: int) -> list[tuple[int, int]]:
    """List per call item (a register free just before it, one free just after it), -1 where none is free. Registers
    that the function overwrites anyway come first."""
    anyway = alloc.contract.clobbers
    busy = alloc.once("busy around calls", lambda: _busy_around_calls(alloc))
    return [(_one(available & ~before, anyway), _one(available & ~behind, anyway)) for before, behind in busy]


def _busy_around_calls(alloc: RegisterAllocation) -> list[tuple[int, int]]:
    """List per call item the registers, as bits, that hold values just before it, and just behind it."""
    flat = flatten(alloc.code)
    calls = [k for k, item in enumerate(flat.items) if item.callee]
    if not calls:
        return []
    live = live_ranges(flat, len(alloc.code.names))
    busy = {point: 0 for k in calls for point in (2 * k, 2 * k + 1)}
    points = sorted(busy)
    for v, intervals in enumerate(live.intervals):
        bit = 1 << alloc.colour[v]
        for start, end in intervals:
            for point in points[bisect_left(points, start) : bisect_left(points, end)]:
                busy[point] |= bit
    return [(busy[2 * k], busy[2 * k + 1]) for k in calls]


def _one(registers: int, rather: int) -> int:
    return lowest(registers & rather or registers) if registers else -1

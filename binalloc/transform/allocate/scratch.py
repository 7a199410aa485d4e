"""Registers free around calls, for the moves of the moving stack."""

from __future__ import annotations

from bisect import bisect_left

from binalloc.bitset import lowest
from binalloc.transform.allocate.registers import RegisterAllocation
from binalloc.transform.virtual.flat import flatten
from binalloc.transform.virtual.live_ranges import live_ranges


def scratch_registers(alloc: RegisterAllocation, available: int) -> list[tuple[int, int]]:
    """Per call item (a register free just before it, one free just after it), one that the function overwrites anyway
    if there is; -1 where none is free."""
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
    around = [(available & ~busy[2 * k], available & ~busy[2 * k + 1]) for k in calls]
    anyway = alloc.contract.clobbers
    return [(_one(before, anyway), _one(behind, anyway)) for before, behind in around]


def _one(registers: int, rather: int) -> int:
    return lowest(registers & rather or registers) if registers else -1

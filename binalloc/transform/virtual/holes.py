"""Registers that stay empty beside pairs and quads, before and behind the items that read and write them.

Needs virtual code and its live ranges. A wide operand stands side by side before its item, and so does what a wide
result keeps of what it was (its other values come beside that). What is free elsewhere cannot take their places: so
many registers more are needed than values are live.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Set

from binalloc.transform.virtual.code import KEEP, Item
from binalloc.transform.virtual.flat import Flat
from binalloc.transform.virtual.live_ranges import LiveRanges, lives_at


def holes_behind(flat: Flat, live: LiveRanges) -> list[tuple[int, int]]:
    """(item, registers) that stay empty behind items with wide results: where a wide operand ends in part, what is free
    beside the rest cannot hold part of a wide result, and nothing could be moved there before."""
    out: list[tuple[int, int]] = []
    for k in flat.wide:
        item = flat.items[k]
        holes = 0
        for operand in item.uses:
            if len(operand.values) > 1:
                ending = sum(_ends(live, v, 2 * k + 1) for v in operand.values)
                holes += ending if ending < len(operand.values) else 0
        single = sum(len(o.values) == 1 for o in item.defs)
        if holes > single:
            out.append((k, holes - single))
    return out


def holes_before(flat: Flat, live: LiveRanges) -> list[tuple[int, int]]:
    """(item, registers) that have to be empty before items with wide results of which a part stands there already."""
    out: list[tuple[int, int]] = []
    for k in flat.wide:
        kept = live.kept.get(k, ())
        if not kept:
            continue
        standing = {v for v in kept if lives_at(live.intervals[v], 2 * k)}
        ending = {v for v in flat.uses[k] if v not in kept and _ends(live, v, 2 * k + 1)}
        holes = beside_results(flat.items[k], standing, ending)
        if holes:
            out.append((k, holes))
    return out


def beside_results(item: Item, standing: Set[int], ending: Set[int]) -> int:
    """Registers beside what stands of the item's wide results that no value can be in: not what stays, nor what ends in
    wide operands that stand elsewhere; other values that end can. At least so many; others may be missing too."""
    operands = {o.values for o in item.uses if len(o.values) > 1 and o.field != KEEP}
    wide = {v for values in operands for v in values}
    empty = 0
    covering = sum(v not in wide for v in ending)
    for result in item.defs:
        values = result.values
        places = [i for i, v in enumerate(values) if v not in standing]
        if len(values) == 1 or len(places) == len(values):
            continue
        empty += len(places)
        for operand in operands:
            if not standing.isdisjoint(operand):
                covering += sum(v in ending for v in operand)
            elif _has_place(places, len(operand), len(values)) and all(v in ending for v in operand):
                covering += len(operand)
    return max(0, empty - covering)


def _has_place(places: list[int], width: int, whole: int) -> bool:
    """Whether an operand can stand in these places of a result that has `whole`."""
    return any(all(i + k in places for k in range(width)) for i in range(0, whole, width))


def _ends(live: LiveRanges, v: int, point: int) -> bool:
    """Whether v ends just before `point`, or begins anew there."""
    intervals = live.intervals[v]
    at = bisect_left(intervals, (point,))
    if at < len(intervals) and intervals[at][0] == point:
        return True
    return bool(at) and intervals[at - 1][1] == point

"""Registers that stay empty beside pairs and quads, before and behind the items that read and write them.

Needs virtual code and its live ranges. A wide operand stands side by side before its item, and so does what a wide
result keeps of what it was (its other values come beside that). What is free elsewhere cannot take their places: so
many registers more are needed than values are live.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence, Set

from binalloc.transform.virtual.code import KEEP, Item
from binalloc.transform.virtual.flat import Flat
from binalloc.transform.virtual.live_ranges import LiveRanges, lives_at


def holes_behind(flat: Flat, live: LiveRanges) -> list[tuple[int, int]]:
    """(item, registers) that stay empty behind items with wide results: where a wide operand ends in part, what is free
    beside the rest cannot hold part of a wide result, and nothing could be moved there before."""
    out: list[tuple[int, int]] = []
    for k in flat.wide:
        item = flat.items[k]
        ending = {v for v in flat.uses[k] if _ends(live, v, 2 * k + 1)}
        holes = beside_operands(item, ending)
        if holes:
            out.append((k, holes))
    return out


def beside_operands(item: Item, ending: Set[int]) -> int:
    """Registers in which values of wide operands end and no result can be: those beside what lives on, but for as many
    as single results take, where a narrower result fits in, and where a result stands about what lives on. At least so
    many; others may be missing too."""
    empty: set[int] = set()
    for operand in item.uses:
        values = operand.values
        left = [i for i, v in enumerate(values) if v not in ending]
        if left and operand.field != KEEP:
            empty.update(v for i, v in enumerate(values) if v in ending and not _holds_result(item, values, left, i))
    return max(0, len(empty) - sum(len(o.values) == 1 for o in item.defs))


def _holds_result(item: Item, operand: Sequence[int], left: Sequence[int], place: int) -> bool:
    """Whether a wide result may take this place of an operand of which those that are `left` live on."""
    for result in item.defs:
        width = len(result.values)
        first = place - place % width
        if 1 < width < len(operand) and all(first + k not in left for k in range(width)):
            return True
        for i in left:
            if operand[i] in result.values:  # it stands where it will
                at = result.values.index(operand[i]) - i + place
                if 0 <= at < width:
                    return True
    return False


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

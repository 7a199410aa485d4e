"""This module counts registers that stay empty beside pairs and quads, before and behind the items with such operands.

It needs virtual code and its live ranges. The values of a wide operand are in consecutive registers before its item. So
are the parts that a wide result keeps of its old content, with the other parts beside them. Registers that are free
elsewhere cannot take their places, so that correspondingly more are needed than values are live.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence, Set

from binalloc.transform.virtual.code import KEEP, Item
from binalloc.transform.virtual.flat import Flat
from binalloc.transform.virtual.live_ranges import LiveRanges, lives_at


def holes_behind(flat: Flat, live: LiveRanges) -> list[tuple[int, int]]:
    """List (item, registers) for the registers that stay empty behind items with wide results. Where a wide operand
    ends in part, the registers freed beside the rest cannot hold part of a wide result, and nothing could be moved
    there before."""
    out: list[tuple[int, int]] = []
    for k in flat.wide:
        item = flat.items[k]
        ending = {v for v in flat.uses[k] if _ends(live, v, 2 * k + 1)}
        holes = beside_operands(item, ending)
        if holes:
            out.append((k, holes))
    return out


def beside_operands(item: Item, ending: Set[int]) -> int:
    """Count the registers in which values of wide operands end and no result can be. They lie beside values that live
    on. Not counted are as many as single results take, places into which a narrower result fits, and places where a
    result extends around a value that lives on. The count is a lower bound."""
    empty: set[int] = set()
    for operand in item.uses:
        values = operand.values
        left = [i for i, v in enumerate(values) if v not in ending]
        if left and operand.field != KEEP:
            empty.update(v for i, v in enumerate(values) if v in ending and not _holds_result(item, values, left, i))
    return max(0, len(empty) - sum(len(o.values) == 1 for o in item.defs))


def _holds_result(item: Item, operand: Sequence[int], left: Sequence[int], place: int) -> bool:
    """Say whether a wide result may take this place of an operand. left: places of the operand whose values live on."""
    for result in item.defs:
        width = len(result.values)
        first = place - place % width
        if 1 < width < len(operand) and all(first + k not in left for k in range(width)):
            return True
        for i in left:
            if operand[i] in result.values:  # part of the result already, it stays in place
                at = result.values.index(operand[i]) - i + place
                if 0 <= at < width:
                    return True
    return False


def holes_before(flat: Flat, live: LiveRanges) -> list[tuple[int, int]]:
    """List (item, registers) for the registers that have to be empty before items with a wide result. Such a result has
    a part in place already."""
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
    """Count the registers beside the parts of the item's wide results that are already in place, as far as no value can
    be in them. Values that stay cannot be there, nor can values of wide operands that end elsewhere. Other values that
    end can. The count is a lower bound."""
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
    """Say whether an operand of `width` fits into these places of a result that has `whole`."""
    return any(all(i + k in places for k in range(width)) for i in range(0, whole, width))


def _ends(live: LiveRanges, v: int, point: int) -> bool:
    """Say whether v ends just before `point`, or begins anew there."""
    intervals = live.intervals[v]
    at = bisect_left(intervals, (point,))
    if at < len(intervals) and intervals[at][0] == point:
        return True
    return bool(at) and intervals[at - 1][1] == point

"""This module reorders stretches of virtual code that need more registers than there are.

It needs analysed virtual code before any spilling. It leaves a copy with the same items at other places of their
blocks, or the code itself where nothing is gained. A stretch that fits stays as it is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from binalloc.analysis.flow.backward import ALWAYS
from binalloc.models.allocation.terms import Interval
from binalloc.transform.order.clock import LatencyClock
from binalloc.transform.order.dependences import dependences, divided, stretches
from binalloc.transform.order.latency import by_latency, ends_at
from binalloc.transform.order.local_words import keeps_its_order, touches_local
from binalloc.transform.order.pressure import Stretch, measure
from binalloc.transform.virtual.analysed import Analysed, analysed


def for_pressure(given: Analysed, registers: int) -> Analysed:
    """Return the code with a better order of every stretch that needs more than `registers`: the order needing fewest
    of those tried."""
    flat = given.flat
    pressure = given.live.pressure(flat.points).tolist()
    found: dict[tuple[int, int], list[int]] = {}
    for b in flat.blocks():
        for first, end in stretches(flat, b):
            if _need(pressure, (first, end), registers)[1] and not keeps_its_order(given, b, first, end):
                order = _least(stretch_of(given, b, first, end), registers)
                if order is not None:
                    found[first, end] = order
    if not found:
        return given
    after = _reordered(given, found)
    # the rules do not count that guards let values share a register
    now = after.live.pressure(flat.points).tolist()
    better = {at: o for at, o in found.items() if _need(now, at, registers) < _need(pressure, at, registers)}
    return after if len(better) == len(found) else _reordered(given, better)


def never_fits(given: Analysed, registers: int) -> bool:
    """Say whether more than `registers` are needed at the start of a stretch, where no order inside of blocks helps."""
    flat = given.flat
    pressure = given.live.pressure(flat.points)
    starts = [2 * first for b in flat.blocks() for first, _ in stretches(flat, b)]
    return bool(starts) and int(pressure[starts].max()) > registers


def _need(pressure: Sequence[int], at: tuple[int, int], registers: int) -> tuple[int, int]:
    """Return the peak of a stretch, and the number of missing registers summed over its points."""
    there = pressure[2 * at[0] : 2 * at[1]]
    return max(there), sum(max(0, p - registers) for p in there)


def _reordered(given: Analysed, orders: Mapping[tuple[int, int], Sequence[int]]) -> Analysed:
    """Return the code with other orders of the stretches (first item, one past the last)."""
    if not orders:
        return given
    items = list(given.flat.items)
    for (first, end), order in orders.items():
        items[first:end] = [given.flat.items[first + k] for k in order]
    code = given.copied()
    for b, block in enumerate(code.blocks):
        block.items = items[given.flat.starts[b] : given.flat.starts[b + 1]]
    return analysed(code)


def _least(stretch: Stretch, registers: int) -> list[int] | None:
    """Return the best order, if it is better than the present one."""
    best, found = measure(stretch, range(len(stretch)), registers), None
    for order in stretch.orders:
        cost = measure(stretch, order, registers)
        if cost < best:
            best, found = cost, order
    return found


def stretch_of(given: Analysed, block: int, first: int, end: int) -> Stretch:
    """Return items first .. end - 1 of the code in the form that the rules for orders use. (It is kept, since other
    numbers of registers ask again.)"""
    return given.once(("stretch", first, end), lambda: _stretch(given, block, first, end))


def _stretch(given: Analysed, block: int, first: int, end: int) -> Stretch:
    flat, live = given.flat, given.live
    defs, uses = [], []
    for k in range(first, end):
        kept = live.kept.get(k, ()) if flat.lits[k] != ALWAYS else ()
        defs.append(list(dict.fromkeys(flat.defs[k])))
        uses.append(list(dict.fromkeys((*flat.uses[k], *kept))))
    whole = given.once("whole", lambda: divided(flat))
    return Stretch(dependences(flat, first, end, whole, given.code.lanes), defs, uses, _live_at(given, block, 2 * end))


def _live_at(given: Analysed, block: int, point: int) -> frozenset[int]:
    """Return the values live just before a point of the block, behind the item in front of it."""
    flat, live = given.flat, given.live
    there = set(live.live_out[block])
    for k in range(point // 2, flat.starts[block + 1]):
        there.update(flat.uses[k], live.kept.get(k, ()))
    return frozenset(v for v in there if _reaches(live.intervals[v], point))


def _reaches(pieces: list[Interval], point: int) -> bool:
    """Say whether an interval begins before the point and ends there or later."""
    at = bisect_left(pieces, (point,)) - 1
    return at >= 0 and pieces[at][1] >= point


def for_latency(given: Analysed, registers: int, clock: LatencyClock, *, spilled: bool = False) -> Analysed:
    """Return the code with a better order of every stretch in which results are waited for. In that order results
    arrive earlier, as far as `registers` allow. spilled: whether the code has its spill code."""
    keeps = touches_local if spilled else keeps_its_order
    flat = given.flat
    pressure = given.live.pressure(flat.points).tolist()
    found: dict[tuple[int, int], list[int]] = {}
    for b in flat.blocks():
        for first, end in stretches(flat, b):
            takes = [clock.takes(item) for item in flat.items[first:end]]
            if _need(pressure, (first, end), registers)[1] or max(takes) <= clock.every:
                continue
            if keeps(given, b, first, end):
                continue
            order = _soonest(stretch_of(given, b, first, end), takes, clock.every, registers)
            if order is not None:
                found[first, end] = order
    if not found:
        return given
    after = _reordered(given, found)
    now = after.live.pressure(flat.points).tolist()
    fits = {at: order for at, order in found.items() if not _need(now, at, registers)[1]}
    return after if len(fits) == len(found) else _reordered(given, fits)


def _soonest(stretch: Stretch, takes: Sequence[int], every: int, registers: int) -> list[int] | None:
    """Return the order that ends first among the fitting ones, if it ends before the present one."""
    least, found = ends_at(stretch, range(len(stretch)), takes, every), None
    for patient in (False, True):
        order = by_latency(stretch, takes, every, registers, patient=patient)
        end = ends_at(stretch, order, takes, every)
        if end < least and not measure(stretch, order, registers).missing:
            least, found = end, order
    return found

"""This module finds orders of a stretch of code that need fewer registers.

It needs a stretch's dependences and the values live behind it. It returns permutations of its items. Their quality
(`measure`) is the number of missing registers. No rule is best everywhere, since finding the minimum is NP-hard.
Therefore several cheap rules are tried, backwards and forwards, and the present order is one candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush

from binalloc.transform.order.dependences import Dag

Key = tuple[int, ...]  # the sort key of a rule; the smallest comes first


@dataclass
class Stretch:
    """A stretch is a run of code in the form that the rules use, with items numbered from 0."""

    dag: Dag
    defs: list[list[int]]  #: values by item, without repeats
    #: likewise; a value is in it, too, if the item reads and writes it, or writes it under a guard and keeps the old
    #: content
    uses: list[list[int]]
    behind: frozenset[int]  #: values live behind the stretch, or through it

    def __len__(self) -> int:
        return len(self.defs)

    @cached_property
    def orders(self) -> list[list[int]]:
        """List orders that may need fewer registers than the present one, whatever number there is."""
        return orders(self)

    def ahead(self) -> set[int]:
        """Return the values live in front of the stretch."""
        live = set(self.behind)
        for defs, uses in zip(reversed(self.defs), reversed(self.uses), strict=True):
            live.difference_update(defs)
            live.update(uses)
        return live


@dataclass(frozen=True, order=True)
class Measure:
    """A measure says how many registers an order needs; the smaller one is better."""

    missing: int  #: registers beyond the available ones, at the worst point
    sum: int  #: missing registers, summed over all points
    peak: int  #: most values live at once


def measure(stretch: Stretch, order: Sequence[int], registers: int) -> Measure:
    """Measure the stretch in this order."""
    live = set(stretch.behind)
    peak, total = len(live), 0
    for k in reversed(order):
        defs = stretch.defs[k]
        after = len(live) + sum(v not in live for v in defs)
        live.difference_update(defs)
        live.update(stretch.uses[k])
        most = max(after, len(live))
        peak = max(peak, most)
        total += max(0, after - registers) + max(0, len(live) - registers)
    return Measure(max(0, peak - registers), total, peak)


def orders(stretch: Stretch) -> list[list[int]]:
    """List orders that may need fewer registers than the present one."""
    return [*(_backwards(stretch, rule) for rule in (_latest, _newest, _fewest)), _forwards(stretch)]


def _latest(change: int, opened: int, k: int) -> Key:
    """Return a key that prefers an item freeing a register, as soon as it may come, and else keeps the present
    order."""
    return (0 if change < 0 else 1, -k)


def _newest(change: int, opened: int, k: int) -> Key:
    """Return a key that prefers the item freeing most registers. Among equals, it prefers the one computing the value
    opened last. So one expression follows the other."""
    return (change, -opened, -k)


def _fewest(change: int, opened: int, k: int) -> Key:
    """Return a key that prefers an item freeing a register, and else keeps expressions together."""
    return (0 if change < 0 else 1, -opened, change, -k)


Rule = Callable[[int, int, int], Key]  # (change, opened, item) -> its key, see `_backwards`


def _backwards(stretch: Stretch, rule: Rule) -> list[int]:
    """List the items from the last to the first, each time the best one by the rule among those with nothing left
    behind them. The rule's arguments are: change: registers needed before the item beyond those needed behind it.
    opened: when its result was first used."""
    live = dict.fromkeys(stretch.behind, 0)  # value -> number of the item that opened it

    def key(k: int) -> Key:
        defs, uses = stretch.defs[k], stretch.uses[k]
        change = sum(v not in live for v in uses) - sum(v in live and v not in uses for v in defs)
        opened = max((live.get(v, 0) for v in defs), default=0)
        return rule(change, opened, k)

    def take(k: int, number: int) -> list[int]:
        changed = [v for v in stretch.defs[k] if v in live and v not in stretch.uses[k]]
        for v in changed:
            del live[v]
        for v in stretch.uses[k]:
            if v not in live:
                live[v] = number
                changed.append(v)
        return changed

    order = _listed(stretch, stretch.dag.after, stretch.dag.before, key, take)
    order.reverse()
    return order


def _forwards(stretch: Stretch) -> list[int]:
    """List the items from the first to the last, each time the one that ends most values and begins fewest."""
    readers: dict[int, int] = {}
    for uses in stretch.uses:
        for v in uses:
            readers[v] = readers.get(v, 0) + 1
    began: dict[int, int] = {}

    def key(k: int) -> Key:
        ends = sum(readers[v] == 1 and v not in stretch.behind for v in stretch.uses[k])
        begins = sum(v not in stretch.uses[k] for v in stretch.defs[k])
        newest = max((began.get(v, 0) for v in stretch.uses[k]), default=0)
        return begins - ends, -newest, k

    def take(k: int, number: int) -> list[int]:
        for v in stretch.defs[k]:
            began[v] = number
        changed = []
        for v in stretch.uses[k]:
            readers[v] -= 1
            if readers[v] == 1:
                changed.append(v)
        return changed

    return _listed(stretch, stretch.dag.before, stretch.dag.after, key, take)


def _listed(
    stretch: Stretch,
    waits: Sequence[Sequence[int]],
    frees: Sequence[Sequence[int]],
    key: Callable[[int], Key],
    take: Callable[[int, int], list[int]],
) -> list[int]:
    """Do list scheduling: each time, take the item with the smallest key among those that wait for none. waits, frees:
    by item, the items it waits for and the items waiting for it. take: called with an item and its number in the order,
    from 1; it returns the values that change the keys of the items touching them."""
    count = len(stretch)
    left = [len(found) for found in waits]
    touching = _touching(stretch)
    heap: list[tuple[Key, int]] = []
    stamp: list[Key | None] = [None] * count

    def push(k: int) -> None:
        now = key(k)
        if stamp[k] != now:
            stamp[k] = now
            heappush(heap, (now, k))

    for k in range(count):
        if not left[k]:
            push(k)
    order: list[int] = []
    done = [False] * count
    while heap:
        now, k = heappop(heap)
        if done[k] or stamp[k] != now:
            continue
        done[k] = True
        order.append(k)
        changed = take(k, len(order))
        for other in frees[k]:
            left[other] -= 1
            if not left[other]:
                push(other)
        for v in changed:
            for other in touching[v]:
                if not left[other] and not done[other]:
                    push(other)
    return order


def _touching(stretch: Stretch) -> dict[int, list[int]]:
    """Return, by value, the items that read or write it."""
    found: dict[int, list[int]] = {}
    for k in range(len(stretch)):
        for v in dict.fromkeys((*stretch.defs[k], *stretch.uses[k])):
            found.setdefault(v, []).append(k)
    return found

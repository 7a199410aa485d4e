"""Orders of a stretch of code that need fewer registers.

Needs a stretch's dependences and what is live behind it. Answers permutations of its items; how good one is
(`measure`) is counted in registers that are missing. No rule is best everywhere (finding the least is NP-hard), so
several cheap ones are tried, backwards and forwards, and the order as it stands is one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush

from binalloc.transform.order.dependences import Dag

Key = tuple[int, ...]


@dataclass
class Stretch:
    """A stretch of code as the rules see it; items are numbered from 0.

    defs, uses: values by item, without repeats; a value that an item reads and writes, or writes under a guard beside
    what was there, is in `uses`, too. behind: values live behind the stretch, or through it.
    """

    dag: Dag
    defs: list[list[int]]
    uses: list[list[int]]
    behind: frozenset[int]

    def __len__(self) -> int:
        return len(self.defs)

    @cached_property
    def orders(self) -> list[list[int]]:
        """Orders that may need fewer registers than the present one, whatever there are."""
        return orders(self)

    def ahead(self) -> set[int]:
        """Values live in front of the stretch."""
        live = set(self.behind)
        for defs, uses in zip(reversed(self.defs), reversed(self.uses), strict=True):
            live.difference_update(defs)
            live.update(uses)
        return live


@dataclass(frozen=True, order=True)
class Measure:
    """missing: registers beyond those there are, at the worst point. sum: over all points. peak: most live at once."""

    missing: int
    sum: int
    peak: int


def measure(stretch: Stretch, order: Sequence[int], registers: int) -> Measure:
    """What the stretch needs in this order."""
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
    """Orders that may need fewer registers than the present one."""
    return [*(_backwards(stretch, rule) for rule in (_latest, _newest, _fewest)), _forwards(stretch)]


def _latest(change: int, opened: int, k: int) -> Key:
    """What frees a register as soon as it may; the rest as it stands."""
    return (0 if change < 0 else 1, -k)


def _newest(change: int, opened: int, k: int) -> Key:
    """What frees most; among equals what makes the value opened last: one expression after the other."""
    return (change, -opened, -k)


def _fewest(change: int, opened: int, k: int) -> Key:
    """Expressions whole, unless something frees a register."""
    return (0 if change < 0 else 1, -opened, change, -k)


Rule = Callable[[int, int, int], Key]


def _backwards(stretch: Stretch, rule: Rule) -> list[int]:
    """From the last item to the first, each time the best of those that nothing is left behind. Among the rule's terms:
    change: registers needed more before the item than behind it. opened: when its result was first asked for."""
    live = dict.fromkeys(stretch.behind, 0)  # value -> when it came

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
    """From the first item to the last, each time what ends most values and begins fewest."""
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
    """List scheduling: each time the item of the least key among those that wait for none. waits, frees: by item, those
    that it waits for, and that wait for it. take: told of an item and which it is in the order, from 1; gives the
    values that change the keys of what touches them."""
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
    """Items by the values that they read or write."""
    found: dict[int, list[int]] = {}
    for k in range(len(stretch)):
        for v in dict.fromkeys((*stretch.defs[k], *stretch.uses[k])):
            found.setdefault(v, []).append(k)
    return found

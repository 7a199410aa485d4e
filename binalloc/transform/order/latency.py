"""This module finds orders of a stretch of code in which results arrive before they are needed.

It needs a stretch's dependences and the latency of each item's result. The desired time of an item is its present
place, or earlier by the latency if its reader would have to wait. Loads move up by their latency and no further, since
other warps issue in between (`every`). The scheduler goes forwards: among the items with operands available, it takes
the one with the earliest desired time. If there are none, it takes the item whose operands arrive first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

from binalloc.transform.order.pressure import Stretch


def by_latency(stretch: Stretch, takes: Sequence[int], every: int, registers: int, *, patient: bool) -> list[int]:
    """Return an order with fewer waits. takes: cycles from issue to result, by item. every: cycles between two issues
    of one warp. registers: while that many values are live, an item that adds to them has to wait. It waits if anything
    else is ready or, if `patient`, until something else is."""
    return _Issuing(stretch, takes, every, registers, patient).run()


def ends_at(stretch: Stretch, order: Iterable[int], takes: Sequence[int], every: int) -> int:
    """Return the cycle at which a warp has issued all items in that order, each as soon as its operands have
    arrived."""
    dag = stretch.dag
    comes = [0] * len(stretch)
    now = 0
    for k in order:
        now = max(now, comes[k])
        for s in dag.after[k]:
            if k in dag.feeds[s]:
                comes[s] = max(comes[s], now + takes[k])
        now += every
    return now


class _Issuing:
    """The scheduler goes forwards through the stretch. live: values in registers. there: items whose operands have
    arrived, by (desired time, item). later: items that wait, by (arrival of the operands, desired time, item)."""

    def __init__(self, stretch: Stretch, takes: Sequence[int], every: int, registers: int, patient: bool) -> None:
        self.stretch, self.takes, self.every = stretch, takes, every
        self.registers, self.patient = registers, patient
        self.wanted = _wanted(stretch, takes, every)
        self.readers: dict[int, int] = {}
        for uses in stretch.uses:
            for v in uses:
                self.readers[v] = self.readers.get(v, 0) + 1
        self.live = stretch.ahead()
        self.left = [len(found) for found in stretch.dag.before]
        self.comes = [0] * len(stretch)
        self.there = [(self.wanted[k], k) for k in range(len(stretch)) if not self.left[k]]
        self.later: list[tuple[int, int, int]] = []
        heapify(self.there)

    def run(self) -> list[int]:
        order: list[int] = []
        now = 0
        while self.there or self.later:
            k = -1
            while k < 0:
                while self.later and (self.later[0][0] <= now or not self.there):
                    now = self._arrive(now)
                k = self._next()
                if k < 0:
                    now = self._arrive(now)
            order.append(k)
            self._issue(k, now)
            now += self.every
        return order

    def _arrive(self, now: int) -> int:
        """Let the operands of another item arrive, and return when they do."""
        comes, wanted, k = heappop(self.later)
        heappush(self.there, (wanted, k))
        return max(now, comes)

    def _next(self) -> int:
        """Return the item with the earliest desired time for which there are registers. If there is none: return -1 to
        wait, or the earliest of all."""
        kept: list[tuple[int, int]] = []
        found = -1
        while self.there and found < 0:
            entry = heappop(self.there)
            if self._has_room(entry[1]):
                found = entry[1]
            else:
                kept.append(entry)
        if found < 0 and not (self.patient and self.later):
            found = kept.pop(0)[1]
        for entry in kept:
            heappush(self.there, entry)
        return found

    def _has_room(self, k: int) -> bool:
        if len(self.live) < self.registers:
            return True
        stretch, readers = self.stretch, self.readers
        ends = sum(readers[v] == 1 and v not in stretch.behind for v in stretch.uses[k])
        return ends >= sum(v not in self.live for v in stretch.defs[k])

    def _issue(self, k: int, now: int) -> None:
        stretch, dag = self.stretch, self.stretch.dag
        for v in stretch.uses[k]:
            self.readers[v] -= 1
            if not self.readers[v] and v not in stretch.behind:
                self.live.discard(v)
        self.live.update(v for v in stretch.defs[k] if self.readers.get(v) or v in stretch.behind)
        for s in dag.after[k]:
            if k in dag.feeds[s]:
                self.comes[s] = max(self.comes[s], now + self.takes[k])
            self.left[s] -= 1
            if not self.left[s]:
                heappush(self.later, (self.comes[s], self.wanted[s], s))


def _wanted(stretch: Stretch, takes: Sequence[int], every: int) -> list[int]:
    """Return the desired time of each item, with cycle 0 for the first place."""
    wanted = [every * k for k in range(len(stretch))]
    dag = stretch.dag
    for k in reversed(range(len(stretch))):
        for p in dag.before[k]:
            ahead = max(takes[p], every) if p in dag.feeds[k] else 1
            wanted[p] = min(wanted[p], wanted[k] - ahead)
    return wanted

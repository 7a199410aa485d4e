"""The lanes that execute a store together are followed here, where the order of a warp's accesses counts.

Under the model `loom` a load sees the earlier stores of all lanes of its warp (ISA.md, "Memory model"). A store that
waits changes nothing for them, if the same lanes do it together later, and no other lane of the warp has run meanwhile.
That is so if two things hold. Lanes that part while it waits have met again. None meet that had parted before.

At a branch lanes may part until they come to its reconvergence point. Points that may be ahead so are *open*. Lanes
meet at a point only when they have come to all points that were opened above it, as on the reconvergence stack.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

Point = tuple[int, int]
"""A new and an old word at which lanes meet."""
Points = frozenset[Point]
_NONE: Points = frozenset()
K = TypeVar("K", Point, int)


@dataclass(frozen=True)
class Groups:
    """Groups are what may hold of lanes at a place of both kernels."""

    open: Mapping[Point, Points] = field(default_factory=dict)  #: by open point the ones that may be open beneath it
    half: Points = _NONE  #: points that one kernel has come to alone
    before: Mapping[int, Points] = field(default_factory=dict)  #: by store that waits the points that were open then
    since: Mapping[int, Points] = field(default_factory=dict)  #: by store that waits the open points since then

    def parted(self, point: Point) -> Groups:
        """Return what holds behind a branch with a reconvergence point."""
        beneath = self.open.get(point, _NONE) | self.open.keys() - {point}
        since = {store: points | {point} for store, points in self.since.items()}
        return Groups({**self.open, point: beneath}, self.half, self.before, since)

    def wait(self, store: int) -> Groups | None:
        """Return what holds behind a store that waits; None if other lanes may do it in the new kernel."""
        if self.half:
            return None
        now = frozenset(self.open)
        return Groups(self.open, self.half, {**self.before, store: now}, {**self.since, store: _NONE})

    def do(self, store: int) -> Groups | None:
        """Return what holds behind a late store; None if other lanes may have done it in the original."""
        if self.half or self.since[store]:
            return None
        before, since = dict(self.before), dict(self.since)
        del before[store], since[store]
        return Groups(self.open, self.half, before, since)

    def come(self, new: int, old: int) -> Groups | None:
        """Return what holds where both kernels come to a word; None if a store waits, and lanes may meet there that had
        parted before it."""
        there = [point for point in self.open if point[0] == new or point[1] == old]
        if not there:
            return self
        if any(point in points for points in self.before.values() for point in there):
            return None
        half, met = self.half, set[Point]()
        for point in there:
            if point != (new, old):
                half |= {point}
                continue
            half -= {point}
            if not any(point in beneath for beneath in self.open.values()):
                met.add(point)
        since = {store: points - met for store, points in self.since.items()}
        left = {point: beneath - met for point, beneath in self.open.items() if point not in met}
        return Groups(left, half, self.before, since)


def joined(ways: Iterable[Groups]) -> Groups:
    """Return what may hold where ways meet."""
    groups = list(ways)
    return Groups(
        _union(one.open for one in groups), frozenset().union(*(one.half for one in groups)),
        _union(one.before for one in groups), _union(one.since for one in groups),
    )  # fmt: skip


def _union(maps: Iterable[Mapping[K, Points]]) -> dict[K, Points]:
    found: dict[K, Points] = {}
    for each in maps:
        for key, points in each.items():
            found[key] = found.get(key, _NONE) | points
    return found

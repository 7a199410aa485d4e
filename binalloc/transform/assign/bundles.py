"""This module makes bundles of values that want registers together: values of one group, and values connected by
copies. A group is the values of one operand, which need consecutive registers of some alignment.

It needs flat code and the points at which each value is live. It leaves bundles: a value is in exactly one, at an
offset from the bundle's base. Values at one offset are never live together, so they may share the register. Values that
cannot be together stay apart (one value at two places of operands, or two at one offset that are live together). The
scan then moves values where an operand needs them in consecutive registers.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.models.allocation.terms import Interval
from binalloc.transform.assign.intervals import meet, union
from binalloc.transform.virtual.code import COPY
from binalloc.transform.virtual.flat import Flat


@dataclass(slots=True)
class Bundle:
    """A bundle is a set of values whose registers have fixed distances."""

    align: int  #: the base is a multiple of it
    members: list[tuple[int, int]]  #: (value, offset)
    points: list[list[Interval]]  #: by offset, the points of its members


@dataclass
class Bundles:
    """The bundles of a function contain each of its values once."""

    all: list[Bundle]  #: emptied ones stay in place
    of: list[int]  #: by value, its bundle
    offset: list[int]  #: by value

    def join(self, a: int, b: int, apart: int, *, longer: bool = False) -> bool:
        """Join the bundles of values a and b, with b's register `apart` behind a's. Say whether that is possible.
        longer: the bundle may have more registers than the longer one of the two, and than its alignment."""
        first, second = self.of[a], self.of[b]
        shift = self.offset[a] + apart - self.offset[b]  # distance of second's base behind first's
        if first == second:
            return shift == 0
        one, other = self.all[first], self.all[second]
        if (len(one.points), one.align) < (len(other.points), other.align):
            first, second, one, other, shift = second, first, other, one, -shift
        width = max(one.align, other.align)
        if (shift < 0 or shift + len(other.points) > max(width, len(one.points))) and not longer:
            return False
        by = -(shift // width) * width if shift < 0 else 0
        if (shift + by) % other.align:
            return False
        places = range(shift, shift + len(other.points))
        if any(0 <= p < len(one.points) and meet(one.points[p], other.points[p - shift]) for p in places):
            return False
        if by:
            self._shift(first, by)
            shift += by
            places = range(shift, shift + len(other.points))
        while len(one.points) < shift + len(other.points):
            one.points.append([])
        for p in places:
            one.points[p] = union(one.points[p], other.points[p - shift])
        for v, offset in other.members:
            one.members.append((v, offset + shift))
            self.of[v], self.offset[v] = first, offset + shift
        one.align = width
        other.members, other.points = [], []
        return True

    def align(self, v: int, alignment: int) -> bool:
        """Demand that the register of v is a multiple of `alignment`. Say whether that is possible."""
        bundle = self.all[self.of[v]]
        by = -self.offset[v] % alignment
        if by % bundle.align:
            return False
        if by:
            self._shift(self.of[v], by)
        bundle.align = max(bundle.align, alignment)
        return True

    def _shift(self, b: int, by: int) -> None:
        """Move the base of a bundle by `by` registers to the front. Its alignment allows that."""
        bundle = self.all[b]
        bundle.members = [(v, offset + by) for v, offset in bundle.members]
        bundle.points = [*([] for _ in range(by)), *bundle.points]
        for v, offset in bundle.members:
            self.offset[v] = offset


def find_bundles(flat: Flat, points: list[list[Interval]]) -> Bundles:
    """Return the bundles of the code. points: by value."""
    count = len(points)
    bundles = Bundles([Bundle(1, [(v, 0)], [points[v]]) for v in range(count)], list(range(count)), [0] * count)
    copies: list[tuple[float, int, int, int]] = []
    for k, item in enumerate(flat.items):
        for operand in (*item.defs, *item.uses):
            if len(operand.values) > 1 or operand.alignment > 1:
                _widen(bundles, operand.values, operand.alignment)
        if item.kind == COPY:
            copies.append((-item.weight, k, item.defs[0].values[0], item.uses[0].values[0]))
    for _, _, target, source in sorted(copies):
        bundles.join(target, source, 0)
    return bundles


def _widen(bundles: Bundles, values: tuple[int, ...], alignment: int) -> None:
    """Bring the values of one operand into consecutive registers, as far as possible."""
    if bundles.align(values[0], alignment):
        for k in range(1, len(values)):
            bundles.join(values[0], values[k], k, longer=True)

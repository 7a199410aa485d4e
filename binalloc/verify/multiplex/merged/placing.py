"""This module finds out where each virtual block has the bytes of the original's shared memory.

Needs courses with the addresses of their accesses, and those that the original's may have; leaves an `AddressMap` for
each virtual block, and findings. Nobody has to say which bytes have a copy for each virtual block, and where: accesses
show it. All of one virtual block that touch one byte of the original must go to one place. And at one place there must
be the same byte of the original in all virtual blocks. So no copy overlaps another one, or what is used in turns.

The original's accesses stop it with a fault where they are not aligned, or not in its shared memory. So it does not
matter where these would go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from binalloc.verify.multiplex.addressing.expressions import Choice, Place, cases, number, plus
from binalloc.verify.multiplex.division import WORDS
from binalloc.verify.multiplex.memory import Range
from binalloc.verify.multiplex.merged.pairing import Course, MergedPairing
from binalloc.verify.multiplex.spread import Mask, Numbers


@dataclass(frozen=True, eq=False)
class AddressMap:
    """The address map of one virtual block. at: by byte of the original, its byte in the merged block; -1 where the
    virtual block accesses none. room: bytes of the merged block."""

    at: Numbers
    room: int

    def moved(self, touched: Mask) -> Mask:
        """Return the bytes of the merged block that stand for bytes of the original."""
        found: Mask = np.zeros(self.room, np.bool_)
        places = self.at[touched]
        found[places[places >= 0]] = True
        return found

    def back(self, touched: Mask) -> Mask:
        """Return the bytes of the original for which bytes of the merged block stand."""
        found: Mask = self.at >= 0
        found[found] = touched[self.at[found]]
        return found


class Placing:
    """A placing has the addresses of the original's accesses. reach: by new word, the addresses that the walk has seen.
    span: bytes of shared memory that are followed."""

    def __init__(self, pairing: MergedPairing, reach: Mapping[int, list[Range]], span: int) -> None:
        self.pairing, self.span = pairing, span
        self.limit, self.room = (side.fn.info.shared_bytes for side in (pairing.old, pairing.new))
        self.reach = {n: self._aligned(ranges, self._size(n)) for n, ranges in reach.items()}
        self.accessed = {n: self._bytes(ranges, self._size(n)) for n, ranges in self.reach.items()}

    def _size(self, n: int) -> int:
        memory = self.pairing.old.views[self.pairing.label[n]].memory
        assert memory is not None
        return memory.size

    def _aligned(self, ranges: list[Range], size: int) -> list[Range]:
        """Return the addresses in ranges at which an access of so many bytes does not fault: first and last ones."""
        last = (self.limit - size) // size * size
        found = [(-(-low // size) * size, min(high // size * size, last)) for low, high in ranges]
        return [(low, high) for low, high in found if low <= high]

    def _bytes(self, ranges: list[Range], size: int) -> Mask:
        """Return the bytes that accesses touch. ranges: of their addresses."""
        bounds = np.zeros(self.span + 1, np.int64)
        for low, high in ranges:
            bounds[low] += 1
            bounds[high + size] -= 1
        found: Mask = np.cumsum(bounds[:-1]) > 0
        return found

    # -- maps

    def maps(self) -> list[AddressMap]:
        """Return the address map of each virtual block."""
        found = [self._map(course) for course in self.pairing.courses]
        stands_for: Numbers = np.full(self.room, -1, np.int64)
        for course, each in zip(self.pairing.courses, found, strict=True):
            touched = np.flatnonzero(each.at >= 0)
            places = each.at[touched]
            before = stands_for[places]
            wrong = (before >= 0) & (before != touched)
            stands_for[places] = touched
            wrong |= stands_for[places] != touched  # two bytes of this virtual block
            if wrong.any():
                at = f"byte {int(places[wrong][0]):#x} of virtual block {course.virtual} and another"
                self.pairing.fail("address", "two bytes of the original lie at one place", 0, found=at)
        return found

    def _map(self, course: Course) -> AddressMap:
        at: Numbers = np.full(self.span, -1, np.int64)
        done = set()
        for (n, _), address in course.addresses.items():
            if n in self.reach and (n, address) not in done:
                done.add((n, address))
                self._place(at, course.virtual, n, address)
        return AddressMap(at, self.room)

    def _place(self, at: Numbers, virtual: int, n: int, address: object) -> None:
        """Note where an access of a virtual block goes."""
        m = self.pairing.label[n]
        memory, was = self.pairing.new.views[n].memory, self.pairing.old.views[m].memory
        assert memory is not None
        assert was is not None
        whole = plus(address, number(memory.offset)) if isinstance(address, Place | Choice) else None
        if whole is None:
            self.pairing.fail("address", "the address is not known", n, m, found=f"virtual block {virtual}")
            return
        register = None if was.base is None else was.base.index
        for test, leaf, ranges in cases(whole, self.reach[n], register, was.offset):
            fault = self._fault(at, n, leaf, ranges, (leaf.number - was.offset) % WORDS, register)
            if test or fault:
                message = f"chosen by another register: {test}" if test else fault
                self.pairing.fail("address", message, n, m, found=f"virtual block {virtual}")
                return

    def _fault(
        self, at: Numbers, n: int, leaf: Place, ranges: list[Range], distance: int, register: int | None
    ) -> str:
        """Note that addresses of the original lie so much further, and return what is wrong with that."""
        size = self._size(n)
        distance = (distance + WORDS // 2) % WORDS - WORDS // 2
        mine = self.reach[n]
        if ranges is not mine:
            ranges = self._aligned(ranges, size)
        if not ranges:
            return ""
        if leaf.based or leaf.register != register:
            return "the address is not the original's, and a number more"
        if distance % size:
            return f"an access of {size} bytes would not be aligned, {distance:+#x} bytes further"
        low, high = min(first for first, _ in ranges) + distance, max(last for _, last in ranges) + distance + size
        if low < 0 or high > self.room:
            return f"goes to bytes {low:#x} to {high:#x}, and there are {self.room:#x}"
        touched = np.flatnonzero(self.accessed[n] if ranges is mine else self._bytes(ranges, size))
        before = at[touched]
        wrong = (before >= 0) & (before != touched + distance)
        at[touched] = touched + distance
        if wrong.any():
            return f"byte {int(touched[wrong][0]):#x} of the original lies elsewhere for another access"
        return ""

"""It is proven here where each byte of shared memory goes, and that no two bytes in one place are in use at once.

Needs flat code, the addresses that accesses may have, and the block's intervals. Leaves findings, and the new place of
each byte. Bytes with one distance never come together. So for each distance there is one set of bytes, and
only bytes of different sets can have one image.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from binalloc.isa.instruction import Function
from binalloc.isa.kinds import Access
from binalloc.verify.multiplex.memory import Range
from binalloc.verify.multiplex.spread import Numbers
from binalloc.verify.sharing.addresses import Reach
from binalloc.verify.sharing.flat import Flat
from binalloc.verify.sharing.moves import NOBODY, Bytes, Moves
from binalloc.verify.sharing.overlay.course import Interval


class Images(Moves):
    """The images of a kernel's bytes are where its accesses find them. Sets of bytes are masks."""

    lie_apart = False
    leaves = "may leave the new block's shared memory", "addresses below"

    def __init__(
        self, flat: Flat, reach: Reach, kernel: Function, size: int, dynamic: int, *, by_symbols: bool
    ) -> None:  # fmt: skip
        """kernel: the original's. size: static bytes of the new one. by_symbols: as in `Moves`."""
        super().__init__(flat, reach, kernel, dynamic, by_symbols=by_symbols)
        self.room = size + dynamic
        self.touched = {access.node: _mask(access) for access in self.accesses}
        self.distance = {access.node: access.distance for access in self.accesses}
        self.moved: dict[int, int] = {}  #: by distance the bytes that move by it
        for n, mask in self.touched.items():
            self.moved[self.distance[n]] = self.moved.get(self.distance[n], 0) | mask

    @property
    def within(self) -> dict[int, Range]:
        """Return by node the first and last byte that an access may touch, where only C's rule says so."""
        return {a.node: (a.ranges[0][0], a.ranges[-1][1]) for a in self.accesses if a.by_symbol}

    def _writes(self, n: int) -> bool:
        memory = self.flat.nodes[n].view.memory
        return memory is not None and memory.access != Access.LOAD

    def apart(self, intervals: Iterable[Interval]) -> None:
        """Check that in no interval a byte is written while another one in its place is accessed."""
        for interval in intervals:
            nodes = sorted(n for n in interval.nodes if n in self.touched)
            written = self._new_places(n for n in nodes if self._writes(n))
            for n in nodes:
                image = moved(self.touched[n], self.distance[n])
                for d, mask in sorted(written.items()):
                    if d != self.distance[n] and mask & image:
                        self._beside(n, d, mask & image, nodes)
                        return

    def _beside(self, n: int, d: int, both: int, nodes: list[int]) -> None:
        node = self.flat.nodes[n]
        other = next(m for m in nodes if self.distance[m] == d and self._writes(m)
                     and moved(self.touched[m], d) & both)  # fmt: skip
        byte = (both & -both).bit_length() - 1
        self._fail("overlap", "reaches a byte in which another may be written before the next barrier", node,
                   f"byte {byte:#x} for {self.flat.nodes[other]} alone")  # fmt: skip

    def _new_places(self, nodes: Iterable[int]) -> dict[int, int]:
        """Return by distance the new places of the bytes that some nodes may access."""
        found: dict[int, int] = {}
        for n in nodes:
            found[self.distance[n]] = found.get(self.distance[n], 0) | moved(self.touched[n], self.distance[n])
        return found

    def image(self) -> Numbers:
        """Return by byte of the original's memory its new place, `NOBODY` where no access goes."""
        distances = np.array([access.distance for access in self.accesses] + [0], np.int64)
        used = self.owner != NOBODY
        return np.where(used, np.arange(len(self.owner)) + distances[self.owner], NOBODY)


def moved(mask: int, distance: int) -> int:
    """Return a set of bytes with all of them moved."""
    return mask << distance if distance >= 0 else mask >> -distance


def _mask(access: Bytes) -> int:
    return sum((1 << high + 1) - (1 << low) for low, high in access.ranges)

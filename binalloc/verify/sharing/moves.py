"""It is proven here that no two bytes of shared memory come together, and that every access finds its bytes.

Needs flat code and the addresses that accesses may have; leaves `Moves`, with findings. The new access at each node has
the original's address plus a constant distance. Bytes that accesses with one distance may reach all move by it. So the
new memory has what the original's has if each byte has one distance, and no two bytes have one image.

Where bounds of addresses do not suffice, C's rule may be taken, too (`attributed.py`): then an access reaches no byte
but those of the variables that its address comes from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from binalloc.isa.instruction import Function, SharedVar
from binalloc.isa.interface.places import WORD
from binalloc.isa.kinds import Access, Space
from binalloc.verify.multiplex.memory import Range
from binalloc.verify.sharing.addresses import Reach
from binalloc.verify.sharing.attributed import Symbols, both, inside
from binalloc.verify.sharing.flat import Flat, Node

ADDRESSES = 1 << 8 * WORD
HALF = WORD // 2
NOBODY = -1


@dataclass(frozen=True)
class Bytes:
    """The bytes that an access may reach in the original, and how far they have moved. inside: it cannot leave the
    block's bytes."""

    node: int
    size: int
    distance: int
    ranges: list[Range]  #: first and last byte
    inside: bool
    by_symbol: bool = False  #: whether the bytes are known by C's rule alone

    @property
    def last(self) -> int:
        """Return the last byte that the new access may reach."""
        return self.ranges[-1][1] + self.distance if self.ranges else NOBODY


class Moves:
    """The moves of a kernel are its accesses with their distances."""

    lie_apart = True  #: whether no two variables may have one place
    leaves = "is moved out of the block's shared memory", "below"  #: message and expectation of such an access

    def __init__(
        self, flat: Flat, reach: Reach, kernel: Function, dynamic: int | None, *, by_symbols: bool = False
    ) -> None:
        """kernel: the original's. dynamic: bytes of dynamic shared memory; None where it may be any number. by_symbols:
        where bounds of addresses do not keep an access in the variables that its address comes from, C's rule does."""
        static = kernel.info.shared_bytes
        self.flat = flat
        self.sure = static + (dynamic or 0)  # bytes that the block surely has
        self.room = self.sure  # bytes of the new block
        self.end = ADDRESSES if dynamic is None else self.sure  # accesses to bytes from here on fault
        self.symbols, self.by_symbols = Symbols(kernel, self.end), by_symbols
        self.contradicted: list[int] = []  #: nodes whose addresses are never in the variables that they come from
        self.accesses = [bytes_ for n in sorted(reach.at) if (bytes_ := self._bytes(n, reach.at[n])) is not None]
        self.owner: npt.NDArray[np.int64] = np.full(self.sure, NOBODY)  # by byte, the access that says where it goes
        self.origin: npt.NDArray[np.int64] = np.full(self.sure, NOBODY)  # by byte of the new memory, whence it comes

    def _bytes(self, n: int, addresses: list[Range]) -> Bytes | None:
        """Return what the access at a node may reach, None where it is one to slots or surely faults."""
        node = self.flat.nodes[n]
        memory = node.pair.old.views[node.label].memory
        assert memory is not None
        if memory.spill:
            return None
        if memory.space == Space.GENERIC:
            return self._by_symbol(Bytes(n, memory.size, 0, [(0, self.end - 1)], False)) if self.end else None
        found: list[Range] = []
        # an atomic that adds -0 to its upper half does not need that half to be there
        least = HALF if memory.access == Access.ATOMIC else memory.size
        for low, high in addresses:  # others than multiples of the size fault
            first, last = -(-low // memory.size) * memory.size, high // memory.size * memory.size
            if first > last or first + least > self.end:
                continue
            behind = min(last + memory.size, self.end) - 1
            if found and first <= found[-1][1] + 1:
                found[-1] = found[-1][0], max(found[-1][1], behind)
            else:
                found.append((first, behind))
        stays = not addresses or addresses[-1][1] // memory.size * memory.size + memory.size <= self.sure
        if not found and stays:
            return None
        return self._by_symbol(Bytes(n, memory.size, node.pair.distance[node.n], found, stays))

    def _by_symbol(self, known: Bytes) -> Bytes:
        """Return what an access may reach if C's rule is taken, too."""
        node = self.flat.nodes[known.node]
        meant = self.symbols.bytes_of(node.pair.old.fn, node.label)
        if meant is None or (known.inside and inside(known.ranges, meant)):
            return known
        common = both(known.ranges, meant)
        if not common:
            self.contradicted.append(known.node)
        if not common or not self.by_symbols:
            return known
        return replace(known, ranges=common, inside=common[-1][1] < self.sure, by_symbol=True)

    def check(self) -> None:
        """Check all accesses."""
        for access in self.accesses:
            node, d = self.flat.nodes[access.node], access.distance
            if d % access.size:
                self._fail("alignment", "is moved by a distance that its size does not divide", node,
                           f"a multiple of {access.size}", str(d))  # fmt: skip
            if d and not access.inside:
                self._fail("bounds", "is moved, but may leave the block's shared memory", node,
                           f"addresses below {self.sure}", shown(access.ranges))  # fmt: skip
            elif (d or self.room < self.sure) and self._outside(access):
                message, expected = self.leaves
                self._fail("bounds", message, node, f"{expected} {self.room}",
                           shown([(low + d, high + d) for low, high in access.ranges]))  # fmt: skip
        if not self._found():
            self._distances()
        if self.lie_apart and not self._found():
            self._images()

    def _outside(self, access: Bytes) -> bool:
        """Return whether the new access may leave the new block's bytes."""
        return bool(access.ranges) and (access.ranges[0][0] + access.distance < 0 or access.last >= self.room)

    def _fail(self, kind: str, message: str, node: Node, expected: str = "", found: str = "") -> None:
        node.pair.fail(kind, message, node.n, node.label, expected, found)

    def _found(self) -> bool:
        return any(self.flat.nodes[access.node].pair.findings for access in self.accesses)

    def _distances(self) -> None:
        """Check that each byte has one distance."""
        distances = np.array([access.distance for access in self.accesses], np.int64)
        for k, access in enumerate(self.accesses):
            for low, high in access.ranges:
                part = self.owner[low : min(high + 1, self.sure)]
                others = (part != NOBODY) & (distances[part] != access.distance)
                if others.any():
                    at = int(np.flatnonzero(others)[0])
                    other = self.accesses[part[at]]
                    node = self.flat.nodes[access.node]
                    self._fail("distance", "may reach a byte that another access has elsewhere", node,
                               f"byte {low + at:#x} moved by {other.distance}, as at {self.flat.nodes[other.node]}",
                               str(access.distance))  # fmt: skip
                    break
                part[part == NOBODY] = k

    def _images(self) -> None:
        """Check that no two bytes have one image. All of them have one distance."""
        distances = np.array([access.distance for access in self.accesses], np.int64)
        for d in sorted({access.distance for access in self.accesses}):
            images = np.flatnonzero((self.owner != NOBODY) & (distances[self.owner] == d)) + d
            taken = self.origin[images] != NOBODY
            if taken.any():
                at = int(images[np.flatnonzero(taken)[0]])
                one, two = (self.accesses[self.owner[b]] for b in (at - d, self.origin[at]))
                self._fail("overlap", "reaches a byte that is another's, too", self.flat.nodes[one.node],
                           f"byte {at:#x} for {self.flat.nodes[two.node]} alone")  # fmt: skip
                return
            self.origin[images] = images - d

    # -- variables

    def misplaced(self, old: Sequence[SharedVar], new: Sequence[SharedVar]) -> list[str]:
        """Return what is wrong with a function's table of variables, after `check` has found nothing."""
        if [(v.name, v.size, v.align) for v in old] != [(v.name, v.size, v.align) for v in new]:
            return ["has other variables than the original"]
        distances = np.array([access.distance for access in self.accesses] + [0], np.int64)
        found = []
        for was, now in zip(old, new, strict=True):
            owners = self.owner[was.offset : was.offset + was.size]
            wanted = set(distances[owners[owners != NOBODY]].tolist())
            if wanted - {now.offset - was.offset}:
                found.append(f"has {was.name} moved by {now.offset - was.offset}, accesses by "
                             + " and ".join(map(str, sorted(wanted))))  # fmt: skip
            outside = not 0 <= now.offset <= self.room - now.size
            changed = now.offset != was.offset
            if (changed and now.offset % max(now.align, 1)) or (outside and (changed or self.room < self.sure)):
                found.append(f"has {was.name} at {now.offset}")
        places = sorted((v.offset, v.offset + v.size, v.name) for v in new)
        for (_, end, name), (first, _, other) in pairwise(places if new != old and self.lie_apart else ()):
            if first < end:
                found.append(f"has {name} and {other} in one place")
        return found


def shown(ranges: list[Range]) -> str:
    """Return the first few of some ranges in words."""
    first = [f"{low:#x} to {high:#x}" for low, high in ranges[:3]]
    return ", ".join(first) + (" and others" if len(ranges) > 3 else "")

"""Virtual blocks have copies of private bytes of shared memory (multiplex paper, section 4.3, Figure 6: CO-VTB).

Needs what is known of a kernel's shared memory, with the private bytes; leaves where the copies are, and the edit of
the kernel with the addresses of all accesses. The copies of a range of private bytes lie one behind another in its
place, and what follows moves up. So N virtual blocks take N times the private bytes, plus the public and common ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from binalloc.analysis.shared.memory import SharedMemory
from binalloc.isa.instruction import SharedVar
from binalloc.transform.multiplex.edit import Edit
from binalloc.transform.multiplex.moving import Moving, Stretch
from binalloc.transform.multiplex.parts import UNIT, divide


@dataclass(frozen=True)
class Copies:
    """The copies of a kernel's private bytes."""

    memory: SharedMemory  #: the original's
    ranges: list[tuple[int, int]]  #: of private bytes, ascending: the first one, and the one behind the last
    count: int  #: virtual blocks
    public: int = 0  #: bytes that they use in turns, from the first one to the last

    @property
    def size(self) -> int:
        """Return the bytes of shared memory of a merged block."""
        return merged_size(self.memory.reach.size, self.ranges, self.count)

    @property
    def private(self) -> int:
        """Return the bytes of which each virtual block has a copy."""
        return sum(end - first for first, end in self.ranges)

    def variables(self, those: list[SharedVar]) -> list[SharedVar]:
        """Return the variables where they are now; private ones in the first copy. What is cut is left out."""
        found = []
        for v in those:
            end = v.offset + v.size
            if all(end <= first or behind <= v.offset or (first <= v.offset and end <= behind)
                   for first, behind in self.ranges):  # fmt: skip
                up = sum((self.count - 1) * _copy(r) for r in self.ranges if r[1] <= v.offset)
                found.append(replace(v, offset=v.offset + up))
        return found

    def address(self, edit: Edit, number: int, free: int) -> int:
        """Give all accesses their addresses. number: register with a thread's virtual block. free: first register that
        nothing uses. Return the first one that nothing uses then."""
        build = self.memory.program.isa.build
        stretches, at, up = [], 0, 0
        for first, end in self.ranges:
            # how far the copy of a thread's virtual block lies behind the original's bytes
            edit.insert(0, None, [build.number(free, up), build.multiply_add(free, number, _copy((first, end)), free)])
            stretches += [Stretch(at, first, None, up), Stretch(first, end, free, 0)]
            at, up, free = end, up + (self.count - 1) * _copy((first, end)), free + 1
        stretches.append(Stretch(at, None, None, up))
        everything = self.memory.reach.everything
        moving = Moving(self.memory, edit, stretches, free, matters=everything, usual=stretches[-1])
        moving.run()
        return moving.next


def copies_of(memory: SharedMemory, count: int) -> Copies:
    """Return the copies of private bytes for `count` virtual blocks. Raises Refused as `divide`.

    There is a range in front of the public bytes, and one behind. Common bytes within a range are private: for these
    the shared memory is left without them among the common ones.
    """
    memory, _, parts = divide(memory)
    size = memory.reach.size
    first, high = (parts.first, parts.high) if parts is not None else (size, size)
    ranges = ranges_around(memory.private, first, high, size)
    within = 0
    for start, end in ranges:
        within |= (1 << end) - (1 << start)
    common = memory.common
    private = memory.private | common.bytes & within
    return Copies(replace(memory, common=common.only(~within), private=private), ranges, count, high - first)


def ranges_around(private: int, first: int, high: int, size: int) -> list[tuple[int, int]]:
    """Return the ranges of private bytes in front of the public bytes `first` to `high`, and behind them, of `size`
    bytes in all."""
    masks = [private & (1 << first) - 1, private & (1 << size) - (1 << high)]
    return [((mask & -mask).bit_length() - 1, mask.bit_length()) for mask in masks if mask]


def merged_size(size: int, ranges: Sequence[tuple[int, int]], count: int) -> int:
    """Return the bytes of shared memory of `count` virtual blocks with private copies of some ranges. size: bytes of
    one of them."""
    return size + sum((count - 1) * _copy(r) for r in ranges)


def _copy(of: tuple[int, int]) -> int:
    """Return how far copies of a range are apart: addresses keep their alignment."""
    first, end = of
    return -(-(end - first) // UNIT) * UNIT

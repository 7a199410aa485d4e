"""Accesses of the new kernel to local memory in place of shared memory are judged here, one by one.

Needs a pairing, the values in front of its words, and the addresses that the original's accesses may have. Leaves the
columns of the threads: which bytes of a row each has to itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from binalloc.isa.interface.view import Memory, View
from binalloc.isa.kinds import Access, Space
from binalloc.verify.multiplex.memory import Range
from binalloc.verify.multiplex.spread import RANGE, Numbers
from binalloc.verify.shorten.own_values import Applied, Register, Values


@dataclass(frozen=True)
class Part:
    """A part says which shared memory went to local memory: a hint that is not trusted.

    It has rows of `stride` bytes. In each a thread has a column of `width` bytes, which are side by side in local
    memory, row by row.
    """

    first: int  #: first byte of shared memory
    end: int  #: byte behind the last one
    stride: int
    width: int
    local: int  #: byte of local memory to which the first row goes

    @property
    def rows(self) -> int:
        return (self.end - self.first) // self.stride

    @property
    def bytes(self) -> int:
        """Return the bytes of local memory."""
        return self.rows * self.width

    def fault(self) -> str:
        """Return what is wrong with the numbers by themselves; "" if nothing is."""
        power = self.stride > 0 and self.stride & (self.stride - 1) == 0
        if not 0 <= self.first < self.end or not power or (self.end - self.first) % self.stride:
            return "a part is not made of whole rows"
        if not 0 < self.width <= self.stride or self.local < 0:
            return "a part has no such columns"
        return ""


class Columns:
    """The columns of one part. begins: by thread the first byte of its column in a row, once accesses are added."""

    def __init__(self, part: Part, values: Values) -> None:
        self.part, self.values = part, values
        self.begins: Numbers | None = None
        self._within: dict[int, Numbers] = {}  # by word, the first byte in a row

    def add(self, n: int, memory: Memory, reach: list[Range]) -> str:
        """Add an access of the original to the part, and return why it may not be in one column; "" if it is."""
        last = self.part.end - memory.size
        if any(low < self.part.first or high > last for low, high in reach):
            return "an access to local memory stands for one that may be beyond the part"
        base = None if memory.base is None else memory.base.index
        found = self.values.residues(n, base, memory.offset - self.part.first)
        if found is None:
            return "an access to local memory stands for one that may be in any column"
        within = found % self.part.stride
        self._within[n] = within
        self.begins = within if self.begins is None else np.minimum(self.begins, within)
        return ""

    @property
    def words(self) -> list[int]:
        """Return the accesses that were added."""
        return sorted(self._within)

    def fault(self) -> str:
        """Return whether columns overlap; "" if they do not."""
        if self.begins is None:
            return "nothing goes to a part of local memory"
        order = np.sort(self.begins)
        apart = bool((np.diff(order) >= self.part.width).all())
        return "" if apart and order[-1] + self.part.width <= self.part.stride else "columns of threads overlap"

    def judge(self, n: int, old: View, new: View) -> str:
        """Return why an access does not go to the byte of local memory that stands for its byte; "" if it does."""
        was, memory = old.memory, new.memory
        assert was is not None
        assert memory is not None
        assert self.begins is not None
        part, threads = self.part, len(self.begins)
        at = self._within[n] - self.begins
        if (at + was.size > part.width).any():
            return "an access goes beyond the column of its thread"
        base = None if was.base is None else was.base.index
        exact = self.values.exact(n, base, was.offset)
        if exact is not None:
            thread, address = np.arange(threads), exact
        else:
            thread = np.repeat(np.arange(threads), part.rows)
            row = np.tile(np.arange(part.rows, dtype=np.int64), threads)
            address = part.first + part.stride * row + self._within[n][thread]
        aligned = address % was.size == 0  # others stop the original
        thread, address = thread[aligned], address[aligned]
        wanted = part.local + (address - part.first) // part.stride * part.width + at[thread]
        found = self._local(n, base, was.offset, memory, address, thread)
        if found is None:
            return "the address in local memory is not known"
        if not np.array_equal(found, wanted) or (found % was.size).any():
            return "goes to another byte of local memory"
        return ""

    def _local(
        self, n: int, base: int | None, offset: int, memory: Memory, address: Numbers, thread: Numbers
    ) -> Numbers | None:
        """Return where an access goes in local memory for some addresses of the original's, each in a thread."""
        if memory.base is None:
            return np.full(len(address), memory.offset % RANGE, np.int64)
        expression = self.values.before[n].expressions.get(memory.base.index)
        if isinstance(expression, Applied | Register) and base is not None:
            found = self.values.evaluated(expression, base, (address - offset) % RANGE, thread)
            if found is not None:
                return (found + memory.offset) % RANGE
        exact = self.values.exact(n, memory.base.index, memory.offset)
        return None if exact is None else exact[thread]

    def place(self, n: int, memory: Memory) -> tuple[int, int] | None:
        """Return the row and the byte in the column to which a copy in shared memory goes in each thread; None if that
        is not the same in all, or there is none."""
        base = None if memory.base is None else memory.base.index
        exact = self.values.exact(n, base, memory.offset)
        if exact is None or self.begins is None:
            return None
        row, at = np.divmod(exact - self.part.first, self.part.stride)
        column = at - self.begins
        if np.ptp(row) or np.ptp(column) or (exact % memory.size).any():
            return None
        fits = 0 <= row[0] < self.part.rows and column[0] >= 0 and column[0] + memory.size <= self.part.width
        return (int(row[0]), int(column[0])) if fits else None


def plain_access(view: View, space: Space) -> bool:
    """Return whether a word is a load or store of each thread by itself."""
    memory = view.memory
    return (
        memory is not None and memory.space == space and memory.access in (Access.LOAD, Access.STORE)
        and not (memory.spill or memory.ordered or memory.givers)
    )  # fmt: skip

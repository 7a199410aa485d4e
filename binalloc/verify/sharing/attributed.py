"""The variables that accesses of the original touch by C's rule are read here: what the original's producer says.

Needs the original's kernel. Leaves, by word, the bytes of the variables from whose symbols its address was computed.
Nothing proves it: a proof that takes it rests on C's rule, that such an address stays in its variables, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from binalloc.isa.instruction import DYNAMIC, Function
from binalloc.verify.multiplex.memory import Range


class Symbols:
    """The symbols of a kernel's accesses, with the bytes that they stand for."""

    def __init__(self, kernel: Function, end: int) -> None:
        """end: the first byte behind the block's shared memory, at most."""
        self.kernel, self.end = kernel, end

    def bytes_of(self, fn: Function, word: int) -> list[Range] | None:
        """Return the bytes of the variables that an access touches, in ascending order; None where it is not said."""
        names = fn.touches.get(word)
        if not names:
            return None
        found = []
        for name in names:
            span = self._span(fn, name)
            if span is None:
                return None
            if span[0] <= span[1]:
                found.append(span)
        return sorted(found)

    def _span(self, fn: Function, name: str) -> Range | None:
        """Return the bytes of what a function means by a name: its own variable, else the kernel's."""
        if name == DYNAMIC:
            return self.kernel.info.shared_bytes, self.end - 1
        for variable in (*fn.shared, *self.kernel.shared):
            if variable.name == name:
                return variable.offset, variable.offset + variable.size - 1
        return None


def inside(some: Sequence[Range], others: Sequence[Range]) -> bool:
    """Return whether all bytes of some ranges are among others."""
    return both(some, others) == _joined(some)


def both(some: Sequence[Range], others: Sequence[Range]) -> list[Range]:
    """Return the bytes that are in both, in ascending order."""
    found = [(max(a, c), min(b, d)) for a, b in some for c, d in others]
    return _joined([(low, high) for low, high in found if low <= high])


def _joined(ranges: Sequence[Range]) -> list[Range]:
    """Return ranges with those together that touch, in ascending order."""
    found: list[Range] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    return found

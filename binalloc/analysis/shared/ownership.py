"""This module finds words of shared memory that belong to one thread alone for a while.

Needs a `SharedMemory` of a block whose size is known; leaves it untouched. A variable is divided into *rows* of
`stride` bytes. In each row a thread owns `width` bytes, from `begins` of the thread on: a column. In a *phase* of the
kernel the variable is owned if each access to it is to the own column of the thread, whichever the row. No two columns
overlap, so no two threads meet. Strides are powers of two: then it is no matter whether an address wraps around.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from math import gcd

import numpy as np
from numpy.typing import NDArray

from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.shared.phases import Phases, phases
from binalloc.analysis.shared.reach import Reached
from binalloc.analysis.shared.variables import bytes_of
from binalloc.isa.instruction import SharedVar
from binalloc.isa.kinds import Access, Space

Numbers = NDArray[np.int64]
_MOST_ROWS = 256
"""Most rows of a variable. Its words are copied one by one, in so many instructions; chosen by hand."""


@dataclass(frozen=True, eq=False)
class Owned:
    """An owned variable has columns, of which each thread has one to itself in some phases."""

    variable: SharedVar
    stride: int  #: bytes of a row
    width: int  #: bytes of a column
    begins: Numbers  #: by thread, the first byte of its column in a row
    unit: int  #: bytes that every begin, stride and width is a multiple of: 1, 2 or 4
    phases: frozenset[int]  #: in which it is owned
    columns: dict[int, int]  #: by accessing word in these phases, the byte in the column to which it goes

    @property
    def rows(self) -> int:
        return self.variable.size // self.stride

    @property
    def bytes(self) -> int:
        """Return the bytes that a thread owns."""
        return self.rows * self.width


@dataclass(frozen=True)
class Ownership:
    """The ownership of a kernel has its owned variables, by address."""

    phases: Phases
    owned: tuple[Owned, ...]


def ownership(memory: SharedMemory) -> Ownership | None:
    """Return which variables are owned, and when; None if none is."""
    found = phases(memory)
    if found is None or not memory.ranges.threads.count:
        return None
    variables = sorted(memory.program.kernel.fn.shared, key=lambda v: (v.offset, v.name))
    owned = tuple(each for v in variables if (each := _owned(memory, found, v)) is not None)
    return Ownership(found, owned) if owned else None


def _owned(memory: SharedMemory, found: Phases, variable: SharedVar) -> Owned | None:
    """Return a variable with the phases in which it is owned; None if there are none."""
    touching = [a for a in memory.reach.accesses if a.may & bytes_of(variable)]
    kernel = memory.program.graph.kernel
    if any(a.place.function != kernel for a in touching):
        return None
    best: Owned | None = None
    for number, words in enumerate(found.words):
        inside = [a for a in touching if a.place.word in words]
        layout = _layout(memory, variable, inside)
        if layout is None:
            continue
        if best is None:
            best = _in_phase(variable, layout, number)
        elif best.stride == layout.stride and np.array_equal(best.begins, layout.begins) and best.width == layout.width:
            columns = best.columns | layout.columns
            best = Owned(variable, best.stride, best.width, best.begins, min(best.unit, layout.unit),
                         best.phases | {number}, columns)  # fmt: skip
    return best


@dataclass(frozen=True, eq=False)
class _Layout:
    """A layout divides a variable into rows and columns."""

    stride: int
    width: int
    begins: Numbers
    unit: int
    columns: dict[int, int]


def _in_phase(variable: SharedVar, layout: _Layout, number: int) -> Owned:
    return Owned(variable, layout.stride, layout.width, layout.begins, layout.unit, frozenset({number}), layout.columns)


def _layout(memory: SharedMemory, variable: SharedVar, accesses: list[Reached]) -> _Layout | None:
    """Return the layout in which all of some accesses go to columns of one thread; None if there is none, or nothing
    depends on data."""
    if not accesses or not all(_plain(memory, variable, a) for a in accesses):
        return None
    threads = memory.ranges.threads.count
    addresses = {a.place.word: memory.ranges.address(*a.place) for a in accesses}
    common = reduce(gcd, (factor for value in addresses.values() for _, factor in value.terms), 0)
    stride = common & -common
    if not 0 < stride <= variable.size or variable.size % stride or variable.size // stride > _MOST_ROWS:
        return None
    within = {
        word: np.broadcast_to((np.asarray(value.base) - variable.offset) % stride, threads)
        for word, value in addresses.items()
    }  # fmt: skip
    begins = np.min(np.stack(list(within.values())), axis=0)
    columns: dict[int, int] = {}
    for word, at in within.items():
        if np.ptp(at - begins):
            return None
        columns[word] = int((at - begins)[0])
    width = max(columns[a.place.word] + a.memory.size for a in accesses)
    order = np.sort(begins)
    if order[-1] + width > stride or (np.diff(order) < width).any():
        return None
    sizes = max(a.memory.size for a in accesses)
    width += -width % sizes
    unit = reduce(gcd, (*(int(b) for b in begins), width, stride, variable.offset, 4))
    if (np.diff(order) < width).any() or order[-1] + width > stride or unit % sizes:
        return None
    return _Layout(stride, width, begins, unit, columns)


def _plain(memory: SharedMemory, variable: SharedVar, access: Reached) -> bool:
    """Return whether an access is a load or store of each thread by itself, to nothing but a variable."""
    what, kernel = access.memory, memory.program.kernel
    alone = what.space == Space.SHARED and what.access != Access.ATOMIC and not (what.spill or what.ordered)
    twin = memory.program.isa.in_space(kernel.fn.instrs[access.place.word], Space.LOCAL)
    return alone and what.givers == 0 and twin is not None and not access.may & ~bytes_of(variable)

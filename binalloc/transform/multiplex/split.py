"""A split says which shared variables, or which first part of one, a block keeps to itself (CO-VTB and CO-HW).

Needs what is known of a kernel's shared memory; leaves it untouched. `vertices=16/24` makes the first 16 of 24 equal
parts private, and the rest public. A binary does not know the dimensions of an array. In `vertices=16` the parts are
therefore *rows*, as the accesses show them: the bytes that all threads of a block touch side by side in one access.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from binalloc.analysis.ranges.value import WORDS
from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.shared.reach import Reached
from binalloc.analysis.shared.variables import bytes_of
from binalloc.errors import UsageError
from binalloc.isa.instruction import SharedVar
from binalloc.names.kernels import spellings

_TEXT = re.compile(r"(.+)=(\d{1,9})(?:/(\d{1,9}))?")


@dataclass(frozen=True)
class Split:
    """A split makes the first `index` parts of a variable private."""

    name: str  #: of a shared variable, as the binary has it, or its C++ name
    index: int
    count: int | None = None  #: equal parts of the variable; None: rows

    @staticmethod
    def parse(text: str) -> Split:
        """Read NAME=INDEX or NAME=INDEX/COUNT. Raises UsageError."""
        found = _TEXT.fullmatch(text)
        if found is None:
            raise UsageError("it is not clear how to divide a shared variable", found=text,
                             expected="NAME=INDEX or NAME=INDEX/COUNT")  # fmt: skip
        name, index, count = found.groups()
        return Split(name.strip(), int(index), None if count is None else int(count))

    def __str__(self) -> str:
        return f"{self.name}={self.index}" + ("" if self.count is None else f"/{self.count}")


def private_bytes(memory: SharedMemory, splits: Sequence[Split]) -> int:
    """Return the bytes that splits make private, as a bitset. Raises UsageError for a variable that is unknown or named
    twice, and for an index outside of it."""
    private, seen = 0, set[str]()
    for split in splits:
        variable = _variable(memory.program.kernel.fn.shared, split)
        if variable.name in seen:
            raise UsageError("a variable is split twice", found=str(split), expected="each variable once")
        seen.add(variable.name)
        end = variable.offset + split.index * _part(memory, variable, split)
        private |= (1 << end) - (1 << variable.offset)
    return private


def _variable(among: Sequence[SharedVar], split: Split) -> SharedVar:
    """Return the variable that a split names."""
    exact = [v for v in among if v.name == split.name]
    found = exact or [v for v in among if split.name in spellings(v.name)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(v.name for v in sorted(found or among, key=lambda v: v.offset)) or "none"
    raise UsageError(
        "several shared variables are called that" if found else "no such shared variable", found=str(split),
        expected=f"one of {known}", remedy="The kernel's view of shared memory lists them.",
    )  # fmt: skip


def _part(memory: SharedMemory, variable: SharedVar, split: Split) -> int:
    """Return the bytes of a part, of which a variable has a whole number."""
    if split.count is None:
        part = row_bytes(memory, variable)
        if part is None:
            raise UsageError(
                "the accesses do not show what a row of a shared variable is", found=str(split),
                expected=f"{split.name}=INDEX/COUNT", remedy=f"The variable has {variable.size:,} bytes.",
            )  # fmt: skip
    else:
        part = variable.size // max(split.count, 1)
        if part * split.count != variable.size or not part:
            raise UsageError("a shared variable has no such parts", found=str(split),
                             expected=f"a divisor of its {variable.size:,} bytes")  # fmt: skip
    count = variable.size // part
    if split.index > count:
        raise UsageError("an index is outside of a shared variable", found=str(split),
                         expected=f"0 to {count}, as a part has {part:,} bytes")  # fmt: skip
    return part


def row_bytes(memory: SharedMemory, variable: SharedVar) -> int | None:
    """Return the bytes of a row of a variable, of which it has a whole number; None where accesses show none, or
    different ones."""
    inside = bytes_of(variable)
    rows = {_row(memory, a) for a in memory.reach.accesses if a.may and not a.may & ~inside} - {0}
    row = rows.pop() if len(rows) == 1 else 0
    return row if row and variable.size % row == 0 else None


def _row(memory: SharedMemory, access: Reached) -> int:
    """Return the bytes that all threads touch side by side, one step apart, in an access; 0 if they do not."""
    count = memory.ranges.threads.count
    threads = np.broadcast_to(np.asarray(memory.ranges.coming(*access.place)), max(count, 1))
    base = np.broadcast_to(np.asarray(memory.ranges.address(*access.place).base), max(count, 1))
    steps = np.unique(np.diff(np.unique(base % WORDS)))
    if count < 2 or not threads.all() or len(steps) != 1 or steps[0] < access.memory.size:
        return 0
    return int(steps[0]) * count if len(np.unique(base)) == count else 0

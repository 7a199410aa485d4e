"""The table of variables that accesses touch, `.loom.touches.F`, is read here."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from binalloc.isa.container import elf
from binalloc.isa.container.checked import Checked


def read_touches(checked: Checked, name: str, data: bytes) -> dict[int, tuple[str, ...]]:
    """Return `Function.touches` from the bytes of section `name`. Raises MalformedInput.

    Whether the words and variables exist is for `validate_module` to say.
    """
    raw = checked.parse(elf.TOUCHES_HEADER, data, name)
    start, size = len(elf.TOUCHES_HEADER.build(raw)), elf.TOUCHES_ENTRY.itemsize
    if len(data) - start != raw.count * size or not raw.count:
        found = f"{(len(data) - start) // size}"
        checked.fail(f"{name}, count", "does not agree with the section's size", raw.count, found)
    for before, behind in pairwise(raw.names):
        if before >= behind:
            checked.fail(f"{name}, names", "not in ascending order", repr(behind[:40]), f"more than {before[:40]!r}")
    table: dict[int, tuple[str, ...]] = {}
    last = (-1, -1)
    for word, number in np.frombuffer(data, dtype=elf.TOUCHES_ENTRY, offset=start).tolist():
        if number >= len(raw.names):
            checked.fail(f"{name}, name", "no such name", number, f"below {len(raw.names)}")
        if (word, number) <= last:
            checked.fail(f"{name}, word", "not in ascending order", f"{word}, {number}", f"more than {last}")
        last = word, number
        table[word] = (*table.get(word, ()), raw.names[number])
    return table

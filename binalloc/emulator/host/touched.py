"""The variables that accesses to shared memory touch by their producer's word are staged here, for checked runs."""

from __future__ import annotations

import numpy as np

from binalloc.emulator.checks.touched import END, LOW, MORE
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.memories import Array
from binalloc.isa.instruction import DYNAMIC, Function, Module

Stretch = tuple[int, int]
"""Its first byte, and the byte behind it."""


def with_touched(program: Array, module: Module, kernel: Function) -> Array:
    """Return the staged program with the bytes of the variables that accesses of a kernel and its callees touch, as
    `checks.touched` has them."""
    rows: list[list[int]] = []
    first: dict[tuple[Stretch, ...], int] = {}
    named: list[tuple[int, int]] = []
    for fn in module.reached(kernel):
        for word in sorted(fn.touches):
            stretches = stretches_of(kernel, fn, fn.touches[word])
            if stretches is None:
                continue
            if stretches not in first:
                first[stretches] = len(program) + len(rows)
                rows += [[low, end, int(k + 1 < len(stretches))] for k, (low, end) in enumerate(stretches)]
            named.append((fn.address + word, first[stretches]))
    if not rows:
        return program
    more: Array = np.zeros((len(rows), program.shape[1]), np.int64)
    more[:, [LOW, END, MORE]] = rows
    found = np.vstack((program, more))
    for at, row in named:
        found[at, L.Column.TOUCHES] = row
    return found


def stretches_of(kernel: Function, fn: Function, names: tuple[str, ...]) -> tuple[Stretch, ...] | None:
    """Return the bytes of what a function means by some names: its own variables, else the kernel's. Returns None where
    it means nothing by one of them. Dynamic memory is all behind the static bytes."""
    known = {v.name: v for v in kernel.shared} | {v.name: v for v in fn.shared}
    found: list[Stretch] = []
    for name in names:
        if name == DYNAMIC:
            found.append((kernel.info.shared_bytes, L.WINDOW_SIZE))
        elif name in known:
            found.append((known[name].offset, known[name].offset + known[name].size))
        else:
            return None
    joined: list[Stretch] = []
    for low, end in sorted(found):
        if joined and low <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((low, end))
    return tuple(joined)

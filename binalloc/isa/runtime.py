"""What the device runtime and its host agree on: the layout of the one variable through which they speak, and of what
the device leaves for the host. ISA.md, Runtime, says it in prose; `frontend/runtime/runtime.cu` is the device's side.

The variable is known by its name. Before a launch the host puts the places of output and heap into it; all else is 0.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

VARIABLE = "__binalloc_runtime"
GRID = "__binalloc_grid"
GRID_LAYOUT = np.dtype([("workspace", "<u8"), ("reserved", "<u8"), ("words", "<u4", 16)])
"""The variable of cooperative launches, and what it holds."""
WORKSPACE = 16
"""The byte of it at which the words lie whose address it holds."""
OWN = (VARIABLE, GRID)
"""Variables that belong to the runtime, not to the program."""
PRINTF = "vprintf"
"""The function that printf calls, as it is called in a binary."""
GRANULE = 16
"""Blocks of the heap begin at multiples of it, and are as long as one."""
MAP_BYTES = GRANULE * 8
"""Bytes of the heap that one byte of the map of live granules speaks of."""

LAYOUT = np.dtype(
    [
        ("output", "<u8"), ("output_bytes", "<u8"), ("output_used", "<u8"), ("output_lost", "<u8"),
        ("heap", "<u8"), ("heap_bytes", "<u8"), ("heap_used", "<u8"), ("blocks", "<u8"), ("live", "<u8"),
        ("stopped", "<u4"), ("line", "<u4"), ("stop", "<u8", 3), ("block", "<u4"), ("thread", "<u4"),
        ("free", "<u8", 896),
    ]
)  # fmt: skip
"""Of the variable; see `struct Runtime` of the device."""
BLOCK = np.dtype([("size", "<u4"), ("state", "<u4"), ("block", "<u4"), ("thread", "<u4"), ("next", "<u4")])
"""Of an entry of the table of blocks, one for each granule of the heap."""
RECORD = np.dtype([("bytes", "<u4"), ("block", "<u4"), ("thread", "<u4"), ("format", "<u4")])
"""Head of a record of the output."""
ARGUMENT_BYTES = 8


STATE_MASK = 0xFF
"""The bits of a block's state that say which `State` it is."""


class State(IntEnum):
    """What a granule begins."""

    NEVER = 0
    LIVE = 1
    FREED = 2


class Stop(IntEnum):
    """Why the runtime stopped the grid, if not by NONE: an assertion failed, or something was freed that was no block
    any more, or never one."""

    NONE = 0
    ASSERTION = 1
    FREED_TWICE = 2
    NOT_ALLOCATED = 3

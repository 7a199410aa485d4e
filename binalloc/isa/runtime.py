"""What the device runtime and its host agree on: the layout of the one variable through which they speak, and of what
the device leaves for the host. ISA.md, Runtime, says it in prose; `frontend/runtime/runtime.cu` is the device's side.

The variable is known by its name. Before a launch the host puts the places of output and heap into it; all else is 0.
"""

from __future__ import annotations

from enum import IntEnum

VARIABLE = "__binalloc_runtime"
GRID = "__binalloc_grid"
GRID_BYTES, GRID_ALIGN, WORKSPACE = 80, 16, 16
"""The variable of cooperative launches; the byte at which the words lie whose address, 8 bytes, it begins with."""
OWN = (VARIABLE, GRID)
"""Variables that belong to the runtime, not to the program."""
PREFIX = "__binalloc_"
"""What names of the runtime's functions and variables begin with, but for those that CUDA names."""
PRINTF = "vprintf"
"""The function that printf calls, as it is called in a binary."""
MALLOC = "malloc"
PROVIDED = (PRINTF, MALLOC, "free", "__assertfail")
"""The functions that programs call without defining them."""
STACK_TRAP = 0x7FC
"""Where a function stores, which faults, when its frame does not fit the stack of functions that call themselves."""
GRANULE = 16
"""Blocks of the heap begin at multiples of it, and are as long as one."""
MAP_BYTES = GRANULE * 8
"""Bytes of the heap that one byte of the map of live granules speaks of."""


def is_runtime(function: str) -> bool:
    """Whether a function of that name is the runtime's, or of the library of arithmetic, and not the program's."""
    return function in PROVIDED or function.startswith(PREFIX)


Fields = tuple[tuple[str, int, int], ...]
"""Name, bytes and how many, of unsigned integers that follow one another."""
LAYOUT: Fields = (
    ("output", 8, 1), ("output_bytes", 8, 1), ("output_used", 8, 1), ("output_lost", 8, 1),
    ("heap", 8, 1), ("heap_bytes", 8, 1), ("heap_used", 8, 1), ("blocks", 8, 1), ("live", 8, 1),
    ("stopped", 4, 1), ("line", 4, 1), ("stop", 8, 3), ("block", 4, 1), ("thread", 4, 1), ("free", 8, 896),
)  # fmt: skip
"""Of the variable; see `struct Runtime` of the device."""
BLOCK: Fields = (("size", 4, 1), ("state", 4, 1), ("block", 4, 1), ("thread", 4, 1), ("next", 4, 1))
"""Of an entry of the table of blocks, one for each granule of the heap."""
RECORD: Fields = (("bytes", 4, 1), ("block", 4, 1), ("thread", 4, 1), ("format", 4, 1))
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

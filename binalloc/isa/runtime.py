"""The device runtime and its host agree on these names and layouts. They describe the one variable through which the
two communicate, and the data that the device leaves for the host. ISA.md, Device runtime, has them in prose.
`frontend/runtime/runtime.cu` is the device's side.

The variable is known by its name. Before a launch the host puts the addresses of output and heap into it; all else is
0.
"""

from __future__ import annotations

from enum import IntEnum

VARIABLE = "__binalloc_runtime"  # name of the variable through which the runtime and the host communicate
GRID = "__binalloc_grid"  # name of the variable of cooperative launches
GRID_BYTES, GRID_ALIGN, WORKSPACE = 80, 16, 16
"""Size and alignment of the variable GRID, and the byte of it at which its words begin. Its first 8 bytes hold their
address (ISA.md, Device runtime)."""
OWN = (VARIABLE, GRID)  # variables that belong to the runtime, not to the program
PREFIX = "__binalloc_"  # names of the runtime's functions and variables begin so, except the ones that CUDA names
PRINTF = "vprintf"  # the function that printf calls in a binary, by CUDA's name for it
MALLOC = "malloc"  # likewise the function that allocates
PROVIDED = (PRINTF, MALLOC, "free", "__assertfail")  # functions that programs call without defining them
STACK_TRAP = 0x7FC
"""A function stores to this address, to fault, where its frame does not fit the stack of recursive functions. It lies
below both windows, so that it is in no buffer and no variable; `emulator.stops.faults` knows it."""
GRANULE = 16
"""Bytes: blocks of the heap begin at its multiples, which is CUDA's alignment of malloc; `runtime.cu` has it too."""
MAP_BYTES = GRANULE * 8  # bytes of the heap that one byte of the map of live granules stands for


def is_runtime(function: str) -> bool:
    """Return whether a function of that name belongs to the runtime or to the library of arithmetic, and not to the
    program."""
    return function in PROVIDED or function.startswith(PREFIX)


Fields = tuple[tuple[str, int, int], ...]
"""Name, bytes and count of unsigned integers that follow one another in memory."""
LAYOUT: Fields = (
    ("output", 8, 1), ("output_bytes", 8, 1), ("output_used", 8, 1), ("output_lost", 8, 1),
    ("heap", 8, 1), ("heap_bytes", 8, 1), ("heap_used", 8, 1), ("blocks", 8, 1), ("live", 8, 1),
    ("stopped", 4, 1), ("line", 4, 1), ("stop", 8, 3), ("block", 4, 1), ("thread", 4, 1), ("free", 8, 896),
)  # fmt: skip
"""The fields of the runtime's variable, as in `struct Runtime` of `runtime.cu`."""
BLOCK: Fields = (("size", 4, 1), ("state", 4, 1), ("block", 4, 1), ("thread", 4, 1), ("next", 4, 1))
"""The fields of an entry of the table of blocks, one for each granule of the heap, as in `struct Block`."""
RECORD: Fields = (("bytes", 4, 1), ("block", 4, 1), ("thread", 4, 1), ("format", 4, 1))
"""The fields of the head of a record of the output."""
ARGUMENT_BYTES = 8  # an argument of printf takes so much in a record, whatever its type: the widest has 64 bits


STATE_MASK = 0xFF  # the bits of a block's state that hold its `GranuleState`; the bits above are its size class


class GranuleState(IntEnum):
    """A granule of the heap, at which a block may begin, is in one of these states."""

    NEVER = 0  #: no block has begun here
    LIVE = 1  #: a block begins here
    FREED = 2  #: a freed block begins here


class RuntimeStop(IntEnum):
    """The runtime stops a grid for one of these reasons; NONE means that it did not stop it."""

    NONE = 0
    ASSERTION = 1  #: an assertion failed
    FREED_TWICE = 2  #: a block was freed that was no block any more
    NOT_ALLOCATED = 3  #: something was freed that was never a block

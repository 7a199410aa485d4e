"""Buffers of a launch get their places in a device's memory here: one behind the other, with unmapped gaps.

Needs their sizes. Leaves true: a buffer's address follows from the launch alone, whatever binary is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FIRST_BUFFER = 0x10000000  # address: behind the window of the binary's global variables (ISA.md, State and memory)
BUFFER_ALIGN = 256  # bytes: cudaMalloc's alignment
BUFFER_GAP = 4096
"""Bytes at least between two buffers: an access beyond the end of one faults instead of reading the next."""


def place_buffers(sizes: Mapping[str, int]) -> tuple[dict[str, int], int]:
    """Return addresses of buffers of these sizes, in their order, aligned and with unmapped gaps between them; and the
    bytes of the whole span."""
    addresses = {}
    at = FIRST_BUFFER
    for name, size in sizes.items():
        addresses[name] = at
        at += -(-(size + BUFFER_GAP) // BUFFER_ALIGN) * BUFFER_ALIGN
    return addresses, at - FIRST_BUFFER + 16


@dataclass(frozen=True, slots=True)
class Target:
    """A target is an argument that pointers may point to."""

    bytes: int  #: of the buffer; 0 of a texture or surface, which has a handle
    element_bytes: int  #: of one element
    texture: bool = False  #: it is a texture or surface

"""Where the buffers of a launch lie in a device's memory: one behind the other, with unmapped gaps.

Needs their sizes. Leaves true: a buffer's address follows from the launch alone, whatever binary is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FIRST_BUFFER = 0x10000000
BUFFER_ALIGN = 256
BUFFER_GAP = 4096


def place_buffers(sizes: Mapping[str, int]) -> tuple[dict[str, int], int]:
    """Addresses of buffers of so many bytes, in their order, aligned and with unmapped gaps between them; bytes of the
    whole span."""
    addresses = {}
    at = FIRST_BUFFER
    for name, size in sizes.items():
        addresses[name] = at
        at += -(-(size + BUFFER_GAP) // BUFFER_ALIGN) * BUFFER_ALIGN
    return addresses, at - FIRST_BUFFER + 16


@dataclass(frozen=True, slots=True)
class Target:
    """What pointers may be to. bytes: of the buffer, 0 of a texture or surface, which has a handle; element_bytes: of
    one element."""

    bytes: int
    element_bytes: int
    texture: bool = False

"""This module begins the record that a module has of what it was made of (`Module.provenance`)."""

from __future__ import annotations

import hashlib

from binalloc.pipeline.request import Request
from binalloc.version import VERSION

MULTIPLEXED = "multiplexed"
"""Key in a provenance record for the scheme by which a kernel's blocks use shared memory in turns."""


def made_of(source: bytes, request: Request) -> dict[str, object]:
    """Return the record of the tool, the input's bytes, the kernel and the machine."""
    return {
        "tool": "binalloc",
        "version": VERSION,
        "input_sha256": hashlib.sha256(source).hexdigest(),
        "kernel": request.kernel,
        "machine": request.machine.name,
    }

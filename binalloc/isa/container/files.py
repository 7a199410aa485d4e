"""Loom binaries are read and written here: the ELF64 container of a module. ISA.md, chapter "Container", describes the
bytes.

`write_module(read_module(data)) == data` for everything that `write_module` wrote.
"""

from __future__ import annotations

from binalloc.errors import MalformedInput
from binalloc.files import FILE_LIMIT
from binalloc.isa.container.read import Reader
from binalloc.isa.container.write import write_elf
from binalloc.isa.instruction import Module
from binalloc.isa.validate import validate_module


def read_module(data: bytes, path: str = "") -> Module:
    """Return the module in `data`. path: for messages.

    Raises MalformedInput, which names section, field, found and expected value, and nothing else, whatever the bytes.
    """
    if len(data) > FILE_LIMIT:
        raise MalformedInput("file too large", file=path or None, found=len(data), expected=f"{FILE_LIMIT} bytes")
    return Reader(data, path).read()


def write_module(module: Module) -> bytes:
    """Return the container of `module`. Raises MalformedInput where the module breaks a rule of the ISA."""
    validate_module(module)
    return write_elf(module)

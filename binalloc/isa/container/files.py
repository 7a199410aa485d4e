"""Loom binaries: the ELF64 container of a module, read and written. ISA.md, chapter "Container", describes the bytes.

`write_module(read_module(data)) == data` for everything `write_module` wrote.
"""

from __future__ import annotations

from binalloc.errors import MalformedInput
from binalloc.files import FILE_LIMIT
from binalloc.isa.container.read import Reader
from binalloc.isa.container.write import write_elf
from binalloc.isa.instruction import Module
from binalloc.isa.validate import validate_module


def read_module(data: bytes, path: str = "") -> Module:
    """The module in `data`; `path` for messages.

    Raises:
        MalformedInput: naming section, field, found and expected value. Nothing else, whatever the bytes.
    """
    if len(data) > FILE_LIMIT:
        raise MalformedInput("file too large", file=path or None, found=len(data), expected=f"{FILE_LIMIT} bytes")
    return Reader(data, path).read()


def write_module(module: Module) -> bytes:
    """The container of `module`. Raises MalformedInput where the module breaks a rule of the ISA."""
    validate_module(module)
    return write_elf(module)

"""Loom binaries: the ELF64 container of a module, read and written. ISA.md, chapter "Container", describes the bytes.

`write_module(read_module(data)) == data` for everything `write_module` wrote.
"""

from __future__ import annotations

import os
from pathlib import Path

from binalloc.errors import MalformedInput, UsageError
from binalloc.isa.container.read import Reader
from binalloc.isa.container.write import write_elf
from binalloc.isa.instruction import Module
from binalloc.isa.validate import validate_module

FILE_LIMIT = 64 << 20


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


def load(path: str | Path) -> Module:
    """Read a file. Raises UsageError where it cannot be opened, MalformedInput as `read_module`."""
    try:
        with open(path, "rb") as file:
            data = file.read(FILE_LIMIT + 1)
    except OSError as error:
        raise UsageError("cannot read the file", file=str(path), found=error.strerror) from error
    return read_module(data, str(path))


def save(module: Module, path: str | Path) -> None:
    """Write a file by way of a temporary name: it appears whole or not at all. Raises UsageError where it cannot."""
    write_atomically(path, write_module(module))


def write_atomically(path: str | Path, data: bytes) -> None:
    """Replace or create `path` with `data`; on any error the old file stands and no temporary file stays behind.

    Raises UsageError where it cannot be written.
    """
    target = Path(path)
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)  # a device or pipe cannot be replaced
            return
        _replace(target, data)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        found = getattr(error, "strerror", None) or error
        raise UsageError("cannot write the file", file=str(path), found=found) from error


def _replace(target: Path, data: bytes) -> None:
    """By way of a new file beside it, which nobody else can have made."""
    temporary = target.parent / f".binalloc-{os.urandom(8).hex()}.tmp"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

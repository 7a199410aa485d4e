"""Modules of every instruction set are read from files and texts here, and written, for all rooms above."""

from __future__ import annotations

from pathlib import Path

from binalloc.collection import no_collection
from binalloc.files import read_bytes, write_atomically
from binalloc.isa.instruction import Module
from binalloc.isa.sets.table import set_for, set_of


@no_collection()
def read_module(data: bytes, path: str = "") -> Module:
    """Return the module in a file's bytes, of the instruction set that recognises them. path: for messages.

    Raises MalformedInput, which names section, field, found and expected value, and nothing else, whatever the bytes.
    """
    return set_for(data).read(data, path)


@no_collection()
def write_module(module: Module) -> bytes:
    """Return the file of a module. Raises MalformedInput where the module breaks a rule of its instruction set."""
    return set_of(module).write(module)


def load(path: str | Path) -> Module:
    """Read a file. Raises UsageError where it cannot be opened, MalformedInput as `read_module`."""
    return read_module(read_bytes(path), str(path))


def save(module: Module, path: str | Path) -> None:
    """Write a file by way of a temporary name: it appears whole or not at all. Raises UsageError where it cannot be
    written."""
    write_atomically(path, write_module(module))


def assemble(text: str, path: str = "") -> Module:
    """Return the module that assembly describes, laid out and validated. path: for messages.

    Raises MalformedInput, which names file, line, column, what was found and what was expected.
    """
    return set_for(text.encode(errors="replace")).assemble(text, path)


def disassemble(module: Module) -> str:
    """Return the module as assembly, ending in a newline: `assemble` of it gives the module back."""
    return set_of(module).disassemble(module)

"""This module loads kernels from a file, which may be a binary or PTX."""

from __future__ import annotations

from pathlib import Path

from binalloc.errors import MalformedInput
from binalloc.files import read_bytes, text_of
from binalloc.frontend.fatbin.choose import choose
from binalloc.frontend.fatbin.entries import entries
from binalloc.frontend.fatbin.objects import may_hold_code
from binalloc.frontend.importer import import_units
from binalloc.frontend.ptx.recognise import is_ptx
from binalloc.frontend.units import TranslationUnit
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import read_module
from binalloc.models.machines.model import Machine


def load_kernels(path: str | Path, *, machine: Machine | str | Path | None = None, name: str | None = None) -> Module:
    """Return the module of a binary, or import the one of PTX.

    The PTX is a text, or it is in an object, program, library or fat binary. There each translation unit is taken for
    its oldest architecture. machine: imported for this one, by default that of its `.target`. name: imports only this
    kernel of PTX, so that errors in others do not matter. Raises UsageError where the file cannot be read,
    MalformedInput where it is neither, or where its PTX cannot be imported.
    """
    data = read_bytes(path)
    if may_hold_code(data):
        units = choose(entries(data, str(path)), str(path), None).units
    elif is_ptx(data, str(path)):
        units = [TranslationUnit(_text(data, path), str(path))]
    else:
        return read_module(data, str(path))
    return import_units(units, machine=machine, kernels=None if name is None else [name]).module


def _text(data: bytes, path: str | Path) -> str:
    try:
        return text_of(data)
    except UnicodeDecodeError as error:
        raise MalformedInput("not text", file=str(path), found=error.reason, expected="UTF-8") from error

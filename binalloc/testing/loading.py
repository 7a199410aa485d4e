"""Kernels from a file, be it a binary or PTX."""

from __future__ import annotations

from pathlib import Path

from binalloc.errors import MalformedInput
from binalloc.files import read_bytes, text_of
from binalloc.frontend.importer import import_ptx
from binalloc.frontend.ptx.recognise import is_ptx
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import read_module
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine


def load_kernels(path: str | Path, *, machine: Machine | str | Path | None = None, name: str | None = None) -> Module:
    """The module in a binary, or in PTX as it is imported for `machine` (gtx680 without).

    name: of a kernel of PTX that is imported alone, so that others which cannot be imported do not matter. Raises
    UsageError where the file cannot be read, MalformedInput where it is neither, or PTX that cannot be imported.
    """
    data = read_bytes(path)
    if not is_ptx(data, str(path)):
        return read_module(data, str(path))
    try:
        text = text_of(data)
    except UnicodeDecodeError as error:
        raise MalformedInput("not text", file=str(path), found=error.reason, expected="UTF-8") from error
    model = machine if machine is None or isinstance(machine, Machine) else load_machine(machine)
    return import_ptx(text, str(path), machine=model, kernels=None if name is None else [name]).module

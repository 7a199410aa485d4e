"""Input of the commands that take PTX as well as binaries: PTX is imported in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from binalloc.cli.common import load_bytes, machine_model, note, read_file, shown
from binalloc.errors import MalformedInput

if TYPE_CHECKING:
    from binalloc.frontend.importer import Imported
    from binalloc.isa.instruction import Module
    from binalloc.models.machines.reader import Machine


def load_or_import(file: str, machine: str | None, kernel: str | None = None) -> tuple[Module, bytes]:
    """The module of a binary, or of PTX as `import-ptx` would write it for `machine` (or the default), and its bytes.

    kernel: the one that the command is about, if it is known; where others of a PTX file cannot be imported, it is
    imported alone. Says on stderr that PTX was imported. Raises as `load_module` and `imported_text` do.
    """
    from binalloc.cli.common import DEFAULT_MACHINE
    from binalloc.frontend.ptx.recognise import is_ptx
    from binalloc.isa.container.files import write_module

    data = read_file(file)
    if is_ptx(data, file):
        model = machine_model(machine or DEFAULT_MACHINE)
        imported, others = _import(decoded(data, file), shown(file), model, kernel)
        data = write_module(imported.module)
        note(
            f"{shown(file)} is PTX: imported in memory for {model.name}, kernels "
            f"{', '.join(found.name for found in imported.kernels)}{others} "
            "(import-ptx writes the binary and has options)"
        )
    return load_bytes(data, file), data


def _import(text: str, path: str, machine: Machine, kernel: str | None) -> tuple[Imported, str]:
    """All kernels of the file, or that one alone where others are refused; what to say of the others."""
    from binalloc.frontend.refused import NotImportable

    try:
        return imported_text(text, path, machine), ""
    except NotImportable:
        if kernel is None:
            raise
    return imported_text(text, path, machine, kernels=[kernel]), ", alone, as not all others can be"


def decoded(data: bytes, file: str) -> str:
    """The text of a PTX file."""
    try:
        return data.decode()
    except UnicodeDecodeError as e:
        raise MalformedInput("not UTF-8 text", file=shown(file), place=f"byte {e.start}") from e


def imported_text(
    text: str,
    path: str,
    machine: Machine,
    *,
    kernels: Sequence[str] | None = None,
    block_dim: tuple[int, int, int] | None = None,
    skip: bool = False,
) -> Imported:
    """The import of PTX text; where kernels are refused and others would do, the error says how to get those."""
    from binalloc.frontend.importer import import_ptx
    from binalloc.frontend.refused import NotImportable

    try:
        return import_ptx(
            text, path, kernels=kernels, machine=machine, block_dim=block_dim, skip_unsupported=skip
        )  # fmt: skip
    except NotImportable as error:
        if error.importable:
            rest = ", ".join(error.importable)
            error.also(f"`binalloc import-ptx --skip-unsupported` imports the kernels that are not concerned: {rest}.")
        raise

"""Input of the commands that take PTX as well as binaries: PTX is imported in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from binalloc.cli_common import load_bytes, machine_model, note, read_file, shown
from binalloc.errors import MalformedInput

if TYPE_CHECKING:
    from binalloc.frontend.importer import Imported
    from binalloc.isa.instruction import Module
    from binalloc.models.machine import Machine


def load_or_import(file: str, machine: str | None) -> tuple[Module, bytes]:
    """The module of a binary, or of PTX as `import-ptx` would write it for `machine` (or the default), and its bytes.

    Says on stderr that PTX was imported. Raises as `load_module` and `imported_text` do.
    """
    from binalloc.cli_common import DEFAULT_MACHINE
    from binalloc.frontend.ptx.recognise import is_ptx
    from binalloc.isa.container import write_module

    data = read_file(file)
    if is_ptx(data, file):
        model = machine_model(machine or DEFAULT_MACHINE)
        imported = imported_text(decoded(data, file), shown(file), model)
        data = write_module(imported.module)
        note(
            f"{shown(file)} is PTX: imported in memory for {model.name}, kernels "
            f"{', '.join(kernel.name for kernel in imported.kernels)} (import-ptx writes the binary and has options)"
        )
    return load_bytes(data, file), data


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

"""Modules: from a binary, from PTX that is imported in memory, from assembly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from binalloc.cli.files import decoded, read_file, shown
from binalloc.cli.inputs import machine_model, require_launch_fits
from binalloc.cli.terminal import note
from binalloc.errors import MalformedInput, UsageError
from binalloc.models.machines.files import DEFAULT_MACHINE

if TYPE_CHECKING:
    from binalloc.frontend.fatbin.entries import Entry
    from binalloc.frontend.importer import Imported
    from binalloc.frontend.units import Unit
    from binalloc.isa.instruction import Module
    from binalloc.launch.types import Launch
    from binalloc.models.machines.model import Machine
    from binalloc.pipeline.sweeping.configuration import Subject


def load_module(file: str) -> tuple[Module, bytes]:
    """The module of a binary, and the file's bytes."""
    data = read_file(file)
    _not_ptx(data, file)
    return load_bytes(data, file), data


def load_bytes(data: bytes, file: str) -> Module:
    """The module of a binary already read from `file`."""
    from binalloc.isa.sets.files import read_module

    return read_module(data, path=shown(file))


def _not_ptx(data: bytes, file: str) -> None:
    from binalloc.frontend.fatbin.objects import may_hold_code
    from binalloc.frontend.ptx.recognise import is_ptx

    what = "this is PTX" if is_ptx(data, file) else "this is no Loom binary" if may_hold_code(data) else None
    if what is not None:
        raise MalformedInput(
            what, file=shown(file), remedy="Import it first: binalloc import-ptx FILE -o FILE.loom."
        )  # fmt: skip


def load_two(original: str, rewritten: str) -> tuple[Module, Module]:
    if original == rewritten == "-":
        raise UsageError("standard input holds one binary", remedy="Name a file for one of the two.")
    return load_module(original)[0], load_module(rewritten)[0]


def assemble_file(file: str) -> Module:
    from binalloc.isa.sets.files import assemble

    data = read_file(file)
    _not_ptx(data, file)
    return assemble(decoded(data, file), path=shown(file))


def load_or_import(
    file: str, machine: str | None, kernel: str | Sequence[str] | None = None
) -> tuple[Module, bytes]:
    """The module of a binary, or of PTX as `import-ptx` would write it for `machine` (or the default), and its bytes.

    kernel: the one that the command is about, or those, if that is known; where others of a PTX file cannot be
    imported, they are imported alone. Says on stderr that PTX was imported. Raises as `load_module` and `imported_text`
    do.
    """
    return module_of(read_file(file), file, machine, kernel)


def module_of(
    data: bytes, file: str, machine: str | None, kernel: str | Sequence[str] | None
) -> tuple[Module, bytes]:
    """As `load_or_import`, of bytes already read from `file`."""
    from binalloc.frontend.fatbin.objects import is_cubin, may_hold_code
    from binalloc.frontend.ptx.recognise import is_ptx
    from binalloc.isa.sets.files import write_module

    within = may_hold_code(data) or is_cubin(data)
    if within or is_ptx(data, file):
        model = machine_model(DEFAULT_MACHINE if machine is None else machine)
        imported, others = _import(units_of(data, file), model, kernel)
        data = write_module(imported.module)
        note(
            f"{shown(file)} {'holds' if within else 'is'} PTX: imported in memory for {model.name}, kernels "
            f"{', '.join(found.name for found in imported.kernels)}{others} "
            "(import-ptx writes the binary and has options)"
        )
    return load_bytes(data, file), data


def subjects_of(
    data: bytes, file: str, launch: Launch, machine: str, kernels: Sequence[str] = ()
) -> tuple[Module, list[Subject]]:
    """What a sweep runs of a file already read: its module for the machine, and these kernels, or the launch's, with
    it. Raises what is wrong with any, and where the launch does not fit."""
    from binalloc.pipeline.steps import find_kernel
    from binalloc.pipeline.sweeping.configuration import Subject

    wanted = kernels or [launch.kernel]
    module, binary = module_of(data, file, machine, wanted)
    names = list(dict.fromkeys(find_kernel(module, name).name for name in wanted))
    for kernel in names:
        require_launch_fits(launch, module, kernel)
    model = machine_model(machine)
    return module, [Subject(shown(file), binary, kernel, launch, model) for kernel in names]


def _import(
    units: Sequence[Unit], machine: Machine, kernel: str | Sequence[str] | None
) -> tuple[Imported, str]:
    """All kernels of the file, or those named alone where others are refused; what to say of the others."""
    from binalloc.frontend.refused import NotImportable

    try:
        return imported_units(units, machine), ""
    except NotImportable:
        if not kernel:
            raise
    named = [kernel] if isinstance(kernel, str) else list(kernel)
    return imported_units(units, machine, kernels=named), ", alone, as not all others can be"


def units_of(data: bytes, file: str, architecture: str | None = None) -> list[Unit]:
    """The PTX in a file already read: its text, or that in an object, program, library or fat binary. architecture: of
    which, where there are several. Says on stderr what is left out."""
    from binalloc.frontend.fatbin.choose import choose
    from binalloc.frontend.units import Unit

    found = entries_of(data, file)
    if found is None:
        if architecture is not None:
            raise UsageError("--arch chooses among the PTX of a fat binary", file=shown(file), found="one text of PTX")
        return [Unit(decoded(data, file), shown(file))]
    chosen = choose(found, shown(file), architecture)
    for text in chosen.notes:
        note(f"{shown(file)}: {text}")
    return chosen.units


def entries_of(data: bytes, file: str) -> list[Entry] | None:
    """The pieces of CUDA code in a file already read; None where it is text. Raises MalformedInput for binaries of
    another kind, and for what is damaged."""
    from binalloc.frontend.fatbin.entries import entries
    from binalloc.frontend.fatbin.objects import is_cubin, may_hold_code

    if may_hold_code(data):
        return entries(data, shown(file))
    if data.startswith(b"\x7fELF"):
        what = "a cubin, machine code of a GPU" if is_cubin(data) else "a binary"
        raise MalformedInput(f"this is {what}, not PTX", file=shown(file), expected="what nvcc writes from CUDA source")
    return None


def imported_units(
    units: Sequence[Unit],
    machine: Machine,
    *,
    kernels: Sequence[str] | None = None,
    block_dim: tuple[int, int, int] | None = None,
    skip: bool = False,
    stack: int | None = None,
) -> Imported:
    """The import of PTX; where kernels are refused and others would do, the error says how to get those. Says on stderr
    which directives are ignored."""
    from binalloc.frontend.ignored import sentence
    from binalloc.frontend.importer import import_units
    from binalloc.frontend.ir import STACK_BYTES
    from binalloc.frontend.refused import NotImportable

    try:
        imported = import_units(
            units, kernels=kernels, machine=machine, block_dim=block_dim, skip_unsupported=skip,
            stack_bytes=STACK_BYTES if stack is None else stack,
        )  # fmt: skip
    except NotImportable as error:
        if error.importable:
            rest = ", ".join(error.importable)
            error.also(f"`binalloc import-ptx --skip-unsupported` imports the kernels that are not concerned: {rest}.")
        raise
    for file in dict.fromkeys(told.file for told in imported.ignored):
        note(f"{file}: ignored: {sentence([told for told in imported.ignored if told.file == file])}")
    return imported

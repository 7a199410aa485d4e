"""This module loads modules from binaries, from PTX and CUDA source imported in memory, and from assembly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from binalloc.cli.files import decoded, read_file, shown
from binalloc.cli.inputs import machine_from, machine_model, machine_of
from binalloc.cli.terminal import note
from binalloc.errors import MalformedInput, UsageError

if TYPE_CHECKING:
    from binalloc.frontend.fatbin.entries import FatbinEntry
    from binalloc.frontend.importer import Imported
    from binalloc.frontend.units import TranslationUnit
    from binalloc.isa.instruction import Module
    from binalloc.launch.types import Launch
    from binalloc.models.machines.model import Machine
    from binalloc.pipeline.block import Three
    from binalloc.pipeline.sweeping.configuration import Subject


def load_module(file: str) -> tuple[Module, bytes]:
    """Return the module of a binary, and the file's bytes."""
    data = read_file(file)
    _not_ptx(data, file)
    return load_bytes(data, file), data


def load_bytes(data: bytes, file: str) -> Module:
    """Return the module of a binary that was already read from `file`."""
    from binalloc.isa.sets.files import read_module

    return read_module(data, path=shown(file))


def _not_ptx(data: bytes, file: str) -> None:
    """Raise MalformedInput for a file that has to be imported first, and for a cubin."""
    from binalloc.frontend.fatbin.objects import is_cubin, may_hold_code
    from binalloc.frontend.nvcc import is_cuda_source
    from binalloc.frontend.ptx.recognise import is_ptx

    if is_cubin(data):
        raise _of_cubin(file)
    what = None
    if is_cuda_source(data, file) or is_ptx(data, file):
        what = "this is CUDA source" if is_cuda_source(data, file) else "this is PTX"
    elif may_hold_code(data):
        what = "this is no Loom binary"
    if what is not None:
        raise MalformedInput(
            what, file=shown(file), remedy="Import it first: binalloc import-ptx FILE -o FILE.loom."
        )  # fmt: skip


def load_two(
    original: str, rewritten: str, machine: str | None = None, kernel: str | None = None
) -> tuple[Module, Module]:
    """Return two modules to compare. PTX is imported in memory, for `machine`, else for the machine of the other file.

    Raise the errors of `load_or_import`.
    """
    if original == rewritten == "-":
        raise UsageError("standard input holds one binary", remedy="Name a file for one of the two.")
    old, new = read_file(original), read_file(rewritten)
    machine = machine or _scheduled_for(new, rewritten, kernel) or _scheduled_for(old, original, kernel)
    return module_of(old, original, machine, kernel)[0], module_of(new, rewritten, machine, kernel)[0]


def _scheduled_for(data: bytes, file: str, kernel: str | None) -> str | None:
    """Return the known machine that a binary's kernel is scheduled for; None if there is none or it is no binary."""
    from binalloc.models.machines.files import list_machines
    from binalloc.pipeline.steps.kernels import find_kernel

    if needs_import(data, file):
        return None
    module = load_bytes(data, file)
    kernels = module.kernels() if kernel is None else [find_kernel(module, kernel)]
    recorded = {fn.info.machine for fn in kernels}
    return next((name for name in sorted(recorded) if name in list_machines()), None)


def assemble_file(file: str) -> Module:
    """Return the module of a file of assembly. Raise MalformedInput if it is a binary, PTX or CUDA source."""
    from binalloc.isa.sets.files import assemble

    data = read_file(file)
    _not_ptx(data, file)
    return assemble(decoded(data, file), path=shown(file))


def load_or_import(
    file: str, machine: str | None, kernel: str | Sequence[str] | None = None
) -> tuple[Module, bytes]:
    """Return the module of a binary or of PTX, and the binary's bytes.

    PTX becomes the binary that `import-ptx` would write for `machine`, or for its target's machine if that is None. A
    line on stderr says so. kernel: name or names of the kernels to work on; None if not known yet. If other kernels of
    a PTX file cannot be imported, these are imported alone. Raise the errors of `load_module` and `imported_units`.
    """
    return module_of(read_file(file), file, machine, kernel)


def module_of(
    data: bytes, file: str, machine: str | None, kernel: str | Sequence[str] | None
) -> tuple[Module, bytes]:
    """Work as `load_or_import` on bytes that were already read from `file`."""
    from binalloc.frontend.fatbin.objects import may_hold_code
    from binalloc.frontend.nvcc import is_cuda_source
    from binalloc.isa.sets.files import write_module

    if needs_import(data, file):
        model = None if machine is None else machine_model(machine)
        what = "is CUDA source" if is_cuda_source(data, file) else "holds PTX" if may_hold_code(data) else "is PTX"
        imported, others = _import(units_of(data, file, machine=model), model, kernel)
        data = write_module(imported.module)
        note(
            f"{shown(file)} {what}: imported in memory for {imported_for(imported.module, machine)}, kernels "
            f"{', '.join(found.name for found in imported.kernels) or 'none'}{others} "
            "(import-ptx writes the binary and has options)"
        )
    return load_bytes(data, file), data


def imported_for(module: Module, machine: str | None) -> str:
    """Name the machine that PTX was imported for, for a line on stderr. If nobody asked for it, add why."""
    model = machine_of(module, None, machine, runs=False)
    if machine is not None:
        return model.name
    return f"{model.name} ({machine_from(module, None, machine, model)}; --machine names another)"


def needs_import(data: bytes, file: str) -> bool:
    """Return whether a file must be imported: it is PTX, CUDA source, or a binary that may hold PTX."""
    from binalloc.frontend.fatbin.objects import is_cubin, may_hold_code
    from binalloc.frontend.nvcc import is_cuda_source
    from binalloc.frontend.ptx.recognise import is_ptx

    return may_hold_code(data) or is_cubin(data) or is_ptx(data, file) or is_cuda_source(data, file)


def subjects_of(
    data: bytes, file: str, launch: Launch | None, machine: str | None, kernels: Sequence[str] = (),
    block: Three | None = None,
) -> tuple[Module, list[Subject]]:
    """Return the module of a file and what a sweep runs of it: kernels, each with launch and machine.

    data: the file's bytes. machine: None for the binary's own. kernels: if empty, the launch's kernel. launch: None for
    the launches that `launch-skeleton` would suggest with blocks of `block`. Raise an error if any of them is bad, and
    if the launch does not fit a kernel.
    """
    from binalloc.launch.merged import fitting
    from binalloc.pipeline.block import require_block
    from binalloc.pipeline.skeleton.make import suggested_launch
    from binalloc.pipeline.steps.kernels import find_kernel
    from binalloc.pipeline.sweeping.configuration import Subject

    wanted: Sequence[str | None] = kernels or [None if launch is None else launch.kernel]
    module, binary = module_of(data, file, machine, [name for name in wanted if name is not None])
    names = list(dict.fromkeys(find_kernel(module, name).name for name in wanted))
    model = machine_of(module, names[0], machine, runs=False)
    launches: dict[str, Launch] = {}
    for kernel in names:
        require_block(block, module.function(kernel).info, launch, module.path)
        launches[kernel] = suggested_launch(module, kernel, model, block) if launch is None else launch
        launches[kernel] = fitting(launches[kernel], module, kernel)
        if launch is None:
            note(f"{shown(file)}: {kernel} is launched as `binalloc launch-skeleton` suggests")
    return module, [Subject(shown(file), binary, kernel, launches[kernel], model) for kernel in names]


def _import(
    units: Sequence[TranslationUnit], machine: Machine | None, kernel: str | Sequence[str] | None
) -> tuple[Imported, str]:
    """Import all kernels, or only the named ones if others are refused; also return what to say about the others."""
    from binalloc.frontend.refused import NotImportable

    try:
        return imported_units(units, machine), ""
    except NotImportable:
        if not kernel:
            raise
    named = [kernel] if isinstance(kernel, str) else list(kernel)
    return imported_units(units, machine, kernels=named), ", alone, as not all others can be"


def units_of(
    data: bytes, file: str, architecture: str | None = None, machine: Machine | None = None
) -> list[TranslationUnit]:
    """Return the PTX of a file: its own text, the PTX in an object, program, library or fat binary, or nvcc's output.

    data: the file's bytes. architecture: which PTX to take if there are several; None for the usual choice. machine:
    machine for which nvcc compiles CUDA source; None for nvcc's default. Notes on stderr say what is left out.
    """
    from binalloc.frontend.fatbin.choose import choose
    from binalloc.frontend.nvcc import is_cuda_source
    from binalloc.frontend.units import TranslationUnit

    if is_cuda_source(data, file):
        data, architecture = _compiled(file, architecture, machine), None

    found = entries_of(data, file)
    if found is None:
        if architecture is not None:
            raise UsageError("--arch chooses among the PTX of a fat binary", file=shown(file), found="one text of PTX")
        return [TranslationUnit(decoded(data, file), shown(file))]
    chosen = choose(found, shown(file), architecture)
    for text in chosen.notes:
        note(f"{shown(file)}: {text}")
    return chosen.units


def _compiled(file: str, architecture: str | None, machine: Machine | None) -> bytes:
    """Compile CUDA source to PTX for the architecture, else the machine's. Notes on stderr quote nvcc."""
    from binalloc.frontend.fatbin.choose import architecture_of
    from binalloc.frontend.nvcc import CompilerSays, compile_cuda

    wanted = None if machine is None else machine.chip.cc
    if architecture is not None:
        wanted = architecture_of(architecture)
    try:
        made = compile_cuda(file, wanted)
    except MalformedInput as error:
        if isinstance(error.__cause__, CompilerSays):
            for line in str(error.__cause__).splitlines():
                note(line)
        raise
    note(f"{shown(file)}: {made.note}")
    return made.text


def _of_cubin(file: str) -> MalformedInput:
    """Return the error for a cubin: it holds SASS alone."""
    from binalloc.frontend.nvcc import HOW

    return MalformedInput(
        "this is a cubin: machine code of a GPU (SASS), which is not imported", file=shown(file), expected="PTX",
        remedy=f"Make PTX of its source ({HOW}), or give a program, object or .fatbin that was compiled with PTX in it "
        "(nvcc -gencode arch=compute_75,code=compute_75): a cubin itself holds none.",
    )  # fmt: skip


def entries_of(data: bytes, file: str) -> list[FatbinEntry] | None:
    """Return the pieces of CUDA code in a file; None if it is text. data: the file's bytes.

    Raise MalformedInput for binaries of another kind, and for damaged ones.
    """
    from binalloc.frontend.fatbin.entries import entries
    from binalloc.frontend.fatbin.objects import is_cubin, may_hold_code

    if may_hold_code(data):
        return entries(data, shown(file))
    if is_cubin(data):
        raise _of_cubin(file)
    if data.startswith(b"\x7fELF"):
        expected = "what nvcc writes from CUDA source"
        raise MalformedInput("this is a binary, not PTX", file=shown(file), expected=expected)
    return None


def imported_units(
    units: Sequence[TranslationUnit],
    machine: Machine | None,
    *,
    kernels: Sequence[str] | None = None,
    block_dim: tuple[int, int, int] | None = None,
    skip: bool = False,
    stack: int | None = None,
) -> Imported:
    """Import PTX. If kernels are refused and others can be imported, the error says how to import the others.

    kernels: names of the kernels to import; None for all. block_dim: block size of all launches, to be recorded. skip:
    whether kernels that cannot be imported are left out without an error. stack: bytes of each thread's stack for
    recursion; None for the default. Notes on stderr say which directives are ignored.
    """
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
            error.also(f"`binalloc import-ptx --skip-unsupported` imports the other kernels: {rest}.")
        raise
    for file in dict.fromkeys(one.file for one in imported.ignored):
        note(f"{file}: ignored: {sentence([one for one in imported.ignored if one.file == file])}")
    return imported

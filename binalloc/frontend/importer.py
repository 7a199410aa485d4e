"""This module turns PTX text into a Loom binary: the whole path of `binalloc import-ptx` as one function.

texts -> ptx.parser -> link.link -> lower.program.module -> opt.pipeline -> allocate.program (with transform)
      -> transform.schedule -> Module
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from binalloc.call_stack import with_room
from binalloc.collection import no_collection
from binalloc.errors import Hint, UsageError
from binalloc.frontend.allocate.program import Allocated, NoRoom, allocate
from binalloc.frontend.ignored import IgnoredText
from binalloc.frontend.ir import STACK_BYTES, STACK_LIMIT, VirtualProgram
from binalloc.frontend.ptx import ast
from binalloc.frontend.refused import NotImportable, NotImported, Refusal
from binalloc.frontend.units import TranslationUnit
from binalloc.isa.instruction import Module
from binalloc.models.machines.model import Machine
from binalloc.version import IMPORTER, VERSION


@dataclass
class KernelFigures:
    """The figures of a kernel say how many registers and bytes it takes, as its import found."""

    name: str
    register_demand: int  #: registers per thread without any limit, for the whole call graph
    max_live: int  #: greatest number of live 32-bit values
    instructions: int  #: words of the kernel and of all functions in its call graph
    shared_bytes: int  #: static shared memory per block
    local_bytes: int  #: local memory per thread
    calls: list[str]  #: functions in its call graph, sorted
    registers: int  #: registers per thread that the binary reserves
    predicates_spilled: int  #: predicates kept outside the seven predicate registers
    spilled: int  #: values moved to local memory because 255 registers do not hold them


@dataclass
class Imported:
    """An imported program is a binary, with the figures of its kernels and a list of all that was left out."""

    module: Module  #: the binary, scheduled for the machine asked for
    kernels: list[KernelFigures]  #: figures, in the order of the text
    #: kernels that cannot be imported, with the reasons; empty without `skip_unsupported`
    left_out: list[NotImported] = field(default_factory=list)
    ignored: list[IgnoredText] = field(default_factory=list)  #: directives that have no effect on the binary


@with_room
def import_ptx(
    text: str | Sequence[str],
    path: str | Sequence[str] = "",
    *,
    kernels: Sequence[str] | None = None,
    machine: Machine | str | Path | None = None,
    block_dim: tuple[int, int, int] | None = None,
    optimised: bool = True,
    skip_unsupported: bool = False,
    stack_bytes: int = STACK_BYTES,
) -> Imported:
    """Return the Loom binary of a PTX module, or of several that are linked.

    text: the text of the file, or a list of the texts of one program's files. path: where the text came from, for
    messages; for several texts a list of as many. kernels: only these (all by default). machine: the machine to
    schedule for, as a model, its name or its file (the machine of the text's `.target` by default). block_dim: the
    block size that all launches will have. optimised: False skips the optimiser, to separate defects of lowering from
    defects of the optimiser. skip_unsupported: leave out kernels that cannot be imported. stack_bytes: stack per thread
    for the frames of recursive functions.

    Raises MalformedInput, naming line and column, for text that is not PTX. Raises NotImportable for PTX that cannot be
    imported exactly; it names the kernels that can be imported. With skip_unsupported it is raised only where no kernel
    can be. Raises NotLinkable, with all contradictions, for files that contradict one another. Raises UsageError for a
    missing kernel and for a text that is given twice.
    """
    texts = [text] if isinstance(text, str) else list(text)
    paths = [path] * len(texts) if isinstance(path, str) else list(path)
    if not texts or len(texts) != len(paths):
        found = f"{len(texts)} texts, {len(paths)} paths"
        raise UsageError("texts and their paths", found=found, expected="at least one text, and a path for each")
    units = [TranslationUnit(*pair) for pair in zip(texts, paths, strict=True)]
    return import_units(
        units, kernels=kernels, machine=machine, block_dim=block_dim, optimised=optimised,
        skip_unsupported=skip_unsupported, stack_bytes=stack_bytes,
    )  # fmt: skip


@no_collection()
def import_units(
    units: Sequence[TranslationUnit],
    *,
    kernels: Sequence[str] | None = None,
    machine: Machine | str | Path | None = None,
    block_dim: tuple[int, int, int] | None = None,
    optimised: bool = True,
    skip_unsupported: bool = False,
    stack_bytes: int = STACK_BYTES,
) -> Imported:
    """Return the Loom binary of one program's translation units. The other arguments are as in `import_ptx`."""
    from binalloc.transform.schedule.banks import spread_over_banks
    from binalloc.transform.schedule.schedule import schedule

    if not 0 < stack_bytes <= STACK_LIMIT:
        expected = f"1 to {STACK_LIMIT}"
        raise UsageError("no size of a stack", place=Hint("{stack_bytes}"), found=stack_bytes, expected=expected)
    left_out: list[NotImported] = []
    while True:
        try:
            program = _program(units, kernels, block_dim, optimised, stack_bytes)
            target = _machine_of(program) if machine is None else _model(machine)
            allocated = _allocated(program, target, skip_unsupported)
            break
        except NotImportable as error:
            left_out += error.left_out
            if not skip_unsupported:
                raise
            if not error.importable:
                raise NotImportable(left_out, []) from error
            kernels = error.importable
    module = schedule(spread_over_banks(allocated.module, target), target)
    module.provenance = [_provenance(units, target.name, stack_bytes if allocated.recursive else None)]
    wanted = [name for name in allocated.figures if module.function(name).info.is_kernel]
    return Imported(module, [_figures(name, module, allocated) for name in wanted], left_out, program.ignored)


def _program(
    units: Sequence[TranslationUnit],
    kernels: Sequence[str] | None,
    block_dim: tuple[int, int, int] | None,
    optimised: bool,
    stack_bytes: int,
) -> VirtualProgram:
    """Return the program, lowered and optimised. Raises NotImportable."""
    from binalloc.frontend.lower.program.module import lower_module
    from binalloc.frontend.opt.pipeline import optimise

    # No name is bound to the syntax tree, so that its memory is free as soon as it is lowered: it is large.
    program = lower_module(_linked(units), kernels, block_dim, stack_bytes)
    if optimised:
        for routine in program.routines.values():
            optimise(routine)
    return program


def _model(machine: Machine | str | Path) -> Machine:
    from binalloc.models.machines.reader import load_machine

    return machine if isinstance(machine, Machine) else load_machine(machine)


def _machine_of(program: VirtualProgram) -> Machine:
    """Return the machine that belongs to the target in the text."""
    from binalloc.models.machines.reader import machine_of_target

    targets = (routine.info.target for routine in program.routines.values())
    return machine_of_target(next(filter(None, targets), ""))


def _allocated(program: VirtualProgram, target: Machine, skip_unsupported: bool) -> Allocated:
    """Allocate registers.

    Raises NoRoom where there are too few. With skip_unsupported, raises NotImportable instead, which names the kernels
    that have enough.
    """
    try:
        return allocate(program, target.sm.registers_per_thread)
    except NoRoom as error:
        if skip_unsupported:
            raise _without(program, error) from error
        raise


def _linked(units: Sequence[TranslationUnit]) -> ast.PtxModule:
    """Parse the units and link them to one module. Raises UsageError where two have the same text."""
    from binalloc.frontend.link.link import link
    from binalloc.frontend.ptx.parser import parse

    modules = [parse(unit.text, unit.path) for unit in units]
    seen: dict[str, TranslationUnit] = {}
    for unit, module in zip(units, modules, strict=True):
        # nvcc makes the same text, without any name, of all sources that have host code alone.
        something = module.functions or module.variables
        if something and seen.setdefault(unit.text, unit) is not unit:
            found = f"the text of {seen[unit.text].path or 'another'}"
            raise UsageError("the same file twice", file=unit.path or None, found=found, remedy="Give it once.")
    return link(modules, [unit.whole for unit in units])


def _without(program: VirtualProgram, error: NoRoom) -> NotImportable:
    """Return the refusal of the kernels that call, directly or through others, the routine with too few registers."""
    above = {error.routine}
    before = 0
    while before < len(above):  # callees come before callers, so only a cycle of calls needs further passes
        before = len(above)
        above.update(name for name in program.routines if error.callees[name] & above)
    kernels = [name for name, routine in program.routines.items() if routine.is_kernel]
    left_out = [NotImported(name, (Refusal(error.routine, error),)) for name in kernels if name in above]
    return NotImportable(left_out, [name for name in kernels if name not in above])


def _figures(name: str, module: Module, allocated: Allocated) -> KernelFigures:
    fn = module.function(name)
    figures = allocated.figures[name]
    calls = sorted(other.name for other in module.reached(fn, indirect=False) if other is not fn)
    words = sum(len(module.function(other)) for other in (name, *calls))
    return KernelFigures(
        name,
        figures.demand,
        figures.max_live,
        words,
        fn.info.shared_bytes,
        fn.info.local_bytes,
        calls,
        fn.info.registers,
        figures.predicates_spilled,
        figures.spilled,
    )


def _provenance(units: Sequence[TranslationUnit], machine: str, stack_bytes: int | None) -> dict[str, object]:
    """Return the record of the binary's origin: the hash of its one text, or of each text in their order.

    stack_bytes: stack per thread, where a function has its frames on a stack.
    """
    digests = [unit.sha256 for unit in units]
    inputs: dict[str, object] = {"input_sha256": digests[0]} if len(digests) == 1 else {"inputs_sha256": digests}
    stack = {} if stack_bytes is None else {"stack_bytes": stack_bytes}
    return {"tool": IMPORTER, "version": VERSION, **inputs, "machine": machine, **stack}

"""PTX text to a Loom binary: the whole path of `binalloc import-ptx` as one function.

texts -> ptx.parser -> link.link -> lower.module -> opt.pipeline -> allocate.program (with transform)
      -> transform.schedule -> Module
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from binalloc.collection import no_collection
from binalloc.errors import Hint, UsageError
from binalloc.frontend.allocate.program import Allocated, NoRoom, allocate
from binalloc.frontend.ignored import IgnoredText
from binalloc.frontend.ir import STACK_BYTES, STACK_LIMIT, Program
from binalloc.frontend.ptx import ast
from binalloc.frontend.refused import LeftOut, NotImportable, Refusal
from binalloc.frontend.units import Unit
from binalloc.isa.instruction import Module
from binalloc.models.machines.model import Machine
from binalloc.version import IMPORTER, VERSION

"""In the record that an import leaves of itself in the binary's provenance."""


@dataclass
class KernelFigures:
    """What the import of one kernel found.

    register_demand: registers per thread without any limit, for the whole call graph. max_live: greatest number of live
    32-bit values. instructions: words of the kernel and all it calls. shared_bytes: static, per block. local_bytes: per
    thread. calls: functions it reaches, sorted. registers: what the binary reserves. predicates_spilled, spilled:
    predicates kept outside the seven, values moved to local memory because 255 registers do not hold them.
    """

    name: str
    register_demand: int
    max_live: int
    instructions: int
    shared_bytes: int
    local_bytes: int
    calls: list[str]
    registers: int
    predicates_spilled: int
    spilled: int


@dataclass
class Imported:
    """module: scheduled for the machine asked for. kernels: figures, in the order of the text. left_out: kernels that
    cannot be imported, with the reasons; empty unless they were to be skipped. ignored: directives that nothing
    comes of."""

    module: Module
    kernels: list[KernelFigures]
    left_out: list[LeftOut] = field(default_factory=list)
    ignored: list[IgnoredText] = field(default_factory=list)


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
    """The Loom binary of a PTX module, or of several that are linked.

    text: of the file, or a list of the texts of one program's files. path: where it came from, for messages; of
    several texts a list of as many. kernels: only these (all by default). machine: to schedule for, a model, its
    name or its file (that of the text's `.target` otherwise). block_dim: the block size all launches will have.
    optimised: False leaves lowering's code as it is, to tell defects of the two apart. skip_unsupported: leave out
    kernels that cannot be imported. stack_bytes: of a thread, for the frames of functions that may come back to
    themselves. Raises MalformedInput, naming line and column, for text that is not PTX, for what cannot be imported
    exactly (NotImportable, which tells the kernels that can; with skip_unsupported only where none can), and for
    files that contradict one another (NotLinkable, which tells all contradictions); UsageError for a missing
    kernel, and for a text that is given twice.
    """
    texts = [text] if isinstance(text, str) else list(text)
    paths = [path] * len(texts) if isinstance(path, str) else list(path)
    if not texts or len(texts) != len(paths):
        found = f"{len(texts)} texts, {len(paths)} paths"
        raise UsageError("texts and their paths", found=found, expected="at least one text, and a path for each")
    units = [Unit(*pair) for pair in zip(texts, paths, strict=True)]
    return import_units(
        units, kernels=kernels, machine=machine, block_dim=block_dim, optimised=optimised,
        skip_unsupported=skip_unsupported, stack_bytes=stack_bytes,
    )  # fmt: skip


@no_collection()
def import_units(
    units: Sequence[Unit],
    *,
    kernels: Sequence[str] | None = None,
    machine: Machine | str | Path | None = None,
    block_dim: tuple[int, int, int] | None = None,
    optimised: bool = True,
    skip_unsupported: bool = False,
    stack_bytes: int = STACK_BYTES,
) -> Imported:
    """The Loom binary of one program's translation units, as `import_ptx` makes it of texts."""
    from binalloc.transform.schedule.banks import spread_over_banks
    from binalloc.transform.schedule.schedule import schedule

    if not 0 < stack_bytes <= STACK_LIMIT:
        expected = f"1 to {STACK_LIMIT}"
        raise UsageError("no size of a stack", place=Hint("{stack_bytes}"), found=stack_bytes, expected=expected)
    left_out: list[LeftOut] = []
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
    units: Sequence[Unit],
    kernels: Sequence[str] | None,
    block_dim: tuple[int, int, int] | None,
    optimised: bool,
    stack_bytes: int,
) -> Program:
    """Lowered and optimised. Raises NotImportable."""
    from binalloc.frontend.lower.program.module import lower_module
    from binalloc.frontend.opt.pipeline import optimise

    program = lower_module(_linked(units), kernels, block_dim, stack_bytes)  # what is parsed goes: it is much
    if optimised:
        for routine in program.routines.values():
            optimise(routine)
    return program


def _model(machine: Machine | str | Path) -> Machine:
    from binalloc.models.machines.reader import load_machine

    return machine if isinstance(machine, Machine) else load_machine(machine)


def _machine_of(program: Program) -> Machine:
    """The machine of the target that the text names."""
    from binalloc.models.machines.reader import machine_of_target

    targets = (routine.info.target for routine in program.routines.values())
    return machine_of_target(next(filter(None, targets), ""))


def _allocated(program: Program, target: Machine, skip_unsupported: bool) -> Allocated:
    """With registers. Raises NoRoom where they lack, NotImportable where it is to be skipped."""
    try:
        return allocate(program, target.sm.registers_per_thread)
    except NoRoom as error:
        if skip_unsupported:
            raise _without(program, error) from error
        raise


def _linked(units: Sequence[Unit]) -> ast.Module:
    """The units as one module."""
    from binalloc.frontend.link.link import link
    from binalloc.frontend.ptx.parser import parse

    modules = [parse(unit.text, unit.path) for unit in units]
    seen: dict[str, Unit] = {}
    for unit, module in zip(units, modules, strict=True):
        # What nvcc makes of sources for the host alone is one text, without a name in it.
        something = module.functions or module.variables
        if something and seen.setdefault(unit.text, unit) is not unit:
            found = f"the text of {seen[unit.text].path or 'another'}"
            raise UsageError("the same file twice", file=unit.path or None, found=found, remedy="Give it once.")
    return link(modules, [unit.whole for unit in units])


def _without(program: Program, error: NoRoom) -> NotImportable:
    """The refusal of the kernels that reach the routine which has too few registers."""
    above = {error.routine}
    before = 0
    while before < len(above):  # once, and once more where functions call one another in a circle
        before = len(above)
        above.update(name for name in program.routines if error.callees[name] & above)
    kernels = [name for name, routine in program.routines.items() if routine.is_kernel]
    left_out = [LeftOut(name, (Refusal(error.routine, error),)) for name in kernels if name in above]
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


def _provenance(units: Sequence[Unit], machine: str, stack_bytes: int | None) -> dict[str, object]:
    """What the binary says of where it comes from: the hash of its one text, or of each in their order. stack_bytes: of
    a thread, where a function has its frames on a stack."""
    digests = [unit.sha256 for unit in units]
    inputs: dict[str, object] = {"input_sha256": digests[0]} if len(digests) == 1 else {"inputs_sha256": digests}
    stack = {} if stack_bytes is None else {"stack_bytes": stack_bytes}
    return {"tool": IMPORTER, "version": VERSION, **inputs, "machine": machine, **stack}

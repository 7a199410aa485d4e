"""PTX text to a Loom binary: the whole path of `binalloc import-ptx` as one function.

text -> ptx.parser -> lower.module -> opt.pipeline -> allocate.program -> transform.schedule -> Module
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from binalloc.frontend.allocate.program import Allocated, NoRoom, allocate
from binalloc.isa.instruction import Module
from binalloc.models.machine_model import Machine

DEFAULT_MACHINE = "gtx680"
_RESERVES = (0, 24, 40, 64, 100)
"""Registers that callees leave to each caller, tried in turn where all together need more than 255."""


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
    """module: scheduled for the machine asked for. kernels: figures, in the order of the text."""

    module: Module
    kernels: list[KernelFigures]


def import_ptx(
    text: str,
    path: str = "",
    *,
    kernels: Sequence[str] | None = None,
    machine: Machine | None = None,
    block_dim: tuple[int, int, int] | None = None,
    optimised: bool = True,
) -> Imported:
    """The Loom binary of a PTX module.

    kernels: only these (all by default). machine: to schedule for (the default machine model otherwise). block_dim: the
    block size all launches will have. optimised: False leaves lowering's code as it is, to tell
    defects of the two apart. Raises MalformedInput, naming line and column, for text that is not PTX, for what
    cannot be imported exactly and for contradictory bounds, UsageError for a missing kernel.
    """
    from binalloc.frontend.lower.module import lower_module
    from binalloc.frontend.opt.pipeline import optimise
    from binalloc.frontend.ptx.parser import parse
    from binalloc.models.machine import load_machine
    from binalloc.transform.schedule import schedule

    parsed = parse(text, path)
    demand: dict[str, int] = {}
    for reserve in _RESERVES:
        program = lower_module(parsed, kernels, block_dim)
        wanted = [name for name, routine in program.routines.items() if routine.is_kernel]
        if optimised:
            for routine in program.routines.values():
                optimise(routine)
        try:
            allocated = allocate(program, reserve, demand)
            break
        except NoRoom as error:
            demand = error.demand
            if reserve == _RESERVES[-1]:
                raise
    target = machine if machine is not None else load_machine(DEFAULT_MACHINE)
    module = schedule(allocated.module, target)
    module.provenance = [_provenance(text, path, target.name)]
    return Imported(module, [_figures(name, module, allocated) for name in wanted])


def _figures(name: str, module: Module, allocated: Allocated) -> KernelFigures:
    fn = module.function(name)
    figures = allocated.figures[name]
    calls = _reached(module, name)
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


def _reached(module: Module, name: str) -> list[str]:
    """Functions that `name` calls, directly or not, sorted."""
    seen: set[str] = set()
    work = [name]
    while work:
        fn = module.function(work.pop())
        for index, instr in enumerate(fn.instrs):
            if instr.op.control == "call":
                callee = module.callee(fn, index)
                if callee is not None and callee.name not in seen:
                    seen.add(callee.name)
                    work.append(callee.name)
    return sorted(seen)


def _provenance(text: str, path: str, machine: str) -> dict[str, object]:
    from binalloc import __version__

    digest = hashlib.sha256(text.encode()).hexdigest()
    return {"tool": "binalloc import-ptx", "version": __version__, "input_sha256": digest, "machine": machine}

"""This module proves that a version does the same as the original, and makes the error if there is no proof."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from binalloc.errors import BinallocError, Hint, LimitHit, Refused
from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.instruction_set import InstructionSet
from binalloc.isa.sets.table import set_of
from binalloc.models.machines.model import Machine
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.version import Version, given_functions
from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.verify.report import Finding


def prove(module: Module, request: Request, version: Version) -> Version:
    """Prove that the version does the same as `module`, and return it as proven.

    A module is checked once. Raises what `require_proof` and `require_no_hazard` raise.
    """
    if version.proven:
        return version
    kept = request.prepared.proven
    if not any(seen is version.module for seen in kept):
        require_proof(module, version.module, request, version.idle_slots, version.allocator)
        require_no_hazard(version.module, request.machine)
        kept.append(version.module)
    return replace(version, proven=True)


def require_proof(
    module: Module, rewritten: Module, request: Request, idle_slots: int = 0, allocator: str = ""
) -> None:
    """Require the checker's proof that `rewritten` does the same as `module`.

    idle_slots: slots that it reserves on purpose and does not use. Raises Refused without a proof; LimitHit beyond the
    checker's limits; PluginFault if an installed package's allocator made the rewrite.
    """
    from binalloc.verify.checker import check

    report = check(module, rewritten, request.kernel, idle_slots=idle_slots)
    if not report.ok:
        raise _unproven(module, request, report.errors, allocator)


def require_no_hazard(module: Module, machine: Machine) -> None:
    """Raise Refused if control codes scheduled for `machine` leave a hazard on some path through the code."""
    from binalloc.verify.hazards.check import find_hazards

    hazards = find_hazards(module, machine.unit_latencies)
    if hazards:
        raise Refused(
            f"the control codes of the rewrite are wrong for {machine.name} ({count(len(hazards), 'hazard')})",
            place=str(hazards[0]),
            remedy="This is a defect of binalloc; nothing was written.",
        )


def _unproven(module: Module, request: Request, findings: Sequence[Finding], allocator: str) -> BinallocError:
    """Return an error that says why no proof was found.

    There are three reasons. The binary is beyond the checker's limits. Or the original depends on the contents of a
    register at launch, or on the address of slots. Or there is a defect, of ours or of the package with the allocator.
    """
    from binalloc.analysis.locations import names
    from binalloc.analysis.program import analyse
    from binalloc.transform.allocators.table import wrong_plan

    limit = next((f for f in findings if f.kind == "limit"), None)
    if limit is not None:
        return LimitHit(f"{request.kernel} is beyond what the checker follows", place=str(limit))
    deep = next((f for f in findings if f.kind == "stack"), None)
    if deep is not None:
        return Refused(
            f"{request.kernel} nests guarded calls so deep that, rewritten, its reconvergence stack may overflow",
            file=module.path or None,
            found=deep.found,
            expected=deep.expected,
            remedy="Make the calls unguarded (branch around them), or leave this kernel as it is.",
        )
    for name, fn in analyse(module, request.kernel, lift=True).functions.items():
        for index, location in fn.live.undefined:
            return Refused(
                f"{request.kernel} may read a value that nothing wrote; what it does then cannot be preserved",
                file=module.path or None,
                place=f".text.{name} word {index}",
                found=f"a read of {names(1 << location)[0]}",
                remedy="Initialise it in the source.",
            )
    read = reads_slots_place(set_of(module), given_functions(module, request))
    if read is not None:
        asked, name, index = read
        return Refused(
            f"{request.kernel} reads {asked}, which is another with slots",
            file=module.path or None,
            place=f".text.{name} word {index}",
            remedy=Hint("Ask for {slots} 0."),
        )
    blamed = wrong_plan(allocator, f"kernel {request.kernel}", str(findings[0]))
    return blamed or Refused(
        f"the rewrite of {request.kernel} could not be proven right ({count(len(findings), 'finding')})",
        place=str(findings[0]),
        remedy="This is a defect of binalloc; nothing was written.",
    )


def reads_slots_place(isa: InstructionSet, functions: Iterable[Function]) -> tuple[str, str, int] | None:
    """Return the first read of a special register whose value changes with slots: its name, the function and the word.

    The result is None if there is no such read.
    """
    for function in functions:
        for index, instr in enumerate(function.instrs):
            asked = isa.special_register(instr)
            if asked in (isa.limits.slot_base, isa.limits.shared_size):
                return asked, function.name, index
    return None

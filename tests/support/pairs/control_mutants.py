"""Mutants of control codes: each is one small defect such as a scheduling pass could make.

    for mutant in control_mutants(scheduled): mutant.kind, mutant.place, mutant.module

The instructions stay as they are. Some mutants are equivalent (a scoreboard another one stands in for, a wait that an
earlier one made needless); an oracle or a run can tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from binalloc.isa.instruction import Control, Function, Module
from binalloc.isa.table.fields import NO_BARRIER
from tests.support.pairs.mutants import Mutant

SCOREBOARDS = 6
KINDS = (
    "stall lowered",
    "stall zero",
    "write scoreboard dropped",
    "read scoreboard dropped",
    "write scoreboard changed",
    "read scoreboard changed",
    "scoreboards swapped",
    "wait dropped",
    "wait moved",
    "control codes swapped",
)


def changes(ctrl: Control, following: Control | None) -> Iterator[tuple[str, Control]]:
    """Every defective form of one control code, in the order of `KINDS`; following: that of the next word."""
    if ctrl.stall:
        yield KINDS[0], ctrl._replace(stall=ctrl.stall - 1)
    if ctrl.stall > 1:
        yield KINDS[1], ctrl._replace(stall=0)
    if ctrl.wbar != NO_BARRIER:
        yield KINDS[2], ctrl._replace(wbar=NO_BARRIER)
    if ctrl.rbar != NO_BARRIER:
        yield KINDS[3], ctrl._replace(rbar=NO_BARRIER)
    if ctrl.wbar != NO_BARRIER:
        yield KINDS[4], ctrl._replace(wbar=(ctrl.wbar + 1) % SCOREBOARDS)
    if ctrl.rbar != NO_BARRIER:
        yield KINDS[5], ctrl._replace(rbar=(ctrl.rbar + 1) % SCOREBOARDS)
    if ctrl.wbar != ctrl.rbar:
        yield KINDS[6], ctrl._replace(wbar=ctrl.rbar, rbar=ctrl.wbar)
    for b in range(SCOREBOARDS):
        if ctrl.wait >> b & 1:
            yield KINDS[7], ctrl._replace(wait=ctrl.wait & ~(1 << b))
            moved = ctrl.wait & ~(1 << b) | 1 << (b + 1) % SCOREBOARDS
            if moved != ctrl.wait:
                yield KINDS[8], ctrl._replace(wait=moved)
    if following is not None and following != ctrl:
        yield KINDS[9], following


def control_mutants(module: Module) -> Iterator[Mutant]:
    """Every mutant of every word of `module`, in the order of the code; `place` is the function and word index."""
    for number, fn in enumerate(module.functions):
        for index, instr in enumerate(fn.instrs):
            following = fn.instrs[index + 1].ctrl if index + 1 < len(fn.instrs) else None
            for kind, ctrl in changes(instr.ctrl, following):
                new = {index: ctrl}
                if kind == "control codes swapped":
                    new[index + 1] = instr.ctrl
                yield Mutant(kind, (fn.name, index), with_controls(module, number, new))


def with_controls(module: Module, number: int, controls: dict[int, Control]) -> Module:
    """`module` with other control codes at some words of function `number`."""
    fn = module.functions[number]
    instrs = list(fn.instrs)
    for index, ctrl in controls.items():
        instrs[index] = instrs[index].replace(ctrl=ctrl)
    functions: list[Function] = list(module.functions)
    functions[number] = replace(fn, instrs=instrs)
    return replace(module, functions=functions)

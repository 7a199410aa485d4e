"""What words of a function touch, and where its blocks begin: by registers and spaces alone."""

from __future__ import annotations

from binalloc.isa.instruction import Function, Instr
from binalloc.isa.interface.places import PRED
from binalloc.isa.interface.view import Ref
from binalloc.isa.loom.view import view

ENDS = ("branch", "call", "return", "exit")


def places(refs: tuple[Ref, ...]) -> set[tuple[str, int]]:
    return {(str(r.file), n) for r in refs for n in ((r.index,) if r.file == PRED else r.registers())}


def reads(instr: Instr) -> set[tuple[str, int]]:
    v = view(instr)
    guard = {(str(PRED), v.guard[0])} if v.guard is not None else set()
    return places(v.uses) | guard


def writes(instr: Instr) -> set[tuple[str, int]]:
    return places(view(instr).defs)


def block_starts(fn: Function) -> list[int]:
    """First words of the blocks, ascending, with the code's length behind them."""
    starts = {0, len(fn.instrs)}
    for i, instr in enumerate(fn.instrs):
        control = view(instr).control
        if control in ENDS:
            starts.add(i + 1)
        if control == "branch":
            starts.update((fn.target(i), fn.reconvergence(i) or 0))
    return sorted(starts)

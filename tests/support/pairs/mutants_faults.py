"""Mutants that execute what may fault where the original does not: above its branch, without its guard, added.

    for mutant in fault_mutants(rewritten, "kernel"): mutant.kind, mutant.place, mutant.module

No correct checker accepts one of them, if all words of the function can be reached.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from binalloc.isa.instruction import Instr, Module, make
from binalloc.isa.interface.banks import bank_bytes
from binalloc.isa.loom.view import view
from binalloc.isa.sets.table import may_fault
from binalloc.isa.table.opcodes import TEXTURE_QUERIES
from tests.support.pairs.mutants import Mutant, Piece, inserted, rebuild, replaced

ADDED: Mapping[str, Instr] = {
    "query added": make("TXQ", ra=0, tquery=TEXTURE_QUERIES.index("WIDTH")),
    "query of no handle added": make("TXQ", tquery=TEXTURE_QUERIES.index("LEVELS")),
    "surface address added": make("SUADDR", ra=0, rb=1, tdim=0, ssize=2),
    "fetch added": make("TEX", ra=0, rb=1, tchan=1),
    "indexed constant added": make("LDC", ra=0, cbank=3, width=4),
    "constant behind its bank added": make("LDC", cbank=3, coff=1 << 12, width=4),
    "operand behind its bank added": make("IADD3", ra=0, form=4, rc=1, cbank=0, coff=1 << 12),
    "load added": make("LDG", ra=0, width=4),
}
"""Without a result, so that nothing else is wrong with them."""


def fault_mutants(rewritten: Module, kernel: str) -> Iterator[Mutant]:
    """Every mutant of every function reachable from `kernel`, in a fixed order."""
    banks = bank_bytes(rewritten.constants, rewritten.function(kernel).info.params)
    for fn in rewritten.reached(rewritten.function(kernel)):
        count = len(fn.instrs)
        for i in range(0, count - 1, 3):
            for kind, instr in ADDED.items():
                yield Mutant(kind, (fn.name, i), inserted(rewritten, fn, i, instr))
        for i, instr in enumerate(fn.instrs):
            if instr.control or not may_fault(instr, banks) or not view(instr).defs:
                continue
            if instr.guarded:
                unguarded = replaced(rewritten, fn, i, instr.replace(guard=(7, False)))
                yield Mutant("guard of a faulting word lost", (fn.name, i), unguarded)
            above = max((k for k in range(i) if fn.instrs[k].name == "BRA" and fn.instrs[k].guarded), default=-1)
            if above >= 0 and view(instr).pure:
                pieces: list[Piece] = [k for k in range(count) if k != i]
                pieces.insert(above, i)
                yield Mutant("faulting word above its branch", (fn.name, i), rebuild(rewritten, fn, pieces))

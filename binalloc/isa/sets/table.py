"""This table has the instruction sets by name: adding one is one file and one row. The first is used for files that no
set recognises.

An operation's row names the set that it belongs to (`OpSpec.isa`), and so does a module; the functions here find the
set of an instruction or of a whole binary.
"""

from __future__ import annotations

from collections.abc import Mapping

from binalloc.isa.instruction import Instr, Module
from binalloc.isa.interface.instruction_set import InstructionSet
from binalloc.isa.interface.view import Faults, View
from binalloc.isa.sets.loom import LOOM
from binalloc.rows import by_name

SETS: dict[str, InstructionSet] = by_name((LOOM,))
"""The instruction sets by name; the first one takes files that none recognises."""


def set_of(what: Instr | Module) -> InstructionSet:
    """Return the instruction set of an instruction or of a module."""
    return SETS[what.isa if isinstance(what, Module) else what.op.isa]


def set_for(data: bytes) -> InstructionSet:
    """Return the instruction set of a file, binary or assembly, by its beginning. A file of no known set belongs to the
    first, whose error names the expected beginning."""
    return next((isa for isa in SETS.values() if isa.recognises(data)), next(iter(SETS.values())))


def view(instr: Instr) -> View:
    """Return the instruction's view, which its instruction set makes at the first call."""
    found: View | None = instr.seen
    return found if found is not None else SETS[instr.op.isa].view(instr)


def may_fault(instr: Instr, banks: Mapping[int, int]) -> bool:
    """Return whether executing the instruction may stop the run. All code that moves, repeats, inserts or removes
    instructions goes by this answer, and so does the checker. banks: bytes of constant memory, by bank
    (`interface.banks`)."""
    faults = view(instr).faults
    if faults != Faults.BANK:
        return faults != Faults.NEVER
    reads = set_of(instr).constant_reads(instr)
    return any(read.offset + read.size > banks.get(read.bank, 0) for read in reads)

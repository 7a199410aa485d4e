"""The instruction sets there are, by name: adding one is one file and one row. The first is asked for what none of
them recognises.

An operation's row names the set that it belongs to (`OpSpec.isa`), and so does a module; what is said of an instruction
or of a whole binary is found here.
"""

from __future__ import annotations

from collections.abc import Mapping

from binalloc.isa.instruction import Instr, Module
from binalloc.isa.interface.instruction_set import InstructionSet
from binalloc.isa.interface.view import Faults, View
from binalloc.isa.sets.loom import LOOM
from binalloc.rows import by_name

SETS: dict[str, InstructionSet] = by_name((LOOM,))


def set_of(what: Instr | Module) -> InstructionSet:
    """The instruction set of an instruction or of a module."""
    return SETS[what.isa if isinstance(what, Module) else what.op.isa]


def set_for(data: bytes) -> InstructionSet:
    """The instruction set of a file, binary or assembly, by how it begins. One that no set recognises is the first's,
    whose refusal says what was expected."""
    return next((isa for isa in SETS.values() if isa.recognises(data)), next(iter(SETS.values())))


def view(instr: Instr) -> View:
    """The instruction's view, as its instruction set made it when it was first asked for."""
    found: View | None = instr.seen
    return found if found is not None else SETS[instr.op.isa].view(instr)


def may_fault(instr: Instr, banks: Mapping[int, int]) -> bool:
    """Whether executing the instruction may stop the run: the one answer of all that move, repeat, insert or remove
    code, and of what checks them. banks: bytes of constant memory, by bank (`interface.banks`)."""
    faults = view(instr).faults
    if faults != Faults.BANK:
        return faults != Faults.NEVER
    reads = set_of(instr).constant_reads(instr)
    return any(read.offset + read.size > banks.get(read.bank, 0) for read in reads)

"""The few Loom instructions that transformations insert: `Builder` of the instruction interface."""

from __future__ import annotations

from binalloc.isa.instruction import Instr, make
from binalloc.isa.interface.places import SLOT_ROW
from binalloc.isa.interface.view import ALWAYS, Guard
from binalloc.isa.table.fields import RZ
from binalloc.isa.table.opcodes import FORM_IMM, SPECIAL_REGISTERS, WIDTHS

_WORD = WIDTHS.index("32")
_XOR = 0xF0 ^ 0xCC
_SLOT_BASE = SPECIAL_REGISTERS.index("SR_SLOTBASE")


def copy(target: int, source: int, guard: Guard = ALWAYS) -> Instr:
    """target = source, 32 bits."""
    return make("MOV", rd=target, rb=source, guard=guard)


def zero() -> tuple[Instr, str]:
    """Some register = 0, and the field of the target, which is to be filled in."""
    return make("MOV", rd=0, rb=RZ), "rd"


def load_slot(target: int, pointer: int, slot: int, guard: Guard = ALWAYS) -> Instr:
    """target = the thread's slot `slot`, counted from the slot pointer."""
    return make("LDS", rd=target, ra=pointer, moff=SLOT_ROW * slot, width=_WORD, spill=1, guard=guard)


def store_slot(source: int, pointer: int, slot: int, guard: Guard = ALWAYS) -> Instr:
    return make("STS", rb=source, ra=pointer, moff=SLOT_ROW * slot, width=_WORD, spill=1, guard=guard)


def load_local(target: int, offset: int, guard: Guard = ALWAYS) -> Instr:
    """target = the spill word at byte `offset` of the thread's local memory."""
    return make("LDL", rd=target, ra=RZ, moff=offset, width=_WORD, spill=1, guard=guard)


def store_local(source: int, offset: int, guard: Guard = ALWAYS) -> Instr:
    return make("STL", rb=source, ra=RZ, moff=offset, width=_WORD, spill=1, guard=guard)


def slot_pointer(register: int) -> Instr:
    """register = address of the thread's first slot; may be variable latency."""
    return make("S2R", rd=register, sreg=_SLOT_BASE)


def shift_pointer(register: int, slots: int) -> Instr:
    """Move the slot pointer up (or, negative, down) by whole slots: the moving stack's step."""
    return make("IADD3", form=FORM_IMM, rd=register, ra=register, imm=(SLOT_ROW * slots) & 0xFFFFFFFF)


def branch(*, guard: Guard, target: int, reconvergence: int) -> Instr:
    """A branch that may diverge; offsets in words relative to the next instruction."""
    return make("BRA", guard=guard, target=target, diverges=1, reconv=reconvergence)


def jump() -> Instr:
    """A branch that all lanes take; its offset is to be set."""
    return make("BRA")


def exchange(one: int, other: int) -> tuple[Instr, ...]:
    """Two registers, not the same, swap what they hold, without a third."""
    pairs = ((one, one, other), (other, one, other), (one, one, other))
    return tuple(make("LOP3", rd=rd, ra=ra, rb=rb, rc=RZ, lut=_XOR) for rd, ra, rb in pairs)


def stop() -> Instr:
    """End of the thread."""
    return make("EXIT")


def nothing() -> Instr:
    """A word that does nothing, for places that must stay apart."""
    return make("NOP")

"""Recognisers for the few instruction shapes that move values unchanged.

The instruction interface says what an instruction reads and writes; a checker that follows values must also know where
a result *is* one of the inputs. Needs nothing but the instruction; every function answers None for any other shape.
Guards are not looked at: a guarded copy is a copy in the lanes where it executes.
"""

from __future__ import annotations

from binalloc.isa.instruction import NO_REGISTER, Instr
from binalloc.isa.interface.places import ALL_PREDICATES
from binalloc.isa.table.fields import PT, RZ
from binalloc.isa.table.opcodes import FORM_IMM, FORM_REG, SPECIAL_REGISTERS


def register_copy(instr: Instr) -> tuple[int, int] | None:
    """(destination, source) of a 32-bit move between registers, neither of them RZ."""
    f = instr.f
    if instr.op.name != "MOV" or instr.form != FORM_REG or f["rd"] == RZ or f["rb"] == RZ:
        return None
    return f["rd"], f["rb"]


def register_zero(instr: Instr) -> bool:
    """True for a 32-bit move of RZ into a register."""
    f = instr.f
    return instr.op.name == "MOV" and instr.form == FORM_REG and f["rd"] != RZ and f["rb"] == RZ


def add_immediate(instr: Instr) -> tuple[int, int, int] | None:
    """(destination, source, signed immediate) of `IADD3 Rd, Ra, imm, RZ` without carries or negations."""
    f = instr.f
    if instr.op.name != "IADD3" or instr.form != FORM_IMM or RZ in (f["rd"], f["ra"]):
        return None
    if f["rc"] != RZ or f["nega"] or f["negc"] or f["x"] or f["pd0"] != PT or f["pd1"] != PT:
        return None
    imm = f["imm"] & 0xFFFFFFFF
    return f["rd"], f["ra"], imm - (1 << 32) if imm >> 31 else imm


def predicate_pack(instr: Instr) -> tuple[int, int, int] | None:
    """(destination, register whose other bits are kept, mask) of P2R: predicate i goes to bit i for i in the mask."""
    f = instr.f
    return (f["rd"], f["ra"], f["pmask"] & ALL_PREDICATES) if instr.op.name == "P2R" and f["rd"] != RZ else None


def predicate_unpack(instr: Instr) -> tuple[int, int] | None:
    """(source, mask) of R2P: bit i goes to predicate i for i in the mask."""
    f = instr.f
    return (f["ra"], f["pmask"] & ALL_PREDICATES) if instr.op.name == "R2P" else None


def special_register(instr: Instr) -> str | None:
    """Name of the special register read, or None; a reserved number reads as its decimal text."""
    number = instr.f.get("sreg")
    if number is None:
        return None
    return SPECIAL_REGISTERS[number] if 0 <= number < len(SPECIAL_REGISTERS) else str(number)


def is_nop(instr: Instr) -> bool:
    """True for the instruction that does nothing."""
    return instr.op.name == "NOP"


assert RZ == NO_REGISTER  # what is packed into zeros, or unpacked from them, names no register

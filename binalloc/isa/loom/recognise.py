"""The few instruction shapes that move values unchanged are recognised here, and barriers.

The instruction interface says what an instruction reads and writes. To follow values, a checker must also know where a
result *is* one of the inputs. Needs nothing but the instruction; every function returns None for any other shape.
Guards are ignored: a guarded copy is a copy in the lanes where it executes.
"""

from __future__ import annotations

from binalloc.isa.instruction import NO_REGISTER, Instr
from binalloc.isa.interface.barriers import Barrier
from binalloc.isa.interface.places import ALL_PREDICATES
from binalloc.isa.kinds import Flow
from binalloc.isa.table.fields import PT, RZ
from binalloc.isa.table.opcodes import BAR_MODES, FORM_IMM, FORM_REG, ICMPS, SPECIAL_REGISTERS

_NOT_EQUAL = ICMPS.index("NE")
_AND = 0  # value of `bop`: the comparison's result and a predicate
_THIRD_CLEAR, _APART = 0x55, 0x14
"""Entries of a table of LOP3: where the third operand's bit is 0, and of these where the others differ."""


def register_copy(instr: Instr) -> tuple[int, int] | None:
    """Return (destination, source) of a 32-bit move between registers, neither of them RZ."""
    f = instr.f
    if instr.op.name != "MOV" or instr.form != FORM_REG or f["rd"] == RZ or f["rb"] == RZ:
        return None
    return f["rd"], f["rb"]


def register_zero(instr: Instr) -> bool:
    """Return whether it is a 32-bit move of RZ into a register."""
    f = instr.f
    return instr.op.name == "MOV" and instr.form == FORM_REG and f["rd"] != RZ and f["rb"] == RZ


def add_immediate(instr: Instr) -> tuple[int, int, int] | None:
    """Return (destination, source, signed immediate) of `IADD3 Rd, Ra, imm, RZ` without carries or negations."""
    f = instr.f
    if instr.op.name != "IADD3" or instr.form != FORM_IMM or RZ in (f["rd"], f["ra"]):
        return None
    if f["rc"] != RZ or f["nega"] or f["negc"] or f["x"] or f["pd0"] != PT or f["pd1"] != PT:
        return None
    imm = f["imm"] & 0xFFFFFFFF
    return f["rd"], f["ra"], imm - (1 << 32) if imm >> 31 else imm


def predicate_pack(instr: Instr) -> tuple[int, int, int] | None:
    """Return (destination, register whose other bits are kept, mask) of P2R: predicate i goes to bit i for i in the
    mask."""
    f = instr.f
    return (f["rd"], f["ra"], f["pmask"] & ALL_PREDICATES) if instr.op.name == "P2R" and f["rd"] != RZ else None


def predicate_unpack(instr: Instr) -> tuple[int, int] | None:
    """Return (source, mask) of R2P: bit i goes to predicate i for i in the mask."""
    f = instr.f
    return (f["ra"], f["pmask"] & ALL_PREDICATES) if instr.op.name == "R2P" else None


def truth_of_predicate(instr: Instr) -> tuple[int, int] | None:
    """Return (destination, predicate) of SEL between zero and another constant: not zero where the predicate holds."""
    f = instr.f
    if instr.op.name != "SEL" or instr.form != FORM_IMM or f["rd"] == RZ or f["ra"] != RZ or f["ps0"] == PT:
        return None
    return (f["rd"], f["ps0"]) if f["ps0n"] and f["imm"] & 0xFFFFFFFF else None


def predicate_of_truth(instr: Instr) -> tuple[int, int] | None:
    """Return (predicate, source) of the comparison of a register with zero: true where it is not zero."""
    f = instr.f
    if instr.op.name != "ISETP" or f["icmp"] != _NOT_EQUAL or f["pd0"] == PT or f["pd1"] != PT or f["ra"] == RZ:
        return None
    zero = f["imm"] & 0xFFFFFFFF == 0 if instr.form == FORM_IMM else instr.form == FORM_REG and f["rb"] == RZ
    if not zero or f["bop"] != _AND or f["ex"] or f["ps0"] != PT or f["ps0n"]:
        return None
    return f["pd0"], f["ra"]


def exclusive_or(instr: Instr) -> tuple[int, int, int] | None:
    """Return (destination, one, other) of a bitwise exclusive or of two registers."""
    f = instr.f
    if instr.op.name != "LOP3" or instr.form != FORM_REG or f["pd0"] != PT or RZ in (f["rd"], f["ra"], f["rb"]):
        return None
    return (f["rd"], f["ra"], f["rb"]) if f["rc"] == RZ and f["lut"] & _THIRD_CLEAR == _APART else None


def special_register(instr: Instr) -> str | None:
    """Return the name of the special register that is read, or None; a reserved number is returned as its decimal
    text."""
    number = instr.f.get("sreg")
    if number is None:
        return None
    return SPECIAL_REGISTERS[number] if 0 <= number < len(SPECIAL_REGISTERS) else str(number)


def is_nop(instr: Instr) -> bool:
    """Return whether the instruction is the one that does nothing."""
    return instr.op.name == "NOP"


assert RZ == NO_REGISTER  # RZ as the operand of P2R or R2P is the interface's NO_REGISTER


def held_shared(instr: Instr) -> int | None:
    """Return the bytes that a BAR.ALLOC asks for, where they are an immediate."""
    return instr.f["imm"] if instr.control == Flow.ALLOC and instr.form == FORM_IMM else None


def barrier(instr: Instr) -> Barrier | None:
    """Return the barrier of a BAR, a BAR.ALLOC or a BAR.FREE."""
    f = instr.f
    if instr.control in (Flow.ALLOC, Flow.FREE):
        return Barrier(0, True, instr.control == Flow.ALLOC, 0)
    if instr.control != Flow.BARRIER:
        return None
    mode = BAR_MODES[f["bar"]]
    threads = 0 if instr.form == FORM_REG and f["rb"] == RZ else f["imm"] if instr.form == FORM_IMM else None
    gives = not f["ps0n"] if mode == "RED.OR" and f["ps0"] == PT else None
    return Barrier(f["barid"], mode != "ARV", mode.startswith("RED"), threads, gives)

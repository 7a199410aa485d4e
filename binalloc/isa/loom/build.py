"""The few Loom instructions that transformations insert are built here: `Builder` of the instruction interface."""

from __future__ import annotations

from binalloc.isa.instruction import Instr, make
from binalloc.isa.interface.places import SLOT_ROW, TRUE
from binalloc.isa.interface.view import ALWAYS, Guard
from binalloc.isa.kinds import Space
from binalloc.isa.table.fields import RZ
from binalloc.isa.table.opcodes import BAR_MODES, FORM_CONST, FORM_IMM, ICMPS, MODIFIERS, SPECIAL_REGISTERS, WIDTHS

_WORD = WIDTHS.index("32")  # value of the field `width`: 32 bits
_WIDTHS = {1: WIDTHS.index("U8"), 2: WIDTHS.index("U16"), 4: _WORD}  # by bytes
_LOADS = {Space.SHARED: "LDS", Space.LOCAL: "LDL"}
_STORES = {Space.SHARED: "STS", Space.LOCAL: "STL"}
_XOR = 0xF0 ^ 0xCC  # table of LOP3 for the exclusive or of its first two operands
_WHOLE = 0xFFFFFFFF  # mask of an immediate
_RIGHT = MODIFIERS["dir"].values.index("R")
_LESS = ICMPS.index("LT")
_EQUAL = ICMPS.index("EQ")
_ARRIVAL = BAR_MODES.index("ARV")
_ANY = BAR_MODES.index("RED.OR")
_SLOT_BASE = SPECIAL_REGISTERS.index("SR_SLOTBASE")


def copy(target: int, source: int, guard: Guard = ALWAYS) -> Instr:
    """Return an instruction: target = source, 32 bits."""
    return make("MOV", rd=target, rb=source, guard=guard)


def zero() -> tuple[Instr, str]:
    """Return an instruction that sets a register to 0, and the name of the field to write the register's number
    into."""
    return make("MOV", rd=0, rb=RZ), "rd"


def load_slot(target: int, pointer: int, slot: int, guard: Guard = ALWAYS) -> Instr:
    """Return an instruction: target = the thread's slot `slot`, counted from the slot pointer."""
    return make("LDS", rd=target, ra=pointer, moff=SLOT_ROW * slot, width=_WORD, spill=1, guard=guard)


def store_slot(source: int, pointer: int, slot: int, guard: Guard = ALWAYS) -> Instr:
    return make("STS", rb=source, ra=pointer, moff=SLOT_ROW * slot, width=_WORD, spill=1, guard=guard)


def load_local(target: int, offset: int, guard: Guard = ALWAYS) -> Instr:
    """Return an instruction: target = the spill word at byte `offset` of the thread's local memory."""
    return make("LDL", rd=target, ra=RZ, moff=offset, width=_WORD, spill=1, guard=guard)


def store_local(source: int, offset: int, guard: Guard = ALWAYS) -> Instr:
    return make("STL", rb=source, ra=RZ, moff=offset, width=_WORD, spill=1, guard=guard)


def load(target: int, space: Space, size: int, base: int | None, offset: int) -> Instr:
    """Return an instruction: target = 1, 2 or 4 bytes, zeros behind them, of shared or local memory."""
    return make(_LOADS[space], rd=target, ra=RZ if base is None else base, moff=offset, width=_WIDTHS[size])


def store(source: int, space: Space, size: int, base: int | None, offset: int) -> Instr:
    """Return an instruction: 1, 2 or 4 bytes of shared or local memory = the lowest of source."""
    return make(_STORES[space], rb=source, ra=RZ if base is None else base, moff=offset, width=_WIDTHS[size])


def slot_pointer(register: int) -> Instr:
    """Return an instruction: register = address of the thread's first slot; it may be of variable latency."""
    return make("S2R", rd=register, sreg=_SLOT_BASE)


def shift_pointer(register: int, slots: int) -> Instr:
    """Return the instruction that raises (or, negative, lowers) the slot pointer by whole slots: the step of the moving
    stack."""
    return make("IADD3", form=FORM_IMM, rd=register, ra=register, imm=(SLOT_ROW * slots) & _WHOLE)


def branch(*, guard: Guard, target: int, reconvergence: int) -> Instr:
    """Return a branch that may diverge; offsets are in words relative to the next instruction."""
    return make("BRA", guard=guard, target=target, diverges=1, reconv=reconvergence)


def jump() -> Instr:
    """Return a branch of all lanes. The caller sets its offset."""
    return make("BRA")


def exchange(one: int, other: int) -> tuple[Instr, ...]:
    """Return three exclusive ors that exchange the contents of two different registers, without a third one."""
    pairs = ((one, one, other), (other, one, other), (one, one, other))
    return tuple(make("LOP3", rd=rd, ra=ra, rb=rb, rc=RZ, lut=_XOR) for rd, ra, rb in pairs)


def stop(guard: Guard = ALWAYS) -> Instr:
    """Return the end of the thread."""
    return make("EXIT", guard=guard)


def add(target: int, one: int, other: int, guard: Guard = ALWAYS) -> Instr:
    """Return an instruction: target = one + other, 32 bits."""
    return make("IADD3", rd=target, ra=one, rb=other, rc=RZ, guard=guard)


def multiply_add(target: int, one: int, factor: int, other: int, guard: Guard = ALWAYS) -> Instr:
    """Return an instruction: target = one times factor + other, 32 bits."""
    return make("IMAD", form=FORM_IMM, rd=target, ra=one, imm=factor & _WHOLE, rc=other, guard=guard)


def shift_right(target: int, source: int, count: int, guard: Guard = ALWAYS) -> Instr:
    """Return an instruction: target = source shifted to the right, zeros behind it."""
    return make("SHF", form=FORM_IMM, rd=target, ra=RZ, imm=count, rc=source, dir=_RIGHT, hi=1, guard=guard)


def number(target: int, value: int, guard: Guard = ALWAYS) -> Instr:
    """Return an instruction: target = value."""
    return make("MOV", form=FORM_IMM, rd=target, imm=value & _WHOLE, guard=guard)


def parameter(target: int, offset: int, guard: Guard = ALWAYS) -> Instr:
    """Return an instruction: target = the word at a byte of the kernel's parameters."""
    return make("MOV", form=FORM_CONST, rd=target, cbank=0, coff=offset, guard=guard)


def special(target: int, name: str) -> Instr:
    """Return an instruction: target = a special register."""
    return make("S2R", rd=target, sreg=SPECIAL_REGISTERS.index(name))


def less(predicate: int, one: int, other: int) -> Instr:
    """Return an instruction: the predicate is whether `one` is less than `other`, both unsigned."""
    return make("ISETP", pd0=predicate, ra=one, rb=other, icmp=_LESS, u32cmp=1)


def same(predicate: int, one: int, other: int) -> Instr:
    """Return an instruction: the predicate is whether two registers are equal."""
    return make("ISETP", pd0=predicate, ra=one, rb=other, icmp=_EQUAL)


def product(target: int, one: int, other: int, third: int) -> Instr:
    """Return an instruction: target = one times other + third, 32 bits."""
    return make("IMAD", rd=target, ra=one, rb=other, rc=third)


def high(target: int, source: int, number: int) -> Instr:
    """Return an instruction: target = the upper word of source times number, both unsigned."""
    return make("IMAD.HI", form=FORM_IMM, rd=target, ra=source, imm=number, rc=RZ, u32=1)


def at_most(target: int, source: int, number: int) -> Instr:
    """Return an instruction: target = the lesser of source and number, both unsigned."""
    return make("IMNMX", form=FORM_IMM, rd=target, ra=source, imm=number, ps0=TRUE, u32=1)


def at_least(target: int, source: int, number: int) -> Instr:
    """Return an instruction: target = the greater of source and number, both unsigned."""
    return make("IMNMX", form=FORM_IMM, rd=target, ra=source, imm=number, ps0=TRUE, ps0n=1, u32=1)


def greater(target: int, one: int, other: int) -> Instr:
    """Return an instruction: target = the greater of two registers, both unsigned."""
    return make("IMNMX", rd=target, ra=one, rb=other, ps0=TRUE, ps0n=1, u32=1)


def table(target: int, one: int, other: int, third: int, rows: int) -> Instr:
    """Return an instruction: each bit of target is one of `rows`, chosen by a bit of each of three registers."""
    return make("LOP3", rd=target, ra=one, rb=other, rc=third, lut=rows)


def table_with(target: int, one: int, number: int, third: int, rows: int) -> Instr:
    """Return the same with a number in place of the second register."""
    return make("LOP3", form=FORM_IMM, rd=target, ra=one, imm=number, rc=third, lut=rows)


def plus(target: int, source: int, number: int) -> Instr:
    """Return an instruction: target = source + number, 32 bits."""
    return make("IADD3", form=FORM_IMM, rd=target, ra=source, imm=number & _WHOLE, rc=RZ)


def below(predicate: int, source: int, number: int) -> Instr:
    """Return an instruction: the predicate is whether `source` is less than `number`, both unsigned."""
    return make("ISETP", form=FORM_IMM, pd0=predicate, ra=source, imm=number, icmp=_LESS, u32cmp=1)


def equal(predicate: int, source: int, number: int) -> Instr:
    """Return an instruction: the predicate is whether `source` is equal to `number`."""
    return make("ISETP", form=FORM_IMM, pd0=predicate, ra=source, imm=number, icmp=_EQUAL)


def barrier(guard: Guard = ALWAYS) -> Instr:
    """Return a barrier of the whole block."""
    return make("BAR", barid=0, rb=RZ, guard=guard)


def counted_barrier(number: int, threads: int, guard: Guard = ALWAYS) -> Instr:
    """Return a wait at one of the block's barriers until so many threads have arrived."""
    return make("BAR", form=FORM_IMM, barid=number, imm=threads, guard=guard)


def arrival(number: int, threads: int, guard: Guard = ALWAYS) -> Instr:
    """Return an arrival at one of the block's barriers, for so many threads, that does not wait."""
    return make("BAR", form=FORM_IMM, barid=number, imm=threads, bar=_ARRIVAL, guard=guard)


def vote(gives: bool, predicate: int = TRUE) -> Instr:
    """Return a barrier of the whole block at which a thread gives a truth value: the predicate is whether any gave
    "true"."""
    return make("BAR", bar=_ANY, pd0=predicate, barid=0, rb=RZ, ps0=TRUE, ps0n=int(not gives))


def hold_shared(register: int, size: int) -> Instr:
    """Return a barrier of the whole block at which it gets shared memory."""
    return make("BAR.ALLOC", form=FORM_IMM, rd=register, imm=size)


def free_shared(register: int) -> Instr:
    """Return a barrier of the whole block at which it gives back what it holds."""
    return make("BAR.FREE", ra=register)


def release_shared(guard: Guard = ALWAYS) -> Instr:
    """Return an instruction by which a thread releases the shared memory that its block shares with another."""
    return make("RELSSP", guard=guard)


def nothing() -> Instr:
    """Return a word without effect, to keep two places in the code apart."""
    return make("NOP")

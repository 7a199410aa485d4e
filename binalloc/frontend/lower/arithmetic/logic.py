"""This module lowers bitwise logic and shifts, also of predicates: and, or, xor, not, cnot, lop3, shl, shr, shf (PTX
ISA 9.7.8).

PTX clamps shift counts to the width, and so does Loom's SHF: to 64 bits for 64-bit values.
"""

from __future__ import annotations

from binalloc.frontend.emitter import MASK, Imm, Source
from binalloc.frontend.ir import RZ
from binalloc.frontend.lower.arithmetic import wide
from binalloc.frontend.lower.context.context import Context, Handler, Pred
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import TYPE_BYTES, Instruction

BITS = ("b16", "b32", "b64", "pred")  # types of logic instructions
A, B, C = 0xF0, 0xCC, 0xAA
"""Truth tables of LOP3 and PLOP3: the first, second and third source. Other tables are combinations of these."""

AND, OR, XOR, NOT_A = A & B, A | B, A ^ B, 0x0F
SELECT = (A & B) | (C & ~B & 0xFF)
"""Truth table of a where b has ones, and c where it has zeros."""

_TABLES = {"and": AND, "or": OR, "xor": XOR}  # opcode -> truth table


def combine_predicates(ctx: Context, target: int, a: Pred, b: Pred, lut: int) -> None:
    """Set predicate `target` to truth table `lut` of a and b."""
    ctx.b.emit("PLOP3", pd0=target, ps0=a[0], ps0n=a[1], ps1=b[0], ps1n=b[1], lut_b=lut, lut2=0)


def copy_predicate(ctx: Context, target: int, source: Pred) -> None:
    """Set predicate `target` to the source."""
    ctx.b.emit("PLOP3", pd0=target, ps0=source[0], ps0n=source[1], lut_b=A, lut2=0)


def lop(ctx: Context, rd: int, a: Source, b: Source, lut: int) -> None:
    """Emit rd = a two-input function. A constant of zeros or ones makes it a copy or an inversion."""
    if isinstance(a, Imm) and not isinstance(b, Imm):
        a, b = b, a  # and, or, xor are commutative
    if b in (RZ, Imm(0), Imm(MASK)):
        ones = b == Imm(MASK)
        if lut == AND:
            ctx.b.move(rd, a if ones else RZ)
            return
        if lut == OR or not ones:
            ctx.b.move(rd, Imm(MASK) if ones else a)
            return
    ctx.b.emit("LOP3", rd=rd, a=a, b=b, c=RZ, lut=lut)


def select_bits(ctx: Context, rd: int, a: Source, mask: Source, c: Source) -> None:
    """Emit rd = a where `mask` has ones, c where it has zeros."""
    if mask in (RZ, Imm(0)):
        ctx.b.move(rd, c)
    elif mask == Imm(MASK):
        ctx.b.move(rd, a)
    else:
        ctx.b.emit("LOP3", rd=rd, a=a, b=mask, c=ctx.b.unit(c), lut=SELECT)


def _logic(ctx: Context, ins: Instruction) -> None:
    """Lower and, or, xor."""
    m = ctx.modifiers()
    type_ = m.type(*BITS)
    m.done()
    d, a, b = ctx.operands(3)
    lut = _TABLES[ins.op]
    if type_ == "pred":
        combine_predicates(ctx, ctx.dest_predicate(d), ctx.predicate(a), ctx.predicate(b), lut)
    elif type_ == "b64":
        rd, first, second = wide.target(ctx, d, type_), ctx.wide(a, type_), ctx.wide(b, type_)
        for k in range(2):
            lop(ctx, rd + k, first[k], second[k], lut)
    else:
        lop(ctx, ctx.dest(d, type_), ctx.word(a, type_), ctx.word(b, type_), lut)


def _not(ctx: Context, ins: Instruction) -> None:
    m = ctx.modifiers()
    type_ = m.type(*BITS)
    m.done()
    d, a = ctx.operands(2)
    if type_ == "pred":
        number, negated = ctx.predicate(a)
        copy_predicate(ctx, ctx.dest_predicate(d), (number, 1 - negated))
        return
    if type_ == "b64":
        rd, words = wide.target(ctx, d, type_), ctx.wide(a, type_)
    else:
        rd, words = ctx.dest(d, type_), (ctx.word(a, type_),)  # type: ignore[assignment]
    for k, word in enumerate(words):
        ctx.b.emit("LOP3", rd=rd + k, a=word, b=RZ, c=RZ, lut=NOT_A)


def _cnot(ctx: Context, ins: Instruction) -> None:
    """Lower cnot: d = (a = 0) ? 1 : 0."""
    m = ctx.modifiers()
    type_ = m.type("b16", "b32", "b64")
    m.done()
    d, a = ctx.operands(2)
    zero = ctx.b.predicate()
    if type_ == "b64":
        either, (low, high) = ctx.b.new(), ctx.wide(a, type_)
        lop(ctx, either, low, high, OR)
        rd = wide.target(ctx, d, type_)
        ctx.b.move(rd + 1, RZ)
    else:
        either, rd = ctx.b.unit(ctx.extended(a, type_)), ctx.dest(d, type_)
    ctx.b.emit("ISETP", pd0=zero, a=either, b=RZ, icmp="EQ", u32cmp=1)
    wide.pick(ctx, rd, Imm(1), RZ, (zero, 0))


def _lop3(ctx: Context, ins: Instruction) -> None:
    """Lower lop3, also with the predicate (d != 0) BoolOp q."""
    m = ctx.modifiers()
    joined = m.take("or", "and")
    m.type("b32")
    m.done()
    d, a, b, c, table, *rest = ctx.operands(6 if joined else 5)
    if not isinstance(table, ast.Integer) or not 0 <= table.value <= 255:
        ctx.refuse("lop3 needs its table as a constant", expected="0 .. 255")
    first, second, third = (ctx.word(o, "b32") for o in (a, b, c))
    if not joined:
        ctx.b.emit("LOP3", rd=ctx.dest(d, "b32"), a=first, b=second, c=third, lut=table.value)
        return
    if not isinstance(d, ast.Dual):
        ctx.refuse(f"lop3.{joined} has two destinations", expected="d|p")
    truth, other = ctx.b.predicate(), ctx.predicate(rest[0])
    ctx.b.emit("LOP3", rd=ctx.dest(d.first, "b32"), pd0=truth, a=first, b=second, c=third, lut=table.value)
    combine_predicates(ctx, ctx.dest_predicate(d.second), (truth, 0), other, _TABLES[joined])


# ---------------------------------------------------------------------------------------------------------------------
# Shifts.


def count_of(ctx: Context, operand: ast.Operand, type_: str = "u32") -> Source:
    """Return a shift count. A negative constant is a large unsigned number, and so is limited to the width."""
    return ctx.word(operand, type_)


def _shl(ctx: Context, ins: Instruction) -> None:
    m = ctx.modifiers()
    type_ = m.type("b16", "b32", "b64")
    m.done()
    d, a, n = ctx.operands(3)
    count = count_of(ctx, n)
    if type_ == "b64":
        wide.shift_left(ctx, wide.target(ctx, d, type_), ctx.wide(a, type_), count)
    else:
        shift_word_left(ctx, ctx.dest(d, type_), ctx.word(a, type_), count)


def shift_word_left(ctx: Context, rd: int, a: Source, count: Source) -> None:
    """Emit rd = a << min(count, 32)."""
    if isinstance(count, Imm) and count.bits >= 32:
        ctx.b.move(rd, RZ)
    elif count in (Imm(0), RZ):
        ctx.b.move(rd, a)
    else:
        ctx.b.emit("SHF", rd=rd, a=a, b=count, c=RZ, dir="L")


def shift_word_right(ctx: Context, rd: int, a: Source, count: Source, *, signed: bool) -> None:
    """Emit rd = a >> min(count, 32), filled with copies of the sign or zeros."""
    if isinstance(count, Imm):
        count = Imm(min(count.bits, 31 if signed else 32))
        if count.bits == 32:
            ctx.b.move(rd, RZ)
            return
    if count in (Imm(0), RZ):
        ctx.b.move(rd, a)
    else:
        ctx.b.emit("SHF", rd=rd, a=RZ, b=count, c=a, dir="R", stype="S32" if signed else "U32", hi=1)


def _shr(ctx: Context, ins: Instruction) -> None:
    m = ctx.modifiers()
    type_ = m.type("b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64")
    m.done()
    d, a, n = ctx.operands(3)
    count, signed = count_of(ctx, n), type_[0] == "s"
    if TYPE_BYTES[type_] == 8:
        wide.shift_right(ctx, wide.target(ctx, d, type_), ctx.wide(a, type_), count, signed=signed)
    else:
        shift_word_right(ctx, ctx.dest(d, type_), ctx.extended(a, type_), count, signed=signed)


def _shf(ctx: Context, ins: Instruction) -> None:
    """Lower the funnel shift: .l gives the upper word of {b,a} << n, .r the lower one of {b,a} >> n."""
    m = ctx.modifiers()
    direction, mode = m.take("l", "r"), m.take("clamp", "wrap")
    m.type("b32")
    m.done()
    if not direction or not mode:
        m.refuse("shf without direction or mode", expected="shf.l or .r, .wrap or .clamp")
    d, a, b, n = ctx.operands(4)
    left = direction == "l"
    ctx.b.emit(
        "SHF",
        rd=ctx.dest(d, "b32"),
        a=ctx.word(a, "b32"),
        b=count_of(ctx, n),
        c=ctx.word(b, "b32"),
        dir="L" if left else "R",
        hi=int(left),
        wrap=int(mode == "wrap"),
    )


PURE: dict[str, Handler] = {
    "and": _logic,
    "or": _logic,
    "xor": _logic,
    "not": _not,
    "cnot": _cnot,
    "lop3": _lop3,
    "shl": _shl,
    "shr": _shr,
    "shf": _shf,
}

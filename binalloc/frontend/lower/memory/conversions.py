"""This module lowers conversions between address spaces, cvta, and tests of an address's space, isspacep (PTX ISA
9.7.9.20, 9.7.9.25).

Shared and local memory have windows among generic addresses; global addresses are generic already. If the address of a
constant becomes generic, all constants have a copy in global memory, at the same offsets. If the address of a kernel's
parameter becomes generic, each thread has a copy in its local frame (`parameters.enter`). Nothing writes to these
copies.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Imm, Source, imm
from binalloc.frontend.ir import RZ
from binalloc.frontend.lower.context.context import Context, Handler
from binalloc.frontend.lower.memory import address
from binalloc.frontend.lower.memory.memory import SPACES
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import TYPE_BYTES, Instruction
from binalloc.isa.instruction import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_SIZE

_WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}  # space -> first address of its window
_WINDOW_BITS = WINDOW_SIZE.bit_length() - 1  # bits of an offset in a window: the bits above are the window's number


def _window(ctx: Context, space: str) -> int:
    """Return the number that makes an address of a space generic when it is added."""
    if space == "const":
        assert ctx.layout.constants_copy is not None, "the scan has seen the instruction"
        return ctx.layout.constants_copy[0]
    if space == "param":
        return LOCAL_WINDOW + ctx.layout.parameter_copies.get(ctx.function.name, 0)
    return _WINDOWS.get(space, 0)


def cvta(ctx: Context, ins: Instruction) -> None:
    """Lower cvta{.to}.space: add or subtract the start of a window, in 64 bits."""
    m = ctx.modifiers()
    to = m.has("to")
    space = SPACES.get(m.take(*SPACES, "shared::cluster"), "")
    type_ = m.type("u64", "u32", "s64", "s32", "b64", "b32")
    m.done()
    target, source = ctx.operands(2)
    if not space:
        ctx.refuse("cvta without a space", expected=".global, .shared, .local, .const or .param")
    window = _window(ctx, space) * (-1 if to else 1)
    if isinstance(source, ast.Symbol) and not to:
        address.variable(ctx, source, *(("param", "local") if space == "param" else (space,)))
    if TYPE_BYTES[type_] == 4:
        low: Source = ctx.word(source, type_)
        ctx.b.move(ctx.dest(target, type_), address.add(ctx, ctx.b.unit(low), window) if window else low, None)
        return
    out = ctx.dest(target, type_)
    words = ctx.wide(source, type_)
    if window:
        pair = address.add_wide(ctx, ctx.b.pair(*words), window)
        words = (pair, pair + 1)
    ctx.b.move(out, words[0])
    ctx.b.move(out + 1, words[1])


def isspacep(ctx: Context, ins: Instruction) -> None:
    """Lower isspacep: whether a generic address is in a space's window, or in the copy of the constants.

    Addresses outside of all windows and of the copy are global. No generic address is a parameter's: parameters have
    their copies in local memory.
    """
    m = ctx.modifiers()
    space = SPACES.get(m.take(*SPACES), "")
    m.done()
    if not space:
        ctx.refuse("isspacep without a space", expected=".global, .shared, .local, .const or .param")
    target, source = ctx.operands(2)
    out, copy = ctx.dest_predicate(target), ctx.layout.constants_copy
    type_ = ctx.function.registers[source.name] if isinstance(source, ast.Register) else "u64"
    low, high = ctx.wide(source, type_) if TYPE_BYTES[type_] == 8 else (ctx.word(source, type_), Imm(0))
    if space == "param" or (space == "const" and copy is None):
        ctx.b.emit("PLOP3", pd0=out, lut_b=0, lut2=0)
        return
    window, short = ctx.b.new(), ctx.b.predicate()
    ctx.b.emit("ISETP", pd0=short, a=ctx.b.unit(high), b=Imm(0), icmp="EQ", u32cmp="U32")
    if space != "const":
        ctx.b.emit("SHF", rd=window, a=RZ, b=Imm(_WINDOW_BITS), c=ctx.b.unit(low), dir="R", stype="U32", hi="HI")
    if space in ("shared", "local"):
        number = {"shared": 1, "local": 2}[space]
        ctx.b.emit("ISETP", pd0=out, a=window, b=Imm(number), icmp="EQ", u32cmp="U32", ps0=short)
        return
    constant = -1
    if copy is not None:
        constant = out if space == "const" else ctx.b.predicate()
        offset = address.add(ctx, ctx.b.unit(low), -copy[0])
        ctx.b.emit("ISETP", pd0=constant, a=offset, b=imm(copy[1]), icmp="LT", u32cmp="U32", ps0=short)
        if space == "const":
            return
    inside, less = ctx.b.predicate(), address.add(ctx, window, -1)  # windows 1 and 2 are not global
    ctx.b.emit("ISETP", pd0=inside, a=less, b=Imm(2), icmp="LT", u32cmp="U32", ps0=short)
    if constant < 0:
        ctx.b.emit("PLOP3", pd0=out, ps0=inside, lut_b=0x0F, lut2=0)
    else:
        ctx.b.emit("PLOP3", pd0=out, ps0=inside, ps1=constant, ps1n=0, lut_b=0x03, lut2=0)  # neither


PURE: dict[str, Handler] = {"cvta": cvta, "isspacep": isspacep}

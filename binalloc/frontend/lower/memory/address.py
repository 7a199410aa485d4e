"""This module turns the addresses of PTX memory operands into Loom's base register and offset.

The operands are `[reg+imm]`, `[variable+imm]` and `[imm]`.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Imm, imm
from binalloc.frontend.ir import RZ
from binalloc.frontend.lower.context.context import Context
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import TYPE_BYTES

OFFSET_LIMIT = 1 << 23
"""Loom's memory offset is a signed number of 24 bits."""

LARGEST = 16
"""Accesses of several words add at most this many bytes to the offset."""


def operand(ctx: Context, given: ast.Operand) -> ast.Address:
    """Return the operand as an address. Refuses any other operand."""
    if isinstance(given, ast.Address):
        return given
    raise ctx.error("not an address", expected="[register+constant], [variable+constant] or [constant]")


def variable(ctx: Context, base: ast.Symbol, *spaces: str) -> int:
    """Return the address of a variable, which must be in one of `spaces`. On the stack it counts from the frame's
    start."""
    space, address = ctx.place(base.name)
    space = "local" if space == "frame" else space
    if space not in spaces:
        ctx.refuse(f"{base.name} lies in .{space}", expected="a variable in ." + " or .".join(spaces))
    return address + base.offset


def space_of(ctx: Context, given: ast.Operand, space: str) -> str:
    """Return the space of an access: a generic access by a variable's name is in the variable's space."""
    base = given.base if isinstance(given, ast.Address) else None
    if space != "generic" or not isinstance(base, ast.Symbol):
        return space
    found = ctx.place(base.name)[0]
    return {"global": "generic", "frame": "local"}.get(found, found)


def wide(ctx: Context, given: ast.Operand, space: str) -> tuple[int, int]:
    """Return (pair, offset) of a global or generic address."""
    address = operand(ctx, given)
    base, offset = address.base, address.offset
    if isinstance(base, ast.Register):
        unit, size = _held(ctx, base.name)
        pair = unit if size == 8 else ctx.b.pair(unit, RZ)
        return (pair, offset) if _fits(offset) else (add_wide(ctx, pair, offset), 0)
    if base is None:
        if offset >= 0 and _fits(offset):
            return RZ, offset
        return ctx.b.pair(imm(offset), imm(offset >> 32)), 0
    place = variable(ctx, base, "global")
    if _fits(offset):
        return ctx.b.pair(imm(place), imm(place >> 32)), offset
    return ctx.b.pair(imm(place + offset), imm(place + offset >> 32)), 0


def narrow(ctx: Context, given: ast.Operand, space: str) -> tuple[int, int]:
    """Return (unit or RZ, offset) of a shared or local address. Of a 64-bit register the low word is used."""
    address = operand(ctx, given)
    base, offset = address.base, address.offset
    if isinstance(base, ast.Register):
        unit, _ = _held(ctx, base.name)
        return (unit, offset) if _fits(offset) else (add(ctx, unit, offset), 0)
    place = offset + (variable(ctx, base, space) if base is not None else 0)
    if base is not None and ctx.place(base.name)[0] == "frame":
        return (ctx.frame, place) if _fits(place) else (add(ctx, ctx.frame, place), 0)
    return (RZ, place) if place >= 0 and _fits(place) else (ctx.b.unit(imm(place)), 0)


def _held(ctx: Context, name: str) -> tuple[int, int]:
    """Return (unit, bytes) of the address in a register. Registers of 8 and 16 bits are extended to 32 by their
    type."""
    type_ = ctx.function.registers[name]
    size = TYPE_BYTES[type_]
    if "f" in type_ or size not in (1, 2, 4, 8):
        ctx.refuse(f"{name} cannot hold an address", expected="an integer register of at most 64 bits")
    if size >= 4:
        return ctx.register(name), size
    return ctx.b.unit(ctx.extend(ctx.register(name), size, signed=type_[0] == "s")), 4


def _fits(offset: int) -> bool:
    return -OFFSET_LIMIT <= offset < OFFSET_LIMIT - LARGEST


def add(ctx: Context, unit: int, value: int) -> int:
    """Return unit + value modulo 2^32, in a fresh unit."""
    out = ctx.b.new()
    ctx.b.emit("IADD3", rd=out, a=unit, b=imm(value), c=RZ)
    return out


def add_wide(ctx: Context, pair: int, value: int) -> int:
    """Return pair + value modulo 2^64, in a fresh pair."""
    out = ctx.b.new(2)
    high = pair if pair == RZ else pair + 1
    carry = ctx.b.predicate()
    ctx.b.emit("IADD3", rd=out, pd0=carry, a=pair, b=imm(value), c=RZ)
    ctx.b.emit("IADD3", rd=out + 1, a=high, b=Imm(value >> 32 & 0xFFFFFFFF), c=RZ, ps0=carry, ps0n=0, x="X")
    return out

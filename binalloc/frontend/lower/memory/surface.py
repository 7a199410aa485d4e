"""This module lowers surface accesses: suld.b, sust.b, sured.b and sured.p.

SUADDR computes the address and whether there is one. The access itself is an access of global memory. Geometries are
.1d, .2d, .3d and, for loads and stores, layers (.a1d, .a2d; the faces of cubes are layers, too). x counts bytes, in
sured.p texels. For accesses outside of the surface, .trap faults and .clamp takes the nearest element. .zero reads
zeros and writes nothing.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Imm, Source, imm
from binalloc.frontend.ir import PT, RZ
from binalloc.frontend.lower.context.context import Context, Fields, Handler
from binalloc.frontend.lower.context.modifiers import Modifiers
from binalloc.frontend.lower.memory.atomic import ATYP
from binalloc.frontend.lower.memory.memory import CACHE, AccessModifiers, deliver, read_elements, write_elements
from binalloc.frontend.lower.memory.texture import object_handle
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import TYPE_BYTES, Instruction

_GEOMETRIES = {
    "1d": ("1D", "", 1), "2d": ("2D", "", 2), "3d": ("3D", "", 3), "a1d": ("2D", "A", 2), "a2d": ("3D", "A", 3),
}  # fmt: skip
"""Geometry -> (SUADDR's dimensions, SUADDR's layers, number of coordinates with the layer)."""
_LENGTHS = {1: 1, 2: 2, 3: 4}
"""Number of coordinates -> elements of the vector that holds them."""
_BOUNDS = ("trap", "clamp", "zero")  # what an access outside of the surface does
_DATA = ("b8", "b16", "b32", "b64")  # types of loads and stores
_REDUCTIONS = {
    "add": ("u32", "s32", "u64"), "min": ("u32", "s32", "u64", "s64"), "max": ("u32", "s32", "u64", "s64"),
    "and": ("b32",), "or": ("b32",),
}  # fmt: skip
"""Operation of sured.b -> types."""
_FORMATTED = {"add": ("b32",), "min": ("b32", "b64"), "max": ("b32", "b64"), "and": ("b32",), "or": ("b32",)}
"""Operation of sured.p -> types."""
_SIGNED_TYPES = 0x10D7, 0x10D9
"""The first and last answer of TXQ.TYPE for signed integers."""
_MOST_BYTES = 16  # most bytes of a vector: Loom's widest access


def load(ctx: Context, ins: Instruction) -> None:
    """Lower suld.b."""
    m = ctx.modifiers()
    name, bound = _place_of(m)
    access = _access(m)
    target, place = ctx.operands(2)
    items = _items(ctx, target, access)
    fields = _address(ctx, place, name, bound, access, found=bound == "zero") | {"cache": access.cache}
    guard = ctx.guard
    if bound == "zero":
        ctx.guard = fields.pop("found"), False
    found = read_elements(ctx, "LDG", fields, 0, access, zeroed=bound == "zero")
    ctx.guard = guard
    deliver(ctx, items, access.type, found)


def store(ctx: Context, ins: Instruction) -> None:
    """Lower sust.b."""
    m = ctx.modifiers()
    name, bound = _place_of(m)
    access = _access(m)
    place, source = ctx.operands(2)
    size = TYPE_BYTES[access.type]
    values: list[tuple[Source, ...]] = [
        ctx.wide(item, access.type, wider=True) if size == 8 else (ctx.word(item, access.type, wider=True),)
        for item in _items(ctx, source, access)
    ]
    fields = _address(ctx, place, name, bound, access, found=bound == "zero") | {"cache": access.cache}
    if bound == "zero":
        ctx.guard = fields.pop("found"), False
    write_elements(ctx, "STG", fields, 0, values, size)


def reduce(ctx: Context, ins: Instruction) -> None:
    """Lower sured: .b of a type, .p with the signedness of the surface's elements."""
    m = ctx.modifiers()
    formatted = "p" in m.left
    name, bound = _place_of(m, ("1d", "2d", "3d"))
    operation = m.take(*_REDUCTIONS)
    if not operation:
        m.refuse("no such operation on a surface", expected="." + ", .".join(_REDUCTIONS), form="other")
    type_ = m.type(*(_FORMATTED if formatted else _REDUCTIONS)[operation])
    m.done()
    place, source = ctx.operands(2)
    value = ctx.pair(source, type_) if TYPE_BYTES[type_] == 8 else ctx.b.unit(ctx.word(source, type_))
    signed = formatted and operation in ("min", "max")
    access = AccessModifiers("global", type_, 1, "", "", "", False)
    fields = _address(ctx, place, name, bound, access, found=bound == "zero" or signed, texels=formatted)
    fields |= {"rb": value, "aop": operation.upper()}
    if "found" in fields:
        ctx.guard = fields.pop("found"), False
    if not signed:
        ctx.b.emit("RED", atyp=ATYP[type_], guard=ctx.guard, **fields)
        return
    assert isinstance(place, ast.TextureAddress)
    for which, sign in zip(_signs(ctx, place), "su", strict=True):
        ctx.b.emit("RED", atyp=ATYP[f"{sign}{8 * TYPE_BYTES[type_]}"], guard=(which, False), **fields)


def _signs(ctx: Context, place: ast.TextureAddress) -> tuple[int, int]:
    """Return two predicates under the guard: the surface's elements are signed integers, and they are not."""
    assert ctx.guard is not None
    kind, signed, other = ctx.b.new(), ctx.b.predicate(), ctx.b.predicate()
    from_first = ctx.b.new()
    handle = object_handle(ctx, place.texture, "surfref")
    ctx.b.emit("MOV", rd=kind, b=RZ)
    ctx.b.emit("TXQ", rd=kind, ra=handle, tquery="TYPE", guard=ctx.guard)
    ctx.b.emit("IADD3", rd=from_first, a=kind, b=imm(-_SIGNED_TYPES[0]), c=RZ)
    count = Imm(_SIGNED_TYPES[1] - _SIGNED_TYPES[0])
    ctx.b.emit("ISETP", pd0=signed, pd1=other, a=from_first, b=count, icmp="LE", u32cmp=1, ps0=ctx.guard[0],
               ps0n=int(ctx.guard[1]))  # fmt: skip
    return signed, other


def _place_of(m: Modifiers, geometries: tuple[str, ...] = tuple(_GEOMETRIES)) -> tuple[str, str]:
    """Take geometry and the suffix for accesses outside of the surface."""
    unit, name, bound = m.take("b", "p"), m.take(*geometries), m.take(*_BOUNDS)
    if not unit or not name or not bound:
        expected = f"{m.ins.op}.b, {', '.join(f'.{g}' for g in geometries)}, and .trap, .clamp or .zero"
        m.refuse("not a surface access that is supported", expected=expected, form="other")
    return name, bound


def _access(m: Modifiers) -> AccessModifiers:
    cache = CACHE[m.take(*CACHE) or "ca"]
    count = int((m.take("v2", "v4") or "v1")[1:])
    type_ = m.type(*_DATA)
    m.done()
    if TYPE_BYTES[type_] * count > _MOST_BYTES:
        m.refuse(f"a vector of {count} values of type .{type_}", expected=f"at most {_MOST_BYTES} bytes")
    return AccessModifiers("global", type_, count, cache, "", "", False)


def _items(ctx: Context, operand: ast.Operand, access: AccessModifiers) -> tuple[ast.Operand, ...]:
    """Return the elements. A single one may be in braces."""
    items = operand.items if isinstance(operand, ast.Vector) else (operand,)
    if len(items) != access.count:
        ctx.refuse(f"{len(items)} values", expected=f"{access.count} values, as the vector modifier says")
    return items


def _address(
    ctx: Context,
    place: ast.Operand,
    name: str,
    bound: str,
    access: AccessModifiers,
    *,
    found: bool,
    texels: bool = False,
) -> Fields:
    """Compute the address of the access. Returns it as the field of a base.

    found: also return `found`, the predicate of the lanes that have an address. texels: x counts texels.
    """
    dimensions, layers, count = _GEOMETRIES[name]
    if not isinstance(place, ast.TextureAddress) or place.sampler is not None:
        ctx.refuse("not a surface", expected="[surface, {coordinates}]")
    given = place.coordinates
    if len(given) != _LENGTHS[count]:
        ctx.refuse(f"{len(given)} coordinates of a {name} surface", expected=f"a vector of {_LENGTHS[count]}")
    words = [ctx.word(item, "b32") for item in given[:count]]
    if layers:
        words = [*words[1:], words[0]]
    fields: Fields = {"tdim": dimensions, "tlay": layers, "sbound": bound.upper()}
    fields["ssize"] = str(8 * TYPE_BYTES[access.type] * access.count)
    fields["ra"] = ctx.b.pair(*words[:2]) if count > 1 else ctx.b.unit(words[0])
    if count > 2:
        fields["rc"] = ctx.b.unit(words[2])
    base = ctx.b.new(2)
    there = PT
    if found:
        there = ctx.b.predicate()
        if ctx.guard is not None:
            ctx.b.emit("PLOP3", pd0=there, ps0=PT, lut_b=0, lut2=0)
    handle = object_handle(ctx, place.texture, "surfref")
    ctx.b.emit("SUADDR", pd0=there, rd=base, rb=handle, sunit="P" if texels else "", guard=ctx.guard, **fields)
    return {"ra": base} | ({"found": there} if found else {})


PURE: dict[str, Handler] = {}
EFFECTS: dict[str, Handler] = {"suld": load, "sust": store, "sured": reduce}

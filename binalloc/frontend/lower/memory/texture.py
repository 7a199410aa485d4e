"""Texture fetches: bindless handles in registers, and texture references, which are hidden kernel parameters.

tex.1d, .2d and .3d, results of type f32, s32 or u32, coordinates of type f32 or s32. What the texture holds, how it is
addressed and filtered, is the launch file's to say. Coordinates may be a vector longer than the geometry needs (what
compilers before CUDA 4 wrote); what is too many is not looked at, and need not hold a value.
"""

from __future__ import annotations

from binalloc.frontend.lower.context.context import Context, Fields, Handler
from binalloc.frontend.lower.memory.memory import deliver
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import Instruction

_DIMENSIONS = {"1d": 1, "2d": 2, "3d": 3}
_LENGTHS = (1, 2, 4)
"""Elements that a vector of coordinates may have (PTX ISA, tex: there are no vectors of three)."""


def fetch(ctx: Context, ins: Instruction) -> None:
    m = ctx.modifiers()
    geometry = m.take(*_DIMENSIONS)
    if not geometry or not m.has("v4"):
        ctx.unsupported("other", "not a texture fetch that is supported", expected="tex.1d.v4, tex.2d.v4 or tex.3d.v4")
    type_ = m.type("f32", "s32", "u32")
    coordinate = m.type("f32", "s32")
    m.done()
    if len(ins.operands) > 2 or (ins.operands and isinstance(ins.operands[0], ast.Dual)):
        ctx.unsupported("texture-operands")
    target, source = ctx.operands(2)
    if not isinstance(source, ast.Texture):
        ctx.refuse("not a texture", expected="[texture, {coordinates}]")
    if source.sampler is not None:
        ctx.unsupported("sampler", expected="[texture, {coordinates}]")
    if not isinstance(target, ast.Vector) or len(target.items) != 4:
        ctx.refuse("not four results", expected="{d0, d1, d2, d3}")
    count = _DIMENSIONS[geometry]
    given = source.coordinates
    lengths = [length for length in _LENGTHS if length >= count]
    if len(given) not in lengths:
        expected = " or ".join(map(str, lengths))
        ctx.refuse(f"{len(given)} coordinates of a {geometry} texture", expected=f"a vector of {expected}")
    words = [ctx.word(operand, coordinate) for operand in given[:count]]
    fields: Fields = {"tdim": geometry.upper(), "tcoord": "S32" if coordinate == "s32" else ""}
    if count == 1:
        fields["ra"] = ctx.b.unit(words[0])
    else:
        fields["ra"] = group = ctx.b.new(2)
        for k in range(2):
            ctx.b.move(group + k, words[k])
    if count == 3:
        fields["rc"] = ctx.b.unit(words[2])
    wanted = _channels(ctx, target)
    fields["tchan"] = {1: "R", 2: "RG", 4: ""}[wanted]
    result = ctx.b.new(wanted)
    ctx.b.emit("TEX", rd=result, rb=_handle(ctx, source.texture), guard=ctx.guard, **fields)
    deliver(ctx, target.items[:wanted], type_, [(result + k, None) for k in range(wanted)])


def _channels(ctx: Context, target: ast.Vector) -> int:
    """How many channels (1, 2 or 4, from the first) some instruction reads."""
    read = ctx.scan.reads(ctx.function)
    used = [k for k, item in enumerate(target.items) if isinstance(item, ast.Register) and item.name in read]
    return (1, 2, 4, 4)[max(used, default=0)]


def _handle(ctx: Context, texture: ast.Register | ast.Symbol) -> int:
    """The texture's 32-bit handle: the low word of what PTX holds in 64 bits."""
    if isinstance(texture, ast.Register):
        ctx.check_type(texture, "b64")
        return ctx.register(texture.name)
    if ctx.place(texture.name)[0] != "texref":
        ctx.refuse(f"{texture.name} is no texture", expected="a .texref variable or a 64-bit handle in a register")
    return ctx.b.unit(ctx.symbol(texture)[0])


PURE: dict[str, Handler] = {}
EFFECTS: dict[str, Handler] = {"tex": fetch}

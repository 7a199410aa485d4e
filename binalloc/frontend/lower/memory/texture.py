"""Texture fetches: bindless handles in registers, and texture references, which are hidden kernel parameters.

tex.1d, .2d, .3d, of layers (.a1d, .a2d), of cubes (.cube, .acube), and tld4 of those in two dimensions; results of type
f32, s32 or u32, coordinates of type f32 or s32. What the texture holds, how it is addressed and filtered, is the launch
file's to say. Coordinates may be a vector longer than the geometry needs (what compilers before CUDA 4 wrote); what is
too many is not looked at, and need not hold a value.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.frontend.emitter import Imm, Source
from binalloc.frontend.ir import PT, RZ
from binalloc.frontend.lower.context.context import Context, Fields, Handler
from binalloc.frontend.lower.context.modifiers import Modifiers
from binalloc.frontend.lower.memory.memory import deliver
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import Instruction


@dataclass(frozen=True)
class Geometry:
    """coordinates: how many there are, the layer not counted. layered: whether a layer comes first. dimensions, layers:
    TEX's."""

    coordinates: int
    layered: bool
    dimensions: str
    layers: str


_GEOMETRIES = {
    "1d": Geometry(1, False, "1D", ""), "2d": Geometry(2, False, "2D", ""), "3d": Geometry(3, False, "3D", ""),
    "a1d": Geometry(1, True, "2D", "A"), "a2d": Geometry(2, True, "3D", "A"),
    "cube": Geometry(3, False, "3D", "CUBE"), "acube": Geometry(3, True, "3D", "CUBE"),
}  # fmt: skip
_LENGTHS = (1, 2, 4)
"""Elements that a vector of coordinates may have (PTX ISA, tex: there are no vectors of three)."""
_HALF, _SIGN = 0x3F000000, 0x80000000


def fetch(ctx: Context, ins: Instruction) -> None:
    """tex."""
    m = ctx.modifiers()
    name = m.take(*_GEOMETRIES)
    if not name or not m.has("v4"):
        expected = ", ".join(f"tex.{geometry}.v4" for geometry in _GEOMETRIES)
        ctx.unsupported("other", "not a texture fetch that is supported", expected=expected)
    _fetch(ctx, m, name, "")


def gather(ctx: Context, ins: Instruction) -> None:
    """tld4: one channel of the four texels that a filter would take."""
    m = ctx.modifiers()
    channel, name = m.take("r", "g", "b", "a"), m.take("2d", "a2d", "cube", "acube")
    if not channel or not name or not m.has("v4"):
        m.refuse("not a gather", expected="tld4.r, .g, .b or .a, .2d, .a2d, .cube or .acube, and .v4")
    _fetch(ctx, m, name, channel)


def _fetch(ctx: Context, m: Modifiers, name: str, gathered: str) -> None:
    """The instruction of a geometry; gathered: the channel, or "" for a fetch of all."""
    ins, geometry = ctx.ins, _GEOMETRIES[name]
    type_ = m.type("f32", "s32", "u32")
    coordinate = m.type("f32", *(() if gathered or geometry.layers == "CUBE" else ("s32",)))
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
    count = geometry.coordinates + geometry.layered
    given = source.coordinates
    lengths = [length for length in _LENGTHS if length >= count]
    if len(given) not in lengths:
        expected = " or ".join(map(str, lengths))
        ctx.refuse(f"{len(given)} coordinates of a {name} texture", expected=f"a vector of {expected}")
    words: list[Source] = [ctx.word(operand, coordinate) for operand in given[geometry.layered : count]]
    layer: list[Source] = [ctx.word(given[0], "b32")] if geometry.layered else []
    if geometry.layers == "CUBE":
        words = _on_a_face(ctx, words, layer)
    else:
        words += layer
    fields: Fields = {"tdim": geometry.dimensions, "tcoord": "S32" if coordinate == "s32" else ""}
    fields |= {"tlay": geometry.layers, "tgath": f"G{gathered.upper()}" if gathered else ""}
    if len(words) == 1:
        fields["ra"] = ctx.b.unit(words[0])
    else:
        fields["ra"] = group = ctx.b.new(2)
        for k in range(2):
            ctx.b.move(group + k, words[k])
    if len(words) == 3:
        fields["rc"] = ctx.b.unit(words[2])
    wanted = _channels(ctx, target)
    fields["tchan"] = {1: "R", 2: "RG", 4: ""}[wanted]
    result = ctx.b.new(wanted)
    ctx.b.emit("TEX", rd=result, rb=_handle(ctx, source.texture), guard=ctx.guard, **fields)
    deliver(ctx, target.items[:wanted], type_, [(result + k, None) for k in range(wanted)])


def _on_a_face(ctx: Context, direction: list[Source], layer: list[Source]) -> list[Source]:
    """The coordinates on the face of a cube that a direction meets, and 8 times the cube's number plus the face's, in
    the order +x, -x, +y, -y, +z, -z (CUDA C Programming Guide, Cubemap Textures).

    The face is that of the greatest magnitude m, z before y before x where they are equal; the coordinates s and t are
    (s / m + 1) / 2, computed as s * (1/m) and one fused operation, 1/m being MUFU.RCP's.
    """
    b, emit = ctx.b, ctx.b.emit
    x, y, z = (b.unit(word) for word in direction)
    beats_y, along_z, along_y = b.predicate(), b.predicate(), b.predicate()
    emit("FSETP", pd0=beats_y, a=z, b=y, absa=1, absb=1, guard=None, fcmp="GEU")
    emit("FSETP", pd0=along_z, a=z, b=x, absa=1, absb=1, guard=None, fcmp="GEU", ps0=beats_y)
    emit("FSETP", pd0=along_y, a=y, b=x, absa=1, absb=1, guard=None, fcmp="GEU", ps0=along_z, ps0n=1)

    def choose(of_x: int, of_y: int, of_z: int) -> int:
        first, out = b.new(), b.new()
        emit("SEL", rd=first, a=of_y, b=of_x, ps0=along_y)
        emit("SEL", rd=out, a=of_z, b=first, ps0=along_z)
        return out

    def flipped(word: int, by: int) -> int:
        """A word with its sign changed where `by` has the sign bit."""
        out = b.new()
        emit("LOP3", rd=out, a=word, b=Imm(_SIGN), c=by, lut=0x78)  # a ^ (b & c)
        return out

    def opposite(word: int) -> int:
        out = b.new()
        emit("LOP3", rd=out, a=word, b=Imm(_SIGN), c=RZ, lut=0x3C)
        return out

    major = choose(x, y, z)
    s = choose(flipped(opposite(z), x), x, flipped(x, z))
    t = choose(opposite(y), flipped(z, y), opposite(y))
    reciprocal, half = b.new(), b.unit(Imm(_HALF))
    emit("MUFU", rd=reciprocal, b=major, absb=1, guard=None, func="RCP")
    out: list[Source] = []
    for word in (s, t):
        ratio, place = b.new(), b.new()
        emit("FMUL", rd=ratio, a=word, b=reciprocal)
        emit("FFMA", rd=place, a=ratio, b=half, c=half)
        out.append(place)
    sign, number, cube, face = (b.new() for _ in range(4))
    emit("SHF", rd=sign, a=RZ, b=Imm(31), c=major, dir="R", stype="U32", hi=1)
    emit("IADD3", rd=number, a=sign, b=b.unit(Imm(2)), c=RZ)
    above = b.new()
    emit("IADD3", rd=above, a=sign, b=b.unit(Imm(4)), c=RZ)
    chosen = choose(sign, number, above)
    if not layer:
        return [*out, chosen]
    emit("IMNMX", rd=cube, a=b.unit(layer[0]), b=Imm(0xFFFFFF), ps0=PT, u32=1)
    emit("IMAD", rd=face, a=cube, b=Imm(8), c=chosen)
    return [*out, face]


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
EFFECTS: dict[str, Handler] = {"tex": fetch, "tld4": gather}

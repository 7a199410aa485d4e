"""This module lowers texture fetches. A texture is a bindless handle in a register, or a texture reference: a hidden
kernel parameter.

Geometries are tex.1d, .2d, .3d, layers (.a1d, .a2d) and cubes (.cube, .acube); tld4 has the two-dimensional ones.
Results have type f32, s32 or u32, coordinates f32 or s32. The launch file states a texture's contents, addressing and
filtering. The vector of coordinates may be longer than the geometry needs, as compilers before CUDA 4 wrote it. The
elements in excess are not read, and need not hold a value.
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
    """A geometry says which coordinates a texture fetch has."""

    coordinates: int  #: number of coordinates without the layer
    layered: bool  #: whether a layer comes first
    dimensions: str  #: TEX's dimensions
    layers: str  #: TEX's layers


_GEOMETRIES = {
    "1d": Geometry(1, False, "1D", ""), "2d": Geometry(2, False, "2D", ""), "3d": Geometry(3, False, "3D", ""),
    "a1d": Geometry(1, True, "2D", "A"), "a2d": Geometry(2, True, "3D", "A"),
    "cube": Geometry(3, False, "3D", "CUBE"), "acube": Geometry(3, True, "3D", "CUBE"),
}  # fmt: skip
_LENGTHS = (1, 2, 4)
"""Elements that a vector of coordinates may have (PTX ISA, tex: there are no vectors of three)."""
_HALF, _SIGN = 0x3F000000, 0x80000000  # 0.5 as f32; the sign bit
_OR, _AND = 0xFC, 0xC0  # truth tables of LOP3: a | b, a & b
_OFFSET_BITS = 20
"""First bit of the offsets of .AOFFI in TEX's operand, behind the handle."""
_QUERIES = {
    "width": "WIDTH", "height": "HEIGHT", "depth": "DEPTH", "channel_data_type": "TYPE", "channel_order": "ORDER",
    "normalized_coords": "NORMALIZED", "array_size": "LAYERS", "num_mipmap_levels": "LEVELS",
}  # fmt: skip
"""PTX query -> TXQ's."""
_KINDS = {"texref": 1, "surfref": 2}
"""Suffix of istypep -> TXQ.KIND's answer."""


def fetch(ctx: Context, ins: Instruction) -> None:
    """Lower tex."""
    m = ctx.modifiers()
    mode = m.take("base", "level", "grad")
    name = m.take(*_GEOMETRIES)
    if not name or not m.has("v4"):
        expected = ", ".join(f"tex.{geometry}.v4" for geometry in _GEOMETRIES)
        ctx.unsupported("other", "not a texture fetch that is supported", expected=expected)
    _fetch(ctx, m, name, mode, "")


def gather(ctx: Context, ins: Instruction) -> None:
    """Lower tld4: one channel of the four texels of a linear filter."""
    m = ctx.modifiers()
    channel, name = m.take("r", "g", "b", "a"), m.take("2d", "a2d", "cube", "acube")
    if not channel or not name or not m.has("v4"):
        m.refuse("not a gather", expected="tld4.r, .g, .b or .a, .2d, .a2d, .cube or .acube, and .v4")
    _fetch(ctx, m, name, "", channel)


@dataclass(frozen=True)
class FetchOperands:
    """The operands of a fetch are known by their roles."""

    target: ast.Operand
    resident: ast.Operand | None  #: predicate that says whether the texture is resident; it always is
    source: ast.Operand
    detail: tuple[ast.Operand, ...]  #: the level, or the two gradients
    offset: ast.Operand | None  #: None where there is none


def _operands(ctx: Context, mode: str) -> FetchOperands:
    details = {"level": 1, "grad": 2}.get(mode, 0)
    target, source, *rest = ctx.operands(2 + details, 3 + details, 4 + details)
    resident: ast.Operand | None = None
    if isinstance(target, ast.Dual):
        resident = target.second
        target = target.first
    detail, extra = tuple(rest[:details]), rest[details:]
    if len(extra) > 1 or (extra and _is_float(ctx, extra[0])):
        ctx.unsupported("texture-operands")
    return FetchOperands(target, resident, source, detail, extra[0] if extra else None)


def _is_float(ctx: Context, operand: ast.Operand) -> bool:
    name = operand.name if isinstance(operand, ast.Register) else ""
    return isinstance(operand, ast.Float) or ctx.function.registers.get(name) == "f32"


def _fetch(ctx: Context, m: Modifiers, name: str, mode: str, gathered: str) -> None:
    """Emit the fetch. mode: level, grad, or base or "" for the first level of a mipmap. gathered: the channel, or ""
    for a fetch of all."""
    geometry = _GEOMETRIES[name]
    type_ = m.type("f32", "s32", "u32")
    real = gathered or geometry.layers == "CUBE" or mode == "grad"
    coordinate = m.type("f32", *(() if real else ("s32",)))
    m.done()
    if mode == "grad" and geometry.layers == "CUBE":
        ctx.unsupported("gradient")
    given_operands = _operands(ctx, mode)
    target, source = given_operands.target, given_operands.source
    if not isinstance(source, ast.TextureAddress):
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
    handle = _handle(ctx, source.texture)
    if given_operands.offset is not None:
        fields["toff"] = "AOFFI"
        handle = _with_offsets(ctx, handle, given_operands.offset, name)
    if mode in ("level", "grad"):
        fields["tlod"] = "LL"
        handle = ctx.b.pair(handle, _level_of_detail(ctx, given_operands.detail, geometry, coordinate, source.texture))
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
    ctx.b.emit("TEX", rd=result, rb=handle, guard=ctx.guard, **fields)
    deliver(ctx, target.items[:wanted], type_, [(result + k, None) for k in range(wanted)])
    if given_operands.resident is not None:
        there = ctx.dest_predicate(given_operands.resident)
        ctx.b.emit("PLOP3", pd0=there, ps0=PT, lut_b=0xFF, lut2=0, guard=ctx.guard)


def _with_offsets(ctx: Context, handle: int, offset: ast.Operand, name: str) -> int:
    """Return the handle with the offsets in texels, of four bits each, above it."""
    axes = _GEOMETRIES[name].coordinates
    items = offset.items if isinstance(offset, ast.Vector) else (offset,)
    if name.endswith("cube") or len(items) != (4 if axes == 3 else axes):
        expected = "no offset" if name.endswith("cube") else f"a vector of {4 if axes == 3 else axes}"
        ctx.refuse(f"an offset of {len(items)} numbers for a {name} texture", expected=expected)
    packed = 0
    for axis, item in enumerate(items[:axes]):
        word = ctx.word(item, "s32")
        at = _OFFSET_BITS + 4 * axis
        if isinstance(word, Imm):
            number = (word.bits ^ _SIGN) - _SIGN
            if not -8 <= number <= 7:
                ctx.refuse(f"an offset of {number} texels", expected="-8 to 7")
            packed |= (number & 15) << at
            continue
        four, shifted, both = ctx.b.new(), ctx.b.new(), ctx.b.new()
        ctx.b.emit("LOP3", rd=four, a=ctx.b.unit(word), b=Imm(15), c=RZ, lut=_AND)
        ctx.b.emit("SHF", rd=shifted, a=four, b=Imm(at), c=RZ, dir="L")
        ctx.b.emit("LOP3", rd=both, a=handle, b=shifted, c=RZ, lut=_OR)
        handle = both
    out = ctx.b.new()
    ctx.b.emit("LOP3", rd=out, a=handle, b=Imm(packed), c=RZ, lut=_OR)
    return out


def _level_of_detail(
    ctx: Context, detail: tuple[ast.Operand, ...], geometry: Geometry, coordinate: str,
    texture: ast.Register | ast.Symbol,
) -> Source:  # fmt: skip
    """Return the level of detail: the given one, or that of two gradients.

    The latter is half the binary logarithm (MUFU.LG2) of the greater gradient's square, in texels. The square is summed
    in f32 by a product and fused operations, x first.
    """
    if len(detail) == 1:
        return ctx.word(detail[0], coordinate)
    emit, axes, squares = ctx.b.emit, geometry.coordinates, []
    sizes = []
    for query in ("WIDTH", "HEIGHT", "DEPTH")[:axes]:
        size, number = ctx.b.new(), ctx.b.new()
        emit("TXQ", rd=size, ra=_handle(ctx, texture), tquery=query, guard=ctx.guard)
        emit("I2F", rd=number, b=size, ftyp="F32", ityp="U32")
        sizes.append(number)
    for vector in detail:
        items = vector.items if isinstance(vector, ast.Vector) else (vector,)
        if len(items) != (4 if axes == 3 else axes):
            ctx.refuse(f"a gradient of {len(items)} numbers", expected=f"a vector of {4 if axes == 3 else axes}")
        total = RZ
        for item, size in zip(items, sizes, strict=False):
            texels, square = ctx.b.new(), ctx.b.new()
            emit("FMUL", rd=texels, a=ctx.b.unit(ctx.word(item, "f32")), b=size)
            emit("FFMA", rd=square, a=texels, b=texels, c=total)
            total = square
        squares.append(total)
    greater, logarithm, half = ctx.b.new(), ctx.b.new(), ctx.b.new()
    emit("FMNMX", rd=greater, a=squares[0], b=squares[1], ps0=PT, ps0n=1)
    emit("MUFU", rd=logarithm, b=greater, func="LG2")
    emit("FMUL", rd=half, a=logarithm, b=Imm(_HALF))
    return half


def query(ctx: Context, ins: Instruction) -> None:
    """Lower txq and suq: they read the table of textures. A level of a mipmap has half the sides of the level
    before."""
    m = ctx.modifiers()
    level = ins.op == "txq" and m.has("level")
    surface = ins.op == "suq"
    left_out = ("normalized_coords", "num_mipmap_levels") if surface else ()
    known = [q for q in _QUERIES if q not in left_out and (not level or q in ("width", "height", "depth"))]
    asked = m.take(*known)
    if not asked:
        m.refuse(f"{ins.op} does not ask for that", expected="." + ", .".join(known))
    type_ = m.type("b32")
    m.done()
    target, place, *rest = ctx.operands(3 if level else 2)
    out = ctx.dest(target, type_)
    found = ctx.b.new()
    ctx.b.emit("TXQ", rd=found, ra=_object(ctx, place, surface), tquery=_QUERIES[asked], guard=ctx.guard)
    if level:
        side, most = ctx.b.new(), ctx.b.new()
        shift = ctx.b.unit(ctx.word(rest[0], "b32"))
        ctx.b.emit("SHF", rd=side, a=RZ, b=shift, c=found, dir="R", stype="U32", hi=1)
        ctx.b.emit("IMNMX", rd=most, a=side, b=Imm(1), ps0=PT, ps0n=1, u32=1)
        found = most
    ctx.b.move(out, found, ctx.guard)


def is_type(ctx: Context, ins: Instruction) -> None:
    """Lower istypep: whether a handle is a texture's, or a surface's."""
    m = ctx.modifiers()
    wanted = m.take(*_KINDS)
    m.done()
    if not wanted:
        m.refuse("istypep without a type", expected="istypep." + ", .".join(_KINDS))
    target, place = ctx.operands(2)
    if not isinstance(place, ast.Register):
        ctx.refuse("not a handle", expected="a 64-bit register")
    ctx.check_type(place, "b64")
    kind = ctx.b.new()
    ctx.b.emit("TXQ", rd=kind, ra=ctx.register(place.name), tquery="KIND", guard=ctx.guard)
    there = ctx.dest_predicate(target)
    ctx.b.emit("ISETP", pd0=there, a=kind, b=Imm(_KINDS[wanted]), icmp="EQ", guard=ctx.guard)


def _object(ctx: Context, place: ast.Operand, surface: bool) -> int:
    """Return the handle in `[a]`."""
    if not isinstance(place, ast.Address) or place.base is None or place.offset:
        ctx.refuse("not a texture or surface", expected="[a], a .texref or .surfref variable or a 64-bit handle")
    return object_handle(ctx, place.base, "surfref" if surface else "texref")


def _on_a_face(ctx: Context, direction: list[Source], layer: list[Source]) -> list[Source]:
    """Return the coordinates of a direction on a face of a cube, and 8 times the cube's number plus the face's number.

    Faces are numbered +x, -x, +y, -y, +z, -z (CUDA C Programming Guide, Cubemap Textures). The face is that of the
    greatest magnitude m; of equal ones z is chosen before y before x. The coordinates of s and t are (s / m + 1) / 2.
    They are computed as s * (1/m), 1/m by MUFU.RCP, and one fused operation.
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
        """Change the sign of a word where `by` has the sign bit."""
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
    """Return how many channels (1, 2 or 4, from the first) some instruction reads."""
    read = ctx.scan.reads(ctx.function)
    used = [k for k, item in enumerate(target.items) if isinstance(item, ast.Register) and item.name in read]
    return (1, 2, 4, 4)[max(used, default=0)]


def _handle(ctx: Context, texture: ast.Register | ast.Symbol) -> int:
    return object_handle(ctx, texture, "texref")


def object_handle(ctx: Context, named: ast.Register | ast.Symbol, kind: str) -> int:
    """Return the 32-bit handle of a texture or surface: the low word of PTX's handle of 64 bits.

    kind: the type that a variable must have.
    """
    if isinstance(named, ast.Register):
        ctx.check_type(named, "b64")
        return ctx.register(named.name)
    if ctx.place(named.name)[0] != kind:
        what = "texture" if kind == "texref" else "surface"
        ctx.refuse(f"{named.name} is no {what}", expected=f"a .{kind} variable or a 64-bit handle in a register")
    return ctx.b.unit(ctx.symbol(named)[0])


PURE: dict[str, Handler] = {}
EFFECTS: dict[str, Handler] = {"tex": fetch, "tld4": gather, "txq": query, "suq": query, "istypep": is_type}

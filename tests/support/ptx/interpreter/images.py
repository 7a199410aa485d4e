"""PTX instructions on textures and surfaces: fetches, queries, accesses to surfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.support.ptx.interpreter.accesses import UPDATES
from tests.support.ptx.interpreter.arithmetic import operations
from tests.support.ptx.interpreter.arithmetic.integers import UNSIGNED
from tests.support.ptx.interpreter.arithmetic.plans import DTYPES, Unsupported
from tests.support.ptx.interpreter.memory import AccessError
from tests.support.ptx.interpreter.operands import Action, Array, Mask, Reader, elements, reader, writer
from tests.support.ptx.interpreter.text.syntax import SIZES
from tests.support.ptx.interpreter.text.tree import Func, Inst, Op
from tests.support.ptx.interpreter.textures import Surface, Texture, on_a_face

if TYPE_CHECKING:
    from tests.support.ptx.interpreter.interpreter import Frame, Gang

OPCODES = ("tex", "tld4", "txq", "suq", "istypep", "suld", "sust", "sured")
GEOMETRIES = {"1d": (1, 0), "2d": (2, 0), "3d": (3, 0), "a1d": (1, 1), "a2d": (2, 1), "cube": (3, 0), "acube": (3, 1)}
"""Coordinates, and whether a layer comes before them."""
TYPES = {
    ("i1", True): 0x10D0, ("i2", True): 0x10D1, ("u1", True): 0x10D2, ("u2", True): 0x10D3, ("i1", False): 0x10D7,
    ("i2", False): 0x10D8, ("i4", False): 0x10D9, ("u1", False): 0x10DA, ("u2", False): 0x10DB, ("u4", False): 0x10DC,
    ("f2", False): 0x10DD, ("f4", False): 0x10DE,
}  # fmt: skip
"""PTX's numbers of channel types, by type and whether they are read as normalized floats."""
ORDERS = {1: 0x10B0, 2: 0x10B2, 4: 0x10B5}


def prepare(gang: Gang, func: Func, inst: Inst) -> Action:
    if inst.op in ("tex", "tld4"):
        return texture_fetch(gang, func, inst)
    if inst.op in ("txq", "suq"):
        return query(gang, func, inst)
    return type_test(gang, func, inst) if inst.op == "istypep" else surface_access(gang, func, inst)


class Named:
    """The images that an operand names, with the lanes that name each."""

    def __init__(self, gang: Gang, func: Func, operand: Op) -> None:
        self.gang = gang
        self.name = operand[1] if operand[0] == "sym" else None
        self.handles = None if self.name is not None else reader(gang, func, operand, "u64")

    def groups(self, frame: Frame, lanes: Mask) -> list[tuple[Texture | Surface | None, Mask]]:
        if self.handles is None:
            return [(self.gang.launch.texture_names[str(self.name)], lanes)]
        values = self.handles(frame)
        return [(self.gang.launch.textures.get(int(h)), lanes & (values == h)) for h in np.unique(values[lanes])]


def texture_fetch(gang: Gang, func: Func, inst: Inst) -> Action:
    """tex{.mode}.geom.v4.dtype.ctype d{|p}, [handle or name, {coordinates}]{, level or gradients}{, offset}; tld4 with
    a channel before the geometry."""
    mods = list(inst.mods)
    gathered = "rgba".index(mods.pop(0)) if inst.op == "tld4" else None
    mode = mods.pop(0) if mods[0] in ("base", "level", "grad") else ""
    dimensions, layered = GEOMETRIES.get(mods[0], (0, 0))
    target, (_, texture, sampler, coordinates), *rest = inst.operands
    target, present = (target[1], target[2]) if target[0] == "dual" else (target, ("none",))
    if not dimensions or sampler is not None or mods[1] != "v4":
        raise Unsupported("this texture fetch")
    result, kind = mods[2], mods[3]
    given = elements(coordinates)
    readers = [reader(gang, func, o, kind) for o in given[layered : layered + dimensions]]
    layer = reader(gang, func, given[0], "u32") if layered else None
    detail = reader(gang, func, rest.pop(0), kind) if mode == "level" else None
    vectors = [rest.pop(0) for _ in range(2 * (mode == "grad"))]
    slopes = [[reader(gang, func, o, kind) for o in elements(vector)[:dimensions]] for vector in vectors]
    shifts = [reader(gang, func, o, "s32") for o in elements(rest.pop(0))[:dimensions]] if rest else []
    if rest:
        raise Unsupported("a depth to compare with")
    writers = [writer(func, o, result) for o in elements(target)]
    there = writer(func, present, "pred")
    named = Named(gang, func, texture)

    def action(frame: Frame, lanes: Mask) -> None:
        where = [read(frame) for read in readers]
        chosen_layer = layer(frame).astype(np.int64) if layer is not None else None
        offset = [((read(frame).astype(np.int64) + 8) & 15) - 8 for read in shifts]
        for chosen, group in named.groups(frame, lanes):
            if not isinstance(chosen, Texture):
                raise AccessError("a fetch from no texture")
            at, number = where, chosen_layer
            if mods[0] in ("cube", "acube"):
                at, face = on_a_face(where)
                cubes = len(chosen.texels) // 6
                number = face + 6 * (np.minimum(chosen_layer, cubes - 1) if chosen_layer is not None else 0)
            level = detail(frame) if detail is not None else None
            if slopes:
                sides = chosen.texels.shape[:-1][::-1][:dimensions]
                level = of_slopes([[read(frame) for read in vector] for vector in slopes], sides)
            texels = chosen.fetch(at, result, number, gathered, level, offset)
            for write, value in zip(writers, texels, strict=True):
                write(frame, value, group)
        there(frame, np.ones(gang.size, dtype=np.bool_), lanes)

    return action


def of_slopes(vectors: list[list[Array]], sides: tuple[int, ...]) -> Array:
    """The level of detail of two gradients: the binary logarithm of the greater one's length in texels."""
    multiply, fused = operations.plan("mul", ("rn", "f32")), operations.plan("fma", ("rn", "f32"))
    squares = []
    for vector in vectors:
        total = np.zeros(len(vector[0]), np.float32)
        for slope, n in zip(vector, sides, strict=True):
            (texels,) = multiply.compute(slope, np.full(len(slope), n, np.float32))
            (total,) = fused.compute(texels, texels, total)
        squares.append(total)
    (greater,) = operations.plan("max", ("f32",)).compute(*squares)
    (logarithm,) = operations.plan("lg2", ("approx", "f32")).compute(greater)
    (level,) = multiply.compute(logarithm, np.full(len(logarithm), 0.5, np.float32))
    return level


def query(gang: Gang, func: Func, inst: Inst) -> Action:
    mods = list(inst.mods)
    level = reader(gang, func, inst.operands[2], "s32") if mods[0] == "level" else None
    asked = mods[1] if level is not None else mods[0]
    write, named = writer(func, inst.operands[0], "b32"), Named(gang, func, inst.operands[1][1])

    def action(frame: Frame, lanes: Mask) -> None:
        for chosen, group in named.groups(frame, lanes):
            if chosen is None:
                raise AccessError("a query of no texture")
            value = np.full(gang.size, answer(chosen, asked), dtype=np.int64)
            if level is not None:
                value = np.maximum(value >> np.minimum(level(frame), 31), 1)
            write(frame, value.astype(np.uint32), group)

    return action


def answer(image: Texture | Surface, asked: str) -> int:
    layered = image.layers not in (False, "none")
    sides = image.texels.shape[:-1]
    axes = [*(sides[1:] if layered else sides)[::-1], 1, 1]
    if asked in ("width", "height", "depth"):
        return int(axes[("width", "height", "depth").index(asked)])
    if asked == "array_size":
        return int(sides[0]) if layered else 0
    if asked == "channel_data_type":
        return TYPES[image.texels.dtype.str[1:], isinstance(image, Texture) and image.as_float]
    if asked == "channel_order":
        return ORDERS[image.texels.shape[-1]]
    assert isinstance(image, Texture)
    return int(image.normalized) if asked == "normalized_coords" else 1 + len(image.levels)


def type_test(gang: Gang, func: Func, inst: Inst) -> Action:
    write, named = writer(func, inst.operands[0], "pred"), Named(gang, func, inst.operands[1])
    wanted = Texture if inst.mods[0] == "texref" else Surface

    def action(frame: Frame, lanes: Mask) -> None:
        for chosen, group in named.groups(frame, lanes):
            write(frame, np.full(gang.size, isinstance(chosen, wanted)), group)

    return action


def surface_access(gang: Gang, func: Func, inst: Inst) -> Action:
    """suld.b, sust.b, sured.b: lanes one after another, where they write."""
    mods = list(inst.mods)
    bound, kind = mods[-1], mods[-2]
    geometry = next(m for m in mods if m in GEOMETRIES)
    dimensions, layered = GEOMETRIES[geometry]
    place, data = (inst.operands[1], inst.operands[0]) if inst.op == "suld" else inst.operands
    given, items = elements(place[3]), elements(data)
    readers = [reader(gang, func, o, "s32") for o in given[layered : layered + dimensions]]
    layer = reader(gang, func, given[0], "s32") if layered else None
    named, width = Named(gang, func, place[1]), SIZES[kind]
    operation = mods[1] if inst.op == "sured" else ""
    writers = [writer(func, o, kind) for o in items] if inst.op == "suld" else []
    sources: list[Reader] = [] if inst.op == "suld" else [reader(gang, func, o, kind) for o in items]
    raw = UNSIGNED[8 * width]

    def action(frame: Frame, lanes: Mask) -> None:
        for chosen, group in named.groups(frame, lanes):
            if not isinstance(chosen, Surface):
                raise AccessError("an access to no surface")
            where, number = [read(frame) for read in readers], layer(frame) if layer is not None else None
            texel = chosen.texels.shape[-1] * chosen.texels.itemsize
            if mods[0] == "p":
                where = [where[0].astype(np.int64) * texel, *where[1:]]
            sign = "s" if chosen.texels.dtype.kind == "i" else "u"
            typed = DTYPES[f"{sign}{8 * width}" if mods[0] == "p" else kind]
            offset, inside = chosen.offsets(where, number, width * len(items), bound)
            if bound == "trap" and (group & ~inside).any():
                raise AccessError(f"{inst.text}: outside of the surface")
            memory = chosen.texels.reshape(-1).view(np.uint8)
            for k, write in enumerate(writers):
                found = np.zeros(gang.size, dtype=raw)
                for lane in np.nonzero(group & inside)[0]:
                    at = offset[lane] + k * width
                    found[lane] = memory[at : at + width].view(raw)[0]
                write(frame, found, group)
            values = [read(frame) for read in sources]
            for lane in np.nonzero(group & inside)[0]:
                for k, value in enumerate(values):
                    at = offset[lane] + k * width
                    cell = memory[at : at + width].view(typed)
                    new = int(value.view(typed)[lane])
                    new = UPDATES[operation](int(cell[0]), new) if operation else new
                    cell.view(raw)[0] = new & ((1 << 8 * width) - 1)

    return action

"""Textures of the interpreter: 1-D to 3-D arrays, point and linear filters (CUDA Programming Guide, Texture Fetching).

Coordinates are scaled and floored in float64, where products of an f32 and a size are exact. A linear filter's weights
have 8 fractional bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support.ptx.interpreter.arithmetic import operations
from tests.support.ptx.interpreter.arithmetic.plans import DTYPES, Unsupported

Array = NDArray[Any]
WEIGHT_STEPS = 256


@dataclass
class Texture:
    """texels: shape (*sides, channels), sides outermost first (depth, height, width).

    linear: filter. normalized: float coordinates run from 0 to 1. address: clamp, border, wrap or mirror, for x, y, z.
    as_float: 8- and 16-bit texels are read as floats of [0, 1] or [-1, 1]. levels: texels of a mipmap's levels above
    the first; blend: whether two of them are mixed; bias, clamp: of the level of detail.
    """

    texels: Array
    linear: bool = False
    normalized: bool = False
    address: tuple[str, ...] = ("clamp",)
    as_float: bool = False
    layers: str = "none"
    levels: tuple[Array, ...] = ()
    blend: bool = False
    bias: float = 0.0
    clamp: tuple[float, float] = (0.0, 28.0)

    def fetch(
        self, where: list[Array], result: str, layer: Array | None = None, gathered: int | None = None,
        detail: Array | None = None, offset: Sequence[Array] = (),
    ) -> list[Array]:  # fmt: skip
        """Four arrays of type `result` at coordinates x, y, z (float: texture coordinates, integer: texel numbers).

        layer: of a texture with layers, an unsigned number. gathered: the channel to take of the four texels that a
        filter would take, from the lower left one on, counter-clockwise (y goes down). detail: the level of a mipmap,
        a float or an integer. offset: texels by which the cell is shifted, for each axis.
        """
        sides = self.texels.shape[:-1][::-1]
        if (self.layers == "none") != (layer is None):
            raise Unsupported("layers, or none of them")
        if layer is not None:
            single = [
                replace(self, texels=one, layers="none", levels=tuple(level[k] for level in self.levels))
                for k, one in enumerate(self.texels)
            ]
            data = [one.fetch(where, result, None, gathered, detail, offset) for one in single]
            chosen = np.minimum(layer, len(data) - 1).astype(np.int64)
            return [np.stack([one[k] for one in data])[chosen, np.arange(len(chosen))] for k in range(4)]
        if gathered is not None:
            return self.gather(where, result, gathered, offset)
        if len(where) != len(sides):
            raise Unsupported(f"a fetch with {len(where)} coordinates from a texture of {len(sides)} dimensions")
        if detail is None:
            return self.delivered(self.filtered(where, offset), result)
        first, second = self.chosen(detail)
        every = [replace(self, texels=texels) for texels in (self.texels, *self.levels)]
        found = np.zeros((len(first), self.texels.shape[-1]), dtype=self.converted().dtype)
        for level in np.unique(first):
            mine = first == level
            value = every[level].filtered(where, offset)
            if (second[mine] > 0).any():
                total = every[level].filtered(where, offset, 1 - second)
                mixed = every[min(level + 1, len(every) - 1)].filtered(where, offset, second, total)
                value = np.where((second > 0)[:, None], mixed, value)
            found[mine] = value[mine]
        return self.delivered(found, result)

    def chosen(self, detail: Array) -> tuple[Array, Array]:
        """The level that a level of detail names, and the weight of the next."""
        last, none = len(self.levels), np.zeros(len(detail))
        if detail.dtype.kind != "f":
            return np.clip(detail.view(np.int32).astype(np.int64), 0, last), none
        x = np.where(np.isnan(detail), 0.0, detail.astype(np.float64)) + np.float64(np.float32(self.bias))
        x = np.clip(np.clip(x, *(np.float64(np.float32(v)) for v in self.clamp)), 0.0, last)
        if not self.blend:
            return np.floor(x + 0.5).astype(np.int64), none
        steps = np.floor((x - np.floor(x)) * WEIGHT_STEPS + 0.5)
        whole = np.floor(x).astype(np.int64) + (steps == WEIGHT_STEPS)
        return whole, np.where(steps == WEIGHT_STEPS, 0, steps) / WEIGHT_STEPS

    def filtered(
        self, where: list[Array], offset: Sequence[Array], scale: Array | None = None, total: Array | None = None
    ) -> Array:
        """The texels of the first level, filtered; with a scale weighted by it and added to `total`."""
        sides = self.texels.shape[:-1][::-1]
        axes = [self.axis(x, n, k, offset) for k, (x, n) in enumerate(zip(where, sides, strict=True))]
        data = self.converted()
        if total is None:
            total = np.zeros((len(where[0]), data.shape[-1]), dtype=data.dtype)
        for outermost_first in product(*reversed(axes)):
            corner = outermost_first[::-1]  # x changes fastest
            index = tuple(np.where(inside, i, 0) for i, inside, _ in outermost_first)
            inside = np.logical_and.reduce([c[1] for c in corner])
            texel = np.where(inside[:, None], data[index], data.dtype.type(0))
            if corner[0][2] is None and scale is None:
                total = texel
                continue
            weights = [scale, *(c[2] for c in corner)]
            weight = np.multiply.reduce([np.ones(len(total)) if w is None else w for w in weights])
            with np.errstate(invalid="ignore"):  # a texel of no weight does not count, be it infinite
                total = total + np.where(weight[:, None] != 0, weight[:, None] * texel, 0.0)
        return total

    def gather(self, where: list[Array], result: str, channel: int, offset: Sequence[Array]) -> list[Array]:
        smooth = replace(self, linear=True)
        sides = self.texels.shape[:-1][::-1]
        across, down = (smooth.axis(x, n, k, offset) for k, (x, n) in enumerate(zip(where, sides, strict=True)))
        data, found = self.converted(), []
        for j, i in ((1, 0), (1, 1), (0, 1), (0, 0)):
            (x, x_in, _), (y, y_in, _) = across[i], down[j]
            inside = x_in & y_in
            texel = np.where(inside[:, None], data[np.where(inside, y, 0), np.where(inside, x, 0)], data.dtype.type(0))
            found.append(self.delivered(texel, result)[channel])
        return found

    def axis(
        self, x: Array, n: int, k: int, offset: Sequence[Array] = ()
    ) -> list[tuple[Array, Array, Array | None]]:
        """(texel numbers, whether inside, weights) of the one or two texels along an axis; no weight: point."""
        mode = self.address[min(k, len(self.address) - 1)]
        shift: Any = offset[k].astype(np.int64) if k < len(offset) else 0
        if x.dtype.kind != "f":
            i = x.view(np.int32).astype(np.int64) + shift
            return [(*self.placed(i, n, mode), None)]
        position = x.astype(np.float64) * (n if self.normalized else 1)
        if self.normalized and mode in ("wrap", "mirror"):
            unit = x.astype(np.float64)
            fraction = unit - np.floor(unit)
            if mode == "mirror":
                fraction = np.where(np.floor(unit) % 2 == 0, fraction, 1 - fraction)
            position = fraction * n
        position = np.nan_to_num(position, nan=0.0, posinf=2.0**31, neginf=-(2.0**31))
        if not self.linear:
            i = np.clip(np.floor(position), -(2.0**31), 2.0**31).astype(np.int64) + shift
            return [(*self.placed(i, n, mode), None)]
        position = np.clip(position - 0.5, -(2.0**31), 2.0**31)
        low = np.floor(position)
        weight = np.floor((position - low) * WEIGHT_STEPS + 0.5) / WEIGHT_STEPS
        i = low.astype(np.int64) + shift
        return [(*self.placed(i, n, mode), 1 - weight), (*self.placed(i + 1, n, mode), weight)]

    @staticmethod
    def placed(i: Array, n: int, mode: str) -> tuple[Array, Array]:
        """Texel numbers brought inside, and which of them count (all but those beyond a border)."""
        inside = np.ones(len(i), dtype=np.bool_)
        if mode == "border":
            return i, (i >= 0) & (i < n)
        if mode == "wrap":
            return i % n, inside
        if mode == "mirror":
            k = i % (2 * n)
            return np.where(k < n, k, 2 * n - 1 - k), inside
        return np.clip(i, 0, n - 1), inside

    def converted(self) -> Array:
        """Texels as they are delivered: floats as float64, integers as int64."""
        kind = self.texels.dtype
        if kind.kind == "f":
            return self.texels.astype(np.float64)
        if self.as_float:
            most = np.iinfo(kind).max
            return np.maximum(self.texels.astype(np.float64) / most, -1.0).astype(np.float32).astype(np.float64)
        return self.texels.astype(np.int64)

    def delivered(self, values: Array, result: str) -> list[Array]:
        if (values.dtype.kind == "f") != (result == "f32"):
            raise Unsupported(f"texels of {self.texels.dtype} as .{result}")
        found = [values[:, c].astype(DTYPES[result]) for c in range(values.shape[1])]
        missing = [np.full(len(values), c, dtype=DTYPES[result]) for c in (0, 0, 0, 1)]  # R, G, B, A
        return found + missing[len(found) :]


def on_a_face(direction: list[Array]) -> tuple[list[Array], Array]:
    """Coordinates on the face of a cube that each direction meets, and its number: +x, -x, +y, -y, +z, -z (CUDA C
    Programming Guide, Cubemap Textures); of equal magnitudes z goes before y, y before x. The rounding is PTX.md's."""
    x, y, z = (v.astype(np.float64) for v in direction)
    along = np.where((abs(z) >= abs(y)) & (abs(z) >= abs(x)), 2, np.where(abs(y) >= abs(x), 1, 0))
    major = np.choose(along, [x, y, z])
    face = 2 * along + np.signbit(major)
    s = np.choose(face, [-z, z, x, x, x, -x])
    t = np.choose(face, [-y, -y, z, -z, -y, -y])
    half = np.full(len(major), 0.5, np.float32)
    (reciprocal,) = operations.plan("rcp", ("approx", "f32")).compute(abs(major).astype(np.float32))
    places = []
    for v in (s, t):
        (ratio,) = operations.plan("mul", ("rn", "f32")).compute(v.astype(np.float32), reciprocal)
        places += operations.plan("fma", ("rn", "f32")).compute(ratio, half, half)
    return places, face


@dataclass
class Surface:
    """texels: shape (*sides, channels), sides outermost first; a launch changes them. layers: whether the first side
    counts layers."""

    texels: Array
    layers: bool = False

    def offsets(self, where: list[Array], layer: Array | None, size: int, bound: str) -> tuple[Array, Array]:
        """Byte offsets of `size` bytes at coordinates x (in bytes), y, z, and which of them lie inside."""
        sides = list(self.texels.shape[:-1][::-1])
        row = self.texels.shape[-1] * self.texels.itemsize * sides[0]
        given = [c.astype(np.int64) for c in [*where, *([] if layer is None else [layer])]]
        if len(given) != len(sides) or (layer is not None) != self.layers:
            raise Unsupported("a surface of another geometry")
        inside = np.ones(len(given[0]), dtype=np.bool_)
        offset = np.zeros(len(given[0]), dtype=np.int64)
        last = [row - size, *(n - 1 for n in sides[1:])]
        for coordinate, most, stride in zip(given, last, _strides(row, sides), strict=True):
            at = np.clip(coordinate, 0, most) if bound == "clamp" else coordinate
            inside &= (at >= 0) & (at <= most)
            offset += at * stride
        return offset, inside


def _strides(row: int, sides: list[int]) -> list[int]:
    return [1, row, row * (sides[1] if len(sides) > 1 else 1)][: len(sides)]

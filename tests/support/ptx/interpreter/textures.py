"""Textures of the interpreter: 1-D to 3-D arrays, point and linear filters (CUDA Programming Guide, Texture Fetching).

Coordinates are scaled and floored in float64, where products of an f32 and a size are exact. A linear filter's weights
have 8 fractional bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support.ptx.interpreter.arithmetic.plans import DTYPES, Unsupported

Array = NDArray[Any]
WEIGHT_STEPS = 256


@dataclass
class Texture:
    """texels: shape (*sides, channels), sides outermost first (depth, height, width).

    linear: filter. normalized: float coordinates run from 0 to 1. address: clamp, border, wrap or mirror, for x, y, z.
    as_float: 8- and 16-bit texels are read as floats of [0, 1] or [-1, 1].
    """

    texels: Array
    linear: bool = False
    normalized: bool = False
    address: tuple[str, ...] = ("clamp",)
    as_float: bool = False
    layers: str = "none"

    def fetch(
        self, where: list[Array], result: str, layer: Array | None = None, gathered: int | None = None
    ) -> list[Array]:
        """Four arrays of type `result` at coordinates x, y, z (float: texture coordinates, integer: texel numbers).

        layer: of a texture with layers, an unsigned number. gathered: the channel to take of the four texels that a
        filter would take, from the lower left one on, counter-clockwise (y goes down).
        """
        sides = self.texels.shape[:-1][::-1]
        if (self.layers == "none") != (layer is None):
            raise Unsupported("layers, or none of them")
        if layer is not None:
            single = [replace(self, texels=one, layers="none") for one in self.texels]
            data = [one.fetch(where, result, None, gathered) for one in single]
            chosen = np.minimum(layer, len(data) - 1).astype(np.int64)
            return [np.stack([one[k] for one in data])[chosen, np.arange(len(chosen))] for k in range(4)]
        if gathered is not None:
            return self.gather(where, result, gathered)
        if len(where) != len(sides):
            raise Unsupported(f"a fetch with {len(where)} coordinates from a texture of {len(sides)} dimensions")
        axes = [self.axis(x, n, k) for k, (x, n) in enumerate(zip(where, sides, strict=True))]
        data = self.converted()
        total: Array = np.zeros((len(where[0]), data.shape[-1]), dtype=data.dtype)
        for outermost_first in product(*reversed(axes)):
            corner = outermost_first[::-1]  # x changes fastest
            index = tuple(np.where(inside, i, 0) for i, inside, _ in outermost_first)
            inside = np.logical_and.reduce([c[1] for c in corner])
            texel = np.where(inside[:, None], data[index], data.dtype.type(0))
            if corner[0][2] is None:
                total = texel
            else:
                weight = np.multiply.reduce([c[2] for c in corner])
                with np.errstate(invalid="ignore"):  # a texel of no weight does not count, be it infinite
                    total = total + np.where(weight[:, None] != 0, weight[:, None] * texel, 0.0)
        return self.delivered(total, result)

    def gather(self, where: list[Array], result: str, channel: int) -> list[Array]:
        smooth = replace(self, linear=True)
        sides = self.texels.shape[:-1][::-1]
        across, down = (smooth.axis(x, n, k) for k, (x, n) in enumerate(zip(where, sides, strict=True)))
        data, found = self.converted(), []
        for j, i in ((1, 0), (1, 1), (0, 1), (0, 0)):
            (x, x_in, _), (y, y_in, _) = across[i], down[j]
            inside = x_in & y_in
            texel = np.where(inside[:, None], data[np.where(inside, y, 0), np.where(inside, x, 0)], data.dtype.type(0))
            found.append(self.delivered(texel, result)[channel])
        return found

    def axis(self, x: Array, n: int, k: int) -> list[tuple[Array, Array, Array | None]]:
        """(texel numbers, whether inside, weights) of the one or two texels along an axis; no weight: point."""
        mode = self.address[min(k, len(self.address) - 1)]
        if x.dtype.kind != "f":
            i = x.view(np.int32).astype(np.int64)
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
            i = np.clip(np.floor(position), -(2.0**31), 2.0**31).astype(np.int64)
            return [(*self.placed(i, n, mode), None)]
        position = np.clip(position - 0.5, -(2.0**31), 2.0**31)
        low = np.floor(position)
        weight = np.floor((position - low) * WEIGHT_STEPS + 0.5) / WEIGHT_STEPS
        i = low.astype(np.int64)
        return [(*self.placed(i, n, mode), 1 - weight), (*self.placed(i + 1, n, mode), weight)]

    @staticmethod
    def placed(i: Array, n: int, mode: str) -> tuple[Array, Array]:
        """Texel numbers brought inside, and which of them count (all but those beyond a border)."""
        inside = np.ones(len(i), dtype=np.bool_)
        if mode == "border":
            return i, (i >= 0) & (i < n)
        if mode == "wrap":
            return i % n, inside
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
    Programming Guide, Cubemap Textures); of equal magnitudes z goes before y, y before x."""
    x, y, z = (v.astype(np.float64) for v in direction)
    along = np.where((abs(z) >= abs(y)) & (abs(z) >= abs(x)), 2, np.where(abs(y) >= abs(x), 1, 0))
    major = np.choose(along, [x, y, z])
    face = 2 * along + np.signbit(major)
    s = np.choose(face, [-z, z, x, x, x, -x])
    t = np.choose(face, [-y, -y, z, -z, -y, -y])
    with np.errstate(all="ignore"):
        return [((v / abs(major) + 1) / 2).astype(np.float32) for v in (s, t)], face

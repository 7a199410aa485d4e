"""Textures of the interpreter: 1-D to 3-D arrays with point or linear filtering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from tests.ptx.operations import Unsupported

Array = NDArray[Any]


@dataclass
class Texture:
    """texels: shape (z, y, x, channels), missing dimensions 1. linear: filter; normalized: coordinates in [0, 1).
    wrap: clamp, border, wrap or mirror for every dimension (wrap and mirror with normalized coordinates only).
    unit_scale: integer texels are read as floats of [0, 1] or [-1, 1]."""

    texels: Array
    linear: bool = False
    normalized: bool = False
    address: str = "clamp"
    unit_scale: bool = False

    def fetch(self, where: list[Array], result: str) -> list[Array]:
        """Four arrays of type `result` at coordinates x, y, z (float: texture coordinates, integer: texel numbers)."""
        raise Unsupported("texture fetches")

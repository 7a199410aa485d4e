"""What a plan is, the form of an instruction that one is made for, and the NumPy types of PTX's types.

A plan names the types of destinations and sources and a function from source arrays to the destination arrays. Halves
are arrays of patterns, pairs of them arrays of words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support.ptx.interpreter.arithmetic import integers

Array = NDArray[Any]

DTYPES: dict[str, Any] = {
    **{f"{k}{w}": integers.UNSIGNED[w] for k in "bu" for w in (8, 16, 32, 64)},
    **{f"s{w}": integers.SIGNED[w] for w in (8, 16, 32, 64)},
    "f32": np.float32,
    "f64": np.float64,
    **dict.fromkeys(("f16", "bf16"), np.uint16),
    **dict.fromkeys(("f16x2", "bf16x2"), np.uint32),
    "pred": np.bool_,
}
ROUNDINGS = ("rn", "rz", "rm", "rp")


class Unsupported(Exception):
    """The interpreter does not know this instruction or construct."""


@dataclass(frozen=True)
class Plan:
    """results, sources: types. compute: source arrays -> tuple of result arrays. carry_in, carry_out: CC.CF as one more
    source at the end, one more result at the end. optional: trailing sources that may be left out (given as zeros)."""

    results: tuple[str, ...]
    sources: tuple[str, ...]
    compute: Callable[..., tuple[Array, ...]]
    carry_in: bool = False
    carry_out: bool = False
    optional: int = 0


@dataclass(frozen=True)
class Form:
    """An instruction's modifiers, taken apart."""

    op: str
    mods: tuple[str, ...]

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(m for m in self.mods if m in DTYPES)

    @property
    def type(self) -> str:
        if not self.types:
            raise Unsupported(f"{self.op}.{'.'.join(self.mods)}: no type known here")
        return self.types[-1]

    @property
    def rounding(self) -> str:
        return next((m for m in self.mods if m in ROUNDINGS), "rn")

    def __contains__(self, mod: str) -> bool:
        return mod in self.mods


def simple(result: str, sources: tuple[str, ...], function: Callable[..., Array]) -> Plan:
    return Plan((result,), sources, lambda *args: (function(*args),))

"""Gains of a kernel are looked up here by their kind: a scheme, one number of blocks of it, or a choice among all.

Of a kind's versions, with access regions as they are, shorter, or with own words, the fastest counts that left the
original's results. A proof is asked for by the choices `today` and `any` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.laboratory.multiplex.paper import BEST, GTX285, SIMULATED
from binalloc.pipeline.multiplex.build import BLOCK, CO_HW, CO_VTB, HW, NAMED, PIPE, VTB

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.multiplex import MultiplexedKernelJson, ReproducedVersionJson

MORE = {"hw K+1": 1, "hw K+2": 2, "hw K+3": 3, "hw, no limit": None}
"""Kinds of `hw` with so many blocks beyond those of static memory."""
HANDED = "vtb, named"
"""Merged blocks that hand the turn on at named barriers, which the paper does without."""
LITTLE = 0.02
"""A gain below this one is none: so much do cycles change if blocks start a little later."""
SHORTER, TODAY, ANY, FREE = "shorter", "today", "any", "free"
_ON_CARDS = (SHORTER, VTB, PIPE, CO_VTB, BEST, HANDED, HW, CO_HW, TODAY, ANY, FREE)
_SIMULATED = (SHORTER, *MORE, HW, CO_HW, ANY, FREE)
_SCHEMES = {
    VTB: (VTB,), PIPE: (PIPE,), CO_VTB: (CO_VTB,), BEST: (VTB, PIPE, CO_VTB), HANDED: (VTB,), HW: (HW,),
    CO_HW: (CO_HW,),
}  # fmt: skip


def kinds_of(machine: str) -> tuple[str, ...]:
    """Return the kinds that are measured on a machine, in the order of reports."""
    if machine == SIMULATED:
        return _SIMULATED
    return tuple(kind for kind in _ON_CARDS if kind != HANDED or machine != GTX285)


def version_of(kernel: MultiplexedKernelJson, kind: str, as_is: bool = False) -> ReproducedVersionJson | None:
    """Return the fastest version of a kind of schemes; None if there is none. as_is: with access regions as they
    are."""
    those = [v for v in kernel["schemes"] if v["speedup"] is not None and v["same_results"]]
    if as_is:
        those = [v for v in those if not (v["shorter_regions"] or v["own_words"])]
    if kind == BEST:
        those = [v for v in those if not v["own_words"]]
    if kind in MORE:
        those = [v for v in those if v["scheme"] == HW and v["over"] == MORE[kind]]
    else:
        barriers = (None, NAMED if kind == HANDED else BLOCK)
        those = [v for v in those if v["scheme"] in _SCHEMES[kind] and v["barriers"] in barriers]
    return max(those, key=lambda v: v["speedup"] or 0, default=None)


def gain(kernel: MultiplexedKernelJson, kind: str) -> float | None:
    """Return the speedup of a kind; None if there is no such version."""
    if kind == SHORTER:
        return kernel["shorter"]
    if kind == FREE:
        return kernel["free"]
    auto = kernel["auto"]
    if kind == TODAY:
        return None if auto is None else auto["today"]["speedup"]
    if kind == ANY:
        return None if auto is None else auto["any"]["speedup"]
    found = version_of(kernel, kind)
    return None if found is None else found["speedup"]


def reached(kernel: MultiplexedKernelJson, kind: str) -> float | None:
    """Return how much of what free blocks gain a kind gains; None where they gain less than `LITTLE`, or one is
    missing."""
    free, value = kernel["free"], gain(kernel, kind)
    if free is None or value is None or free < 1 + LITTLE:
        return None
    return (value - 1) / (free - 1)


def gain_as_is(kernel: MultiplexedKernelJson, kind: str) -> float | None:
    """Return the speedup of a kind of schemes with access regions as they are; None if there is no such version."""
    found = None if kind in (SHORTER, FREE, TODAY, ANY) else version_of(kernel, kind, as_is=True)
    return None if found is None else found["speedup"]

"""The paper's orders of schemes, machines and numbers of blocks are judged by the figures here.

An order that does not hold comes with what the issue slots of the versions waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import geometric_mean
from typing import TYPE_CHECKING

from binalloc.laboratory.multiplex.gains import gain, version_of
from binalloc.laboratory.multiplex.paper import (
    ABOUT,
    BEST,
    DIVIDED,
    GTX285,
    GTX480_16K,
    GTX480_48K,
    SIMULATED,
    SOFTWARE,
    Judged,
    Order,
)
from binalloc.pipeline.multiplex.build import CO_HW, CO_VTB, HW, PIPE, VTB

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.multiplex import MultiplexedKernelJson

    Kernels = Sequence[MultiplexedKernelJson]


def judged_orders(kernels: Kernels) -> list[Judged]:
    """Return all orders, judged."""
    return [_JUDGES[order](order, kernels) for order in Order]


def _co_first(order: Order, kernels: Kernels) -> Judged:
    """Means are compared over the kernels and cards that have all three schemes."""
    those = [k for k in kernels if k["machine"] in SOFTWARE and k["kernel"] in DIVIDED]
    those = [k for k in those if all(gain(k, kind) is not None for kind in (CO_VTB, PIPE, VTB))]
    means = {kind: _mean(those, kind) for kind in (CO_VTB, PIPE, VTB)}
    co, pipe, plain = means.values()
    if co is None or pipe is None or plain is None:
        return _unknown(order)
    so = co > max(pipe, plain)
    said = ", ".join(f"{kind} {mean:.3f}" for kind, mean in means.items()) + " over the same kernels and cards"
    return Judged(order, so, said, () if so else _waits(those, CO_VTB, PIPE, VTB))


def _pipe(order: Order, kernels: Kernels) -> Judged:
    """Means over cards are compared: those of MC, and those of the other kernels that have both schemes."""
    both = [k for k in kernels if k["machine"] in SOFTWARE and gain(k, VTB) is not None and gain(k, PIPE) is not None]
    exception, other = ([k for k in both if (k["kernel"] == "MC") == so] for so in (True, False))
    pipe_there, plain_there, pipe, plain = (_mean(those, kind) for those in (exception, other) for kind in (PIPE, VTB))
    if pipe_there is None or plain_there is None or pipe is None or plain is None:
        return _unknown(order)
    so = pipe > plain and pipe_there < plain_there
    said = f"{PIPE} {pipe:.3f}, {VTB} {plain:.3f}; MC {PIPE} {pipe_there:.3f}, {VTB} {plain_there:.3f}"
    return Judged(order, so, said, () if so else _waits(both, PIPE, VTB))


def _small_first(order: Order, kernels: Kernels) -> Judged:
    means = {m: _mean([k for k in kernels if k["machine"] == m], BEST) for m in SOFTWARE}
    small, old, large = means[GTX480_16K], means[GTX285], means[GTX480_48K]
    if small is None or old is None or large is None:
        return _unknown(order)
    said = ", ".join(f"{name} {mean:.3f}" for name, mean in means.items())
    so = small > old > large
    those = [k for k in kernels if k["machine"] in SOFTWARE and gain(k, BEST) is not None]
    return Judged(order, so, said, () if so else _waits(those, BEST))


def _one_more(order: Order, kernels: Kernels) -> Judged:
    those = _limited(kernels)
    one, two, three = (_mean(those, f"hw K+{n}") for n in (1, 2, 3))
    if one is None or two is None or three is None:
        return _unknown(order)
    so = one < min(two, three)
    said = f"K+1 {one:.3f}, K+2 {two:.3f}, K+3 {three:.3f}"
    return Judged(order, so, said, () if so else _waits(those, "hw K+1", "hw K+2"))


def _alike(order: Order, kernels: Kernels) -> Judged:
    those = _limited(kernels)
    two, three = _mean(those, "hw K+2"), _mean(those, "hw K+3")
    if two is None or three is None:
        return _unknown(order)
    so = abs(two / three - 1) < ABOUT
    return Judged(order, so, f"K+2 {two:.3f}, K+3 {three:.3f}", () if so else _waits(those, "hw K+2", "hw K+3"))


def _third(order: Order, kernels: Kernels) -> Judged:
    """Compare K+3 with K+2 for the two kernels that the order is about."""
    names, more = (("FFT", "MC"), True) if order == Order.MORE_FOR_SOME else (("HG", "MV"), False)
    those = [k for k in _limited(kernels) if k["kernel"] in names]
    if {k["kernel"] for k in those} != set(names):
        return _unknown(order)
    so = all(((gain(k, "hw K+3") or 0) > (gain(k, "hw K+2") or 0)) == more for k in those)
    return Judged(order, so, _pairs(those, "hw K+2", "hw K+3"), () if so else _waits(those, "hw K+2", "hw K+3"))


def _hardware(order: Order, kernels: Kernels) -> Judged:
    """Compare CO-HW with HW for the kernels that the order is about; a kernel without one of them decides nothing."""
    names, co_first = (("MC",), True) if order == Order.CO_HW_FOR_MC else (("STO", "HG"), False)
    those = [k for k in kernels if k["machine"] == SIMULATED and k["kernel"] in names]
    both = [k for k in those if gain(k, HW) is not None and gain(k, CO_HW) is not None]
    missing = [k["kernel"] for k in those if k not in both]
    if not both:
        return _unknown(order)
    so = all(((gain(k, CO_HW) or 0) > (gain(k, HW) or 0)) == co_first for k in both)
    said = _pairs(both, HW, CO_HW)
    if missing:
        said += f"; {', '.join(missing)} has no version of one of them"
    return Judged(order, None if so and missing else so, said, () if so else _waits(both, HW, CO_HW))


_JUDGES: dict[Order, Callable[[Order, Kernels], Judged]] = {
    Order.CO_FIRST: _co_first,
    Order.PIPE_OVER_VTB: _pipe,
    Order.SMALL_FIRST: _small_first,
    Order.ONE_MORE: _one_more,
    Order.ALIKE: _alike,
    Order.MORE_FOR_SOME: _third,
    Order.FEWER_FOR_SOME: _third,
    Order.CO_HW_FOR_MC: _hardware,
    Order.HW_FOR_OTHERS: _hardware,
}


def _unknown(order: Order) -> Judged:
    return Judged(order, None, "not run")


def _limited(kernels: Kernels) -> Kernels:
    """Return the kernels of the simulated machine that have a version for each of K+1 to K+3."""
    those = [k for k in kernels if k["machine"] == SIMULATED]
    return [k for k in those if all(gain(k, f"hw K+{n}") is not None for n in (1, 2, 3))]


def _mean(kernels: Kernels, kind: str) -> float | None:
    found = [value for k in kernels if (value := gain(k, kind)) is not None]
    return geometric_mean(found) if found else None


def _pairs(kernels: Kernels, one: str, other: str) -> str:
    return "; ".join(f"{k['kernel']} {one} {gain(k, one):.3f}, {other} {gain(k, other):.3f}" for k in kernels)


def _waits(kernels: Kernels, *kinds: str) -> tuple[str, ...]:
    """Return for each kernel what issue slots waited for: of the original, and of a version of each kind."""
    found = []
    for k in kernels:
        said = f"{k['kernel']} on {k['machine']}: original ({k['original_blocks']}) {_shares(k['stalls'])}"
        for kind in kinds:
            version = version_of(k, kind)
            assert version is not None
            said += f"; {kind} {version['speedup']:.3f} ({version['blocks']}) {_shares(version['stalls'])}"
        found.append(said)
    return tuple(found)


def _shares(stalls: dict[str, float]) -> str:
    return ", ".join(f"{share:.0%} {reason}" for reason, share in stalls.items())

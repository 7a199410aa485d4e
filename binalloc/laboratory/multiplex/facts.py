"""The figures of the multiplex paper's experiments are made into the dictionary that JSON prints."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import geometric_mean
from typing import TYPE_CHECKING

from binalloc.laboratory.multiplex.gains import ANY, TODAY, gain, gain_as_is, kinds_of, reached
from binalloc.laboratory.multiplex.orders import judged_orders
from binalloc.laboratory.multiplex.paper import (
    AVERAGES,
    CURVES,
    GTX480_16K,
    GTX480_48K,
    LARGEST,
    MACHINES,
    SHARE,
    Curve,
)
from binalloc.laboratory.multiplex.run import MeasuredPoint, MultiplexedCase
from binalloc.pipeline.sweeping.sweep import Tally

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.multiplex import (
        CurveJson,
        CurvePointJson,
        MeanGainJson,
        MultiplexedKernelJson,
        MultiplexedMachineJson,
        MultiplexReproductionJson,
    )


def multiplex_reproduction_json(
    cases: Sequence[MultiplexedCase], tally: Tally, partial: bool, cache: str, points: Sequence[MeasuredPoint] = ()
) -> MultiplexReproductionJson:
    """Return the object that `reproduce multiplex --json` prints.

    points: of Figs. 12 and 13. tally: runs made and runs found in the cache. partial: whether the command was
    interrupted. cache: its folder.
    """
    kernels = [kernel_json(case) for case in cases]
    machines = list(dict.fromkeys(k["machine"] for k in kernels))
    orders = judged_orders(kernels) if any(name in MACHINES for name in machines) else []
    return {
        "partial": partial,
        "cache": cache,
        "done": tally.done,
        "cached": tally.cached,
        "machines": [_of_machine(name, [k for k in kernels if k["machine"] == name]) for name in machines],
        "orders": [
            {"order": str(one.order), "holds": one.holds, "counters": one.counters, "waits": list(one.waits)}
            for one in orders
        ],
        "kernels": kernels,
        "curves": [
            _curve(curve, those) for curve in CURVES if (those := [p for p in points if p.kernel == curve.kernel])
        ],
    }


def kernel_json(case: MultiplexedCase) -> MultiplexedKernelJson:
    """Return a kernel on a machine."""
    found = case.outcome
    alone, own, free = (found.get(name) for name in ("shorter", "own", "free"))
    shorter, local = (None if v is None or not (v["same_results"] and v["proven"]) else v for v in (alone, own))
    out: MultiplexedKernelJson = {
        "machine": case.machine,
        "kernel": case.kernel,
        "sample": case.sample,
        "status": found["status"],
        "reason": found["reason"],
        "version": found.get("version"),
        "original_blocks": found.get("original_blocks"),
        "original_cycles": found.get("original_cycles"),
        "limits": found.get("limits", []),
        "shared_bytes": found.get("shared_bytes"),
        "stalls": found.get("stalls", {}),
        "region_share": found.get("region_share"),
        "shorter_region_share": found.get("shorter_region_share"),
        "shorter": None if shorter is None else shorter["speedup"],
        "own": None if local is None else local["speedup"],
        "free": None if free is None else free["speedup"],
        "free_blocks": None if free is None else free["blocks"],
        "schemes": found.get("schemes", []),
        "auto": found.get("auto"),
        "reached": {"today": None, "any": None},
    }
    shares = {kind: reached(out, kind) for kind in (TODAY, ANY)}
    out["reached"] = {"today": _rounded(shares[TODAY]), "any": _rounded(shares[ANY])}
    return out


def _curve(curve: Curve, points: Sequence[MeasuredPoint]) -> CurveJson:
    """Return a figure's points with their means."""
    shown = [_point(one, points) for one in points]
    gains = [g for p in shown if p["machine"] == GTX480_48K and (g := p["speedup"]) is not None]
    caught_up = [t for p in shown if p["machine"] == GTX480_16K and (t := p["pipe_throughput"]) is not None]
    return {
        "figure": curve.figure,
        "kernel": curve.kernel,
        "work": curve.work,
        "points": shown,
        "gain": _rounded_mean(gains),
        "paper_gain": curve.gain,
        "largest": max(gains, default=None),
        "paper_largest": curve.largest,
        "small_over_large": _rounded_mean(caught_up),
    }


def _point(one: MeasuredPoint, points: Sequence[MeasuredPoint]) -> CurvePointJson:
    """Return a point. Throughputs are over that of the original at 48 KB, with as much work."""
    found = one.outcome
    large = next((p.outcome for p in points if (p.machine, p.extent) == (GTX480_48K, one.extent)), {})
    cycles, unit, speedup = found.get("original_cycles"), large.get("original_cycles"), found.get("speedup")
    throughput = unit / cycles if unit and cycles else None
    return {
        "machine": one.machine,
        "extent": one.extent,
        "sm_blocks": one.blocks,
        "status": found["status"],
        "reason": found["reason"],
        "original_cycles": cycles,
        "original_blocks": found.get("original_blocks"),
        "speedup": speedup,
        "blocks": found.get("blocks"),
        "shorter_regions": found.get("shorter_regions"),
        "throughput": None if throughput is None else round(throughput, 4),
        "pipe_throughput": None if throughput is None or speedup is None else round(throughput * speedup, 4),
    }


def _of_machine(name: str, kernels: Sequence[MultiplexedKernelJson]) -> MultiplexedMachineJson:
    return {
        "machine": name,
        "region_share": _rounded_mean([share for k in kernels if (share := k["region_share"])]),
        "shorter_region_share": _rounded_mean([share for k in kernels if (share := k["shorter_region_share"])]),
        "paper_region_share": SHARE,
        "means": [_mean(name, kind, kernels) for kind in kinds_of(name)],
    }


def _mean(machine: str, kind: str, kernels: Sequence[MultiplexedKernelJson]) -> MeanGainJson:
    """Return the mean of one kind of version over the kernels that have one."""
    found = [(value, k["kernel"]) for k in kernels if (value := gain(k, kind)) is not None]
    largest = max(found, default=None)
    return {
        "name": kind,
        "here": _rounded_mean([value for value, _ in found]),
        "as_is": _rounded_mean([value for k in kernels if (value := gain_as_is(k, kind)) is not None]),
        "kernels": len(found),
        "paper": AVERAGES.get(machine, {}).get(kind),
        "largest": None if largest is None else largest[0],
        "largest_kernel": None if largest is None else largest[1],
        "paper_largest": LARGEST.get(machine, {}).get(kind),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _rounded_mean(values: Sequence[float]) -> float | None:
    """Return the geometric mean; None of nothing."""
    return round(geometric_mean(values), 4) if values else None

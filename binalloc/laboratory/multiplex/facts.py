"""The figures of the multiplex paper's experiments are made into the dictionary that JSON prints."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import geometric_mean
from typing import TYPE_CHECKING

from binalloc.laboratory.multiplex.gains import gain, gain_as_is, kinds_of
from binalloc.laboratory.multiplex.orders import judged_orders
from binalloc.laboratory.multiplex.paper import AVERAGES, LARGEST, MACHINES, SHARE
from binalloc.laboratory.multiplex.run import MultiplexedCase
from binalloc.pipeline.sweeping.sweep import Tally

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.multiplex import (
        MeanGainJson,
        MultiplexedKernelJson,
        MultiplexedMachineJson,
        MultiplexReproductionJson,
    )


def multiplex_reproduction_json(
    cases: Sequence[MultiplexedCase], tally: Tally, partial: bool, cache: str
) -> MultiplexReproductionJson:
    """Return the object that `reproduce multiplex --json` prints.

    tally: runs made and runs found in the cache. partial: whether the command was interrupted. cache: its folder.
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
    }


def kernel_json(case: MultiplexedCase) -> MultiplexedKernelJson:
    """Return a kernel on a machine."""
    found = case.outcome
    alone, free = found.get("shorter"), found.get("free")
    if alone is not None and not (alone["same_results"] and alone["proven"]):
        alone = None
    return {
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
        "shorter": None if alone is None else alone["speedup"],
        "free": None if free is None else free["speedup"],
        "free_blocks": None if free is None else free["blocks"],
        "schemes": found.get("schemes", []),
        "auto": found.get("auto"),
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


def _rounded_mean(values: Sequence[float]) -> float | None:
    """Return the geometric mean; None of nothing."""
    return round(geometric_mean(values), 4) if values else None

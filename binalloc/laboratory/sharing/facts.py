"""The figures of the sharing paper's experiments are made into the dictionary that JSON prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import TYPE_CHECKING

from binalloc.laboratory.sharing.paper import BENCHMARKS, LAUNCH_OF_NOTHING, MACHINE, MEANS, MEANS_WITHOUT, Benchmark
from binalloc.laboratory.sharing.rows import Runs, figures_json
from binalloc.laboratory.sharing.sayings import sayings_json
from binalloc.laboratory.sharing.task import STEPS, UNSHARED
from binalloc.pipeline.sharing.sharing import AUTO
from binalloc.pipeline.sweeping.cache import Outcome
from binalloc.pipeline.sweeping.sweep import Tally

if TYPE_CHECKING:
    from binalloc.report.shapes.parts.sharing.paired import (
        GainJson,
        MergedKernelJson,
        SharedKernelJson,
        SharingMeanJson,
        SharingReproductionJson,
    )

ORDER = (*STEPS, AUTO)
"""Steps in the order of the paper's Fig. 16; outcomes that were kept have lost theirs."""
MOST_SLOWER = 0.99
"""`auto` may be so much slower than the threshold and unshared blocks: a hundredth."""


@dataclass(frozen=True)
class SharedCase:
    """A shared case is a benchmark on a machine with its figures."""

    machine: str
    benchmark: Benchmark
    outcome: Outcome  #: figures of its task; `status` says whether there are any


def sharing_reproduction_json(
    cases: Sequence[SharedCase], merged: Sequence[SharedCase], figures: Sequence[str], tally: Tally, partial: bool,
    cache: str,
) -> SharingReproductionJson:
    """Return the object that `reproduce sharing --json` prints.

    merged: cases of merged kernels. figures: numbers of figures and tables that were asked for. tally: runs made and
    runs found in the cache. partial: whether the command was interrupted. cache: its folder.
    """
    every = [_kernel(case) for case in cases]
    kernels = [kernel for kernel in every if kernel["machine"] == MACHINE]
    together = [_merged(case) for case in merged]
    runs = Runs(every, together)
    return {
        "partial": partial,
        "cache": cache,
        "done": tally.done,
        "cached": tally.cached,
        "kernels": kernels,
        "varied": [kernel for kernel in every if kernel["machine"] != MACHINE],
        "merged": together,
        "means": list(sharing_means(kernels)),
        "figures": list(figures_json(runs, figures)),
        "sayings": list(sayings_json(runs, figures)),
    }


def _merged(case: SharedCase) -> MergedKernelJson:
    figures, benchmark = case.outcome, case.benchmark
    return {
        "machine": case.machine,
        "kernel": benchmark.kernel,
        "sample": benchmark.sample,
        "status": str(figures.get("status")),
        "reason": str(figures.get("reason") or ""),
        "schemes": figures.get("schemes") or [],
    }


def _kernel(case: SharedCase) -> SharedKernelJson:
    figures, benchmark = case.outcome, case.benchmark
    ok = figures.get("status") == "ok"
    return {
        "machine": case.machine,
        "kernel": benchmark.kernel,
        "sample": benchmark.sample,
        "set": benchmark.group,
        "status": str(figures.get("status")),
        "reason": str(figures.get("reason") or figures.get("refused") or ""),
        "blocks": figures["blocks"] if ok else None,
        "shared_blocks": max((one["blocks"] for one in figures["shared"].values()), default=None) if ok else None,
        "limits": figures["limits"] if ok else [],
        "shared_bytes": figures["shared_bytes"] if ok else None,
        "unshared": {name: figures["unshared"][name] for name in UNSHARED if name in figures["unshared"]} if ok else {},
        "shared": {step: figures["shared"][step] for step in ORDER if step in figures["shared"]} if ok else {},
        "free": figures["free"] if ok else None,
        "paper_ipc": list(benchmark.ipc) if benchmark.ipc else None,
        "paper_instructions": list(benchmark.instructions) if benchmark.instructions else None,
        "gains": _gains(figures) if ok else [],
    }


def _gains(figures: Outcome) -> list[GainJson]:
    """Return the gain of each step over unshared blocks, and how much is reached of blocks that never wait."""
    out: list[GainJson] = []
    if not figures["shared"]:
        return out
    lrr, oldest = (figures["unshared"][name]["cycles"] for name in ("lrr", "oldest"))
    free = figures["free"]
    most = lrr / free["cycles"] if free is not None else 1.0
    for step, one in ((step, figures["shared"][step]) for step in ORDER if step in figures["shared"]):
        gain = lrr / one["cycles"]
        out.append({
            "step": step,
            "over_lrr": round(gain, 4),
            "over_oldest": round(oldest / one["cycles"], 4),
            "reached": round((gain - 1) / (most - 1), 4) if most > 1.005 else None,
        })  # fmt: skip
    return out


def sharing_means(kernels: Sequence[SharedKernelJson]) -> Iterable[SharingMeanJson]:
    """Yield the means of gains in instructions per cycle over Sets 1 and 2, and without `LAUNCH_OF_NOTHING` where that
    was run. The paper's mean stands beside one over as many kernels alone: those of fewer are no answer to it."""
    measured = [k for k in kernels if k["set"] in (1, 2) and k["shared"]]
    whole = sum(benchmark.group in (1, 2) for benchmark in BENCHMARKS)
    for without, paper in ((False, MEANS), (True, MEANS_WITHOUT)):
        if without and all(k["kernel"] != LAUNCH_OF_NOTHING for k in measured):
            continue
        among = [k for k in measured if not (without and k["kernel"] == LAUNCH_OF_NOTHING)]
        for step in ORDER:
            for scheduler in UNSHARED:
                gains = [
                    k["shared"][step]["ipc"] / k["unshared"][scheduler]["ipc"] for k in among if step in k["shared"]
                ]  # fmt: skip
                if gains:
                    yield {
                        "step": step, "over": scheduler, "without": LAUNCH_OF_NOTHING if without else None,
                        "kernels": len(gains), "gain": round(100 * (geometric_mean(gains) - 1), 2),
                        "paper": paper.get(scheduler) if step == "opt" and len(gains) == whole - without else None,
                    }  # fmt: skip


def slower_choices(kernels: Iterable[SharedKernelJson]) -> list[str]:
    """Return the kernels whose choice is more than a hundredth slower than the threshold or unshared blocks."""
    out = []
    for kernel in kernels:
        chosen = kernel["shared"].get(AUTO)
        if chosen is None:
            continue
        others = [kernel["unshared"]["lrr"]["cycles"], *(one["cycles"] for one in kernel["shared"].values())]
        if min(others) / chosen["cycles"] < MOST_SLOWER:
            out.append(kernel["kernel"])
    return out


def worse_with_sharing(kernels: Iterable[SharedKernelJson]) -> dict[str, list[str]]:
    """Return the kernels that the paper's last step makes slower than unshared blocks under LRR, by machine."""
    out: dict[str, list[str]] = {}
    for kernel in kernels:
        last = kernel["shared"].get("opt")
        if last is not None and last["cycles"] > kernel["unshared"]["lrr"]["cycles"]:
            out.setdefault(kernel["machine"], []).append(kernel["kernel"])
    return out

"""The figures of the batching paper's experiments are made into the dictionary that JSON prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import TYPE_CHECKING

from binalloc.laboratory.batching.classes import class_of
from binalloc.laboratory.batching.kernels import Benchmark
from binalloc.laboratory.batching.measures import PERCENT, change
from binalloc.laboratory.batching.published import DISTANCES, FORMULAS
from binalloc.laboratory.batching.sayings import means_json, sayings_json
from binalloc.laboratory.batching.schemes import BASE, SCHEMES
from binalloc.launch.types import Launch
from binalloc.models.batches.formula import STRIDE
from binalloc.pipeline.steps.row import OK
from binalloc.pipeline.sweeping.cache import Outcome
from binalloc.pipeline.sweeping.sweep import Tally
from binalloc.pipeline.sweeping.tasks import same_outputs

if TYPE_CHECKING:
    from binalloc.report.shapes.parts.batching import (
        BatchedKernelJson,
        BatchingReproductionJson,
        BesidePaperJson,
        PageSharingJson,
        SchemeRunJson,
    )


@dataclass(frozen=True)
class BatchedCase:
    """A batched case is a kernel on a machine with the outcomes of its tasks."""

    benchmark: Benchmark
    machine: str
    row_bytes: int  #: of a row of the machine's DRAM
    launch: Launch
    profile: Outcome | None  #: None where the command was interrupted before
    runs: dict[str, Outcome] = field(default_factory=dict)  #: by scheme, those that have ended


def batching_reproduction_json(
    cases: Sequence[BatchedCase], tally: Tally, partial: bool, cache: str
) -> BatchingReproductionJson:
    """Return the object that `reproduce batching --json` prints.

    tally: runs made and runs found in the cache. partial: whether the command was interrupted. cache: its folder.
    """
    kernels = [_kernel(case) for case in cases]
    shared = list({kernel["kernel"]: kernel["sharing"] for kernel in kernels if kernel["sharing"]}.values())
    return {
        "partial": partial,
        "cache": cache,
        "done": tally.done,
        "cached": tally.cached,
        "missing": {scheme.name: scheme.missing for scheme in SCHEMES if scheme.missing},
        "kernels": kernels,
        "mixes": [],
        "formulas": _formulas([one for one in shared if one is not None]),
        "distances": _distances([one for one in shared if one is not None]),
        "means": list(means_json(kernels)),
        "sayings": list(sayings_json(kernels)),
    }


def _kernel(case: BatchedCase) -> BatchedKernelJson:
    ended = ([] if case.profile is None else [case.profile]) + list(case.runs.values())
    bad = next((one for one in ended if one["status"] != OK), None)
    runs = {scheme.name: _run(case, case.runs.get(scheme.name)) for scheme in SCHEMES}
    return {
        "kernel": case.benchmark.kernel,
        "suite": case.benchmark.suite,
        "machine": case.machine,
        "row_bytes": case.row_bytes,
        "status": OK if bad is None else str(bad["status"]),
        "reason": "" if bad is None else str(bad["reason"]),
        "sharing": _sharing(case.profile),
        "schemes": runs,
        "class": _class(runs),
    }


def _sharing(profile: Outcome | None) -> PageSharingJson | None:
    if profile is None or profile["status"] != OK:
        return None
    return {
        "formula": {"kind": profile["kind"], "value": profile["value"]},
        "blocks": profile["blocks"],
        "batches": profile["batches"],
        "inputs_alone": profile["inputs_alone"],
        "pages": profile["pages"],
        "one_batch": profile["one_batch"],
        "two_batches": profile["two_batches"],
        "global_pages": profile["global"],
    }


def _run(case: BatchedCase, outcome: Outcome | None) -> SchemeRunJson | None:
    if outcome is None or outcome["status"] != OK:
        return None
    base = case.runs.get(BASE, {})
    same = same_outputs(case.launch, base["outputs"], outcome["outputs"]) if "outputs" in base else None
    return {
        "batches": outcome["batches"],
        "cycles": outcome["cycles"],
        "local_ratio": outcome["local_ratio"],
        "l1_hits": outcome["l1_hits"],
        "row_hits": outcome["row_hits"],
        "bank_parallelism": outcome["bank_parallelism"],
        "banks_busy": outcome["banks_busy"],
        "dram_delay": outcome["dram_delay"],
        "reply_stalls": outcome["reply_stalls"],
        "energy": outcome["energy"],
        "activations": outcome["activations"],
        "dram_bytes": outcome["dram_bytes"],
        "dram_utilisation": outcome["dram_utilisation"],
        "l1_misses": outcome["l1_misses"],
        "l2_misses": outcome["l2_misses"],
        "instructions": outcome["instructions"],
        "prefetches": outcome["prefetches"],
        "prefetches_used": outcome["prefetches_used"],
        "batches_resident": outcome["batches_resident"],
        "idle_share": outcome["idle_share"],
        "same_results": same,
    }


def _class(runs: Mapping[str, SchemeRunJson | None]) -> str | None:
    base, temp, both = (runs[name] for name in (BASE, "temp", "temp_tbas"))
    if base is None or temp is None or both is None:
        return None
    gains = change("speed", temp, base), change("speed", both, base)
    assert gains[0] is not None
    assert gains[1] is not None
    return class_of(temp["local_ratio"], gains[0], gains[1])


def _formulas(found: Sequence[PageSharingJson]) -> list[BesidePaperJson]:
    """Return the share of kernels with each kind of formula, in per cent."""
    kinds = [one["formula"]["kind"] for one in found]
    return [
        {"what": kind, "ours": round(PERCENT * kinds.count(kind) / len(kinds), 1) if kinds else None, "paper": paper}
        for kind, paper in FORMULAS.items()
    ]


def _distances(found: Sequence[PageSharingJson]) -> list[BesidePaperJson]:
    """Return the share of pages that so many batches touch: a mean over kernels with a stride."""
    kernels = [one for one in found if one["formula"]["kind"] == STRIDE]
    pages = {
        "one batch": [one["one_batch"] / one["pages"] for one in kernels],
        "two batches in a row": [one["two_batches"] / one["pages"] for one in kernels],
        "global": [one["global_pages"] / one["pages"] for one in kernels],
    }
    return [
        {"what": what, "ours": round(PERCENT * mean(pages[what]), 1) if kernels else None, "paper": paper}
        for what, paper in DISTANCES.items()
    ]

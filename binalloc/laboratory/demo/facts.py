"""The records of the demo are made into the object that JSON prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.pipeline.steps.row import known
from binalloc.report.versions import level_json, rounded, speedup_parts, version_json

if TYPE_CHECKING:
    from binalloc.laboratory.demo.records import Demo, KernelDemo, LaunchedKernel, ProgramDemo
    from binalloc.pipeline.steps.row import Row
    from binalloc.report.shapes.commands.demo import (
        DemoFields,
        DemoKernelJson,
        DemoLaunchedKernel,
        DemoProgramJson,
        NearestVersion,
        VerifiedVersion,
    )
    from binalloc.report.shapes.parts.common import BothCounts


def demo_json(found: Demo) -> DemoFields:
    """Return the object that `demo --json` prints."""
    return {
        "machine": found.machine,
        "scheduler": found.scheduler,
        "partial": found.partial,
        "rows": [_kernel(one) for one in found.kernels],
        "programs": [_program(one) for one in found.programs],
        "left_out": [{"sample": one.sample, "reason": one.reason} for one in found.left_out],
    }


def _kernel(found: KernelDemo) -> DemoKernelJson:
    return {
        "sample": found.sample,
        "kernel": found.kernel,
        "verified": found.verified,
        "rewritten": found.rewritten,
        "by_order_alone": found.by_order_alone,
        "reason": found.reason,
        "original": _verified(found.original),
        "ordered": None if found.ordered is None else _verified(found.ordered),
        "local": None if found.local is None else _verified(found.local),
        "best": _verified(found.best),
        "speedup": rounded(found.speedup),
        "ordering": rounded(found.ordering),
        "rescheduling": rounded(found.rescheduling),
        "parts": speedup_parts(found.parts),
        "unified": {
            "blocks_per_sm": known(found.unified.blocks_per_sm),
            "registers": known(found.unified.registers),
            "slots": known(found.unified.slots),
            "kept_original": found.unified_keeps,
            "reason": found.unified.reason,
            "speedup": rounded(found.unified.speedup),
        },
        "nearest": None if found.nearest is None else _nearest(found.nearest),
        "levels": [level_json(row) for row in found.levels],
    }


def _verified(row: Row) -> VerifiedVersion:
    return {**version_json(row), "verified": known(row.same_results)}


def _nearest(row: Row) -> NearestVersion:
    return {**version_json(row), "speedup": round(known(row.speedup), 4)}


def _program(found: ProgramDemo) -> DemoProgramJson:
    return {
        "sample": found.sample,
        "verified": found.verified,
        "as_reference": found.as_reference,
        "launches": _both(found.launches),
        "cycles": _both(found.cycles),
        "speedup": rounded(found.speedup),
        "same_results": not found.differences,
        "differences": found.differences,
        "rewritten": found.rewritten,
        "reordered": found.reordered,
        "kernels": [_launched(one) for one in found.kernels],
    }


def _launched(found: LaunchedKernel) -> DemoLaunchedKernel:
    return {
        "kernel": found.kernel,
        "name": found.name,
        "kept_original": found.kept_original,
        "reason": found.reason,
        "original": version_json(found.original),
        "rewritten": version_json(found.rewritten),
        "launches": _both(found.launches),
        "cycles": _both(found.cycles),
        "speedup": rounded(found.speedup),
        "by_order_alone": found.by_order_alone,
    }


def _both(pair: tuple[int, int]) -> BothCounts:
    return {"original": pair[0], "rewritten": pair[1]}

"""A sample of one launch through the whole path: its row of the demo."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from binalloc.report.versions import outcome_to_dict, version_json

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.pipeline.pipeline import Outcome, Request, Version


def kernel_row(sample: str, module: Module, request: Request) -> dict[str, Any]:
    """What becomes of it, as `request` asks: with kernel and launch."""
    from binalloc.pipeline.pipeline import rewrite_kernel

    outcome = rewrite_kernel(module, request)
    versions, told = _versions(request, outcome), outcome_to_dict(outcome)
    return {
        "sample": sample,
        "kernel": request.kernel,
        "verified": outcome.verified and all(v["verified"] for v in versions.values() if v is not None),
        "rewritten": not outcome.kept_original,
        "by_order_alone": outcome.by_order_alone,
        "reason": outcome.reason,
        **versions,
        "speedup": told["speedup"],
        "ordering": told["ordering"],
        "rescheduling": told["rescheduling"],
        "parts": told["speedup_parts"],
        "unified": _unified_choice(module, request, outcome),
        "nearest": _nearest(outcome) if outcome.kept_original or outcome.by_order_alone else None,
        "levels": told["levels"],
    }


def _versions(request: Request, outcome: Outcome) -> dict[str, dict[str, Any] | None]:
    """original, ordered (where speedups are over that), local and best, each with its own verdict: results as the
    launch file's reference says (computed with NumPy), or as the original's where there is none. Rewritten ones
    have passed the checker before."""
    from binalloc.pipeline.pipeline import same_results

    out: dict[str, dict[str, Any] | None] = {}
    ordered = None if outcome.original is outcome.given else outcome.original
    found = {"original": outcome.given, "ordered": ordered, "local": outcome.local, "best": outcome.rewritten}
    for name, version in found.items():
        if version is None:
            out[name] = None
            continue
        same = same_results(request, outcome.given, version) is True and _matches_reference(request, version)
        out[name] = {**version_json(version), "verified": bool(same)}
    return out


def _nearest(outcome: Outcome) -> dict[str, Any] | None:
    """The fastest of the levels that did not beat the original."""
    ran = [t for t in outcome.tried if t.version is not None and t.version.cycles is not None]
    measured = [t for t in ran if t.version is not outcome.original]
    if not measured or outcome.original.cycles is None:
        return None
    t = min(measured, key=lambda t: (t.version.cycles or 0) if t.version else 0)
    assert t.version is not None
    assert t.version.cycles is not None
    return {**version_json(t.version), "speedup": round(outcome.original.cycles / t.version.cycles, 4)}


def _matches_reference(request: Request, version: Version) -> bool:
    """The buffers against the launch file's own reference, computed with NumPy."""
    from binalloc.launch.file import compare, reference_outputs

    launch = request.launch
    if launch is None or launch.reference is None:
        return True
    expected = reference_outputs(launch, launch.make_buffers())
    return not compare(launch, expected, {name: version.buffers[name] for name in expected})


def _unified_choice(module: Any, request: Request, outcome: Outcome) -> dict[str, Any]:
    """What the paper's static policy would have chosen, and what that would have given."""
    from binalloc.pipeline.pipeline import measure, rewrite_kernel

    static = rewrite_kernel(module, replace(request, policy="unified", emulate=False))
    chosen = static.rewritten
    cycles = outcome.original.cycles if static.kept_original else None
    for t in outcome.tried:
        same = t.version is not None and (t.version.registers, t.version.slots) == (chosen.registers, chosen.slots)
        if not static.kept_original and same and t.version and t.version.blocks_per_sm == chosen.blocks_per_sm:
            cycles = t.version.cycles
    if cycles is None:
        cycles = measure(chosen, request).cycles
    speedup = round(outcome.original.cycles / cycles, 4) if outcome.original.cycles and cycles else None
    return {
        "blocks_per_sm": chosen.blocks_per_sm,
        "registers": chosen.registers,
        "slots": chosen.slots,
        "kept_original": static.kept_original,
        "reason": static.reason,
        "speedup": speedup,
    }

"""A sample of one launch is rewritten, proven, measured and compared with its reference."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from binalloc.laboratory.demo.records import KernelDemo
from binalloc.pipeline.running.reference import against_reference

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.pipeline.pipeline import Outcome, Request, Version
    from binalloc.pipeline.steps.row import Row


def kernel_record(sample: str, module: Module, request: Request) -> KernelDemo:
    """Rewrite a sample, and return its record. request: with the sample's kernel and launch. Raises as `rewrite_kernel`
    does."""
    from binalloc.pipeline.pipeline import rewrite_kernel

    outcome = rewrite_kernel(module, request)
    unified, keeps = _unified_choice(module, request, outcome)
    ordered = None if outcome.original is outcome.given else outcome.original
    versions = {"original": outcome.given, "ordered": ordered, "local": outcome.local, "best": outcome.rewritten}
    rows = {name: None if one is None else _judged(request, outcome, one) for name, one in versions.items()}
    original, best = rows["original"], rows["best"]
    assert original is not None
    assert best is not None
    return KernelDemo(
        sample=sample,
        kernel=request.kernel,
        verified=outcome.verified and all(row.same_results for row in rows.values() if row is not None),
        rewritten=not outcome.kept_original,
        by_order_alone=outcome.by_order_alone,
        reason=outcome.reason,
        original=original,
        ordered=rows["ordered"],
        local=rows["local"],
        best=best,
        speedup=outcome.speedup,
        ordering=outcome.ordering,
        rescheduling=outcome.rescheduling,
        parts=outcome.parts,
        unified=unified,
        unified_keeps=keeps,
        nearest=_nearest(outcome) if outcome.kept_original or outcome.by_order_alone else None,
        levels=[tried.row() for tried in outcome.tried],
    )


def _judged(request: Request, outcome: Outcome, version: Version) -> Row:
    """Return a version's row with its verdict, whether its results are right.

    They must equal the original's, and the reference of the launch file (computed with NumPy) if it has one. Rewritten
    versions have passed the checker before.
    """
    from binalloc.pipeline.pipeline import same_results

    same = same_results(request, outcome.given, version) is True and _matches_reference(request, version)
    return replace(version.row(), same_results=same)


def _matches_reference(request: Request, version: Version) -> bool:
    launch = request.launch
    return launch is None or launch.reference is None or against_reference(launch, version.buffers).same


def _nearest(outcome: Outcome) -> Row | None:
    """Return the fastest level that is not the original, with its speedup over the original; None if none ran."""
    original = outcome.original.cycles
    ran = [t.version for t in outcome.tried if t.version is not None and t.version.cycles is not None]
    measured = [version for version in ran if version is not outcome.original]
    if not measured or original is None:
        return None
    fastest = min(measured, key=lambda version: version.cycles or 0)
    return replace(fastest.row(), speedup=original / (fastest.cycles or 1))


def _unified_choice(module: Any, request: Request, outcome: Outcome) -> tuple[Row, bool]:
    """Return the choice of the unified paper's static policy with its speedup, and whether it keeps the original."""
    from binalloc.pipeline.pipeline import measure, rewrite_kernel

    static = rewrite_kernel(module, replace(request, policy="unified", emulate=False))
    chosen, original = static.rewritten, outcome.original.cycles
    cycles = original if static.kept_original else None
    for t in outcome.tried:
        same = t.version is not None and (t.version.registers, t.version.slots) == (chosen.registers, chosen.slots)
        if not static.kept_original and same and t.version and t.version.blocks_per_sm == chosen.blocks_per_sm:
            cycles = t.version.cycles
    if cycles is None:
        cycles = measure(chosen, request).cycles
    speedup = original / cycles if original and cycles else None
    return replace(chosen.row(), reason=static.reason, speedup=speedup), static.kept_original

"""Versions of a kernel, the levels that a search looked at, and the outcome of a rewrite, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from binalloc.emulator.host.figures.skew import cycles_range
from binalloc.report.directives import directives_json
from binalloc.report.profile import profile_json

if TYPE_CHECKING:
    from binalloc.pipeline.pipeline import Outcome
    from binalloc.pipeline.steps.sampling import Sampled
    from binalloc.pipeline.steps.version import Tried, Version
    from binalloc.transform.allocate.functions.solver import SolverReport


def version_json(version: Version) -> dict[str, Any]:
    """Return the resources of a version, and its cycles where it was run."""
    return {
        "registers": version.registers,
        "slots": version.slots,
        "idle_slots": version.idle_slots,
        "local_bytes": version.local_bytes,
        "shared_bytes": version.shared_bytes,
        "blocks_per_sm": version.blocks_per_sm,
        "occupancy": round(version.occupancy, 6),
        "limiters": list(version.limiters),
        "instructions": version.instructions,
        "copies": version.copies,
        "cycles": version.cycles,
        "cycles_range": _range(version),
        "sampled": _sampled(version.sampled),
        "allocated": version.allocated or None,
    }


def _range(version: Version) -> list[int] | None:
    return None if version.cycles is None else cycles_range(version.cycles, version.skewed)


def _sampled(found: Sampled | None) -> dict[str, Any]:
    """Return what cycles are estimated from; nulls where all blocks were run, or none."""
    if found is None:
        return {"blocks": None, "grid": None, "error": None}
    return {"blocks": found.blocks, "grid": found.grid, "error": round(found.error, 4)}


def level_json(tried: Tried) -> dict[str, Any]:
    """Return a level that was looked at."""
    version = tried.version
    return {
        "blocks": tried.budget.blocks,
        "registers": tried.budget.registers,
        "slots": tried.budget.slots,
        "allocator": version.allocator or None if version else None,
        "registers_used": version.registers if version else None,
        "slots_used": version.slots if version else None,
        "blocks_per_sm": version.blocks_per_sm if version else None,
        "cycles": version.cycles if version else None,
        "cycles_range": _range(version) if version else None,
        "sampled": _sampled(version.sampled if version else None),
        "local_bytes": version.local_bytes if version else None,
        "expected_speedup": _rounded(tried.expected),
        "reason": tried.reason,
    }


def solver_json(report: SolverReport) -> dict[str, Any]:
    """Return an exact solver's answer for one function."""
    return {
        "function": report.function,
        "value": round(report.value, 4),
        "bound": round(report.bound, 4),
        "gap": round(report.gap, 6),
        "status": report.status,
        "source": "solver" if report.used else "heuristic",
        "used": report.used,
    }


def outcome_to_dict(outcome: Outcome) -> dict[str, Any]:
    """Return what `rewrite --json` prints of an outcome, without its `schema_version`."""
    request = outcome.request
    return {
        "kernel": request.kernel,
        "machine": request.machine.name,
        "allocator": request.allocator,
        "policy": outcome.policy,
        "reading": outcome.reading,
        "scheduler": request.options.scheduler if outcome.original.cycles is not None else None,
        "inline": request.inline,
        "inlined_calls": outcome.inlined_calls,
        "profile": None if request.profile is None else profile_json(request.profile),
        "verified": outcome.verified,
        "checked": outcome.checked,
        "same_results": outcome.same_results,
        "kept_original": outcome.kept_original,
        "reason": outcome.reason,
        "speedup": _rounded(outcome.speedup),
        "speedup_error": _rounded(outcome.error),
        "speedup_range": [round(value, 4) for value in outcome.speedups] or None,
        "speedup_parts": {name: round(value, 4) for name, value in outcome.parts.items()},
        "ordering": _rounded(outcome.ordering),
        "rescheduling": _rounded(outcome.rescheduling),
        "original": version_json(outcome.given),
        "ordered": None if outcome.original is outcome.given else version_json(outcome.original),
        "rewritten": version_json(outcome.rewritten),
        "local": version_json(outcome.local) if outcome.local else None,
        "directives": directives_json(outcome.directives) if outcome.directives else None,
        "levels": [level_json(tried) for tried in outcome.tried],
        "solver": [solver_json(report) for report in outcome.rewritten.solver],
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)

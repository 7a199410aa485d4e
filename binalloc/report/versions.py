"""This module has versions of a kernel, the levels of a search, and the outcome of a rewrite, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from binalloc.pipeline.steps.row import known
from binalloc.report.directives import directives_json
from binalloc.report.multiplex import turns_json
from binalloc.report.profile import profile_json
from binalloc.report.views.block_order import block_order_json
from binalloc.report.views.pairs import pairs_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from binalloc.pipeline.pipeline import Outcome
    from binalloc.pipeline.steps.row import Row
    from binalloc.pipeline.steps.sampling import Sampled
    from binalloc.report.shapes.commands.rewrite import OutcomeJson, SolverJson
    from binalloc.report.shapes.parts.versions import LevelJson, SampledJson, SpeedupParts, VersionJson
    from binalloc.transform.allocate.functions.solver import SolverReport

FACTORS: tuple[
    Literal[
        "occupancy", "local_traffic", "slots", "spills", "allocation", "turns", "scheduler", "pairs", "block_order"
    ],
    ...,
] = (
    "occupancy", "local_traffic", "slots", "spills", "allocation", "turns", "scheduler", "pairs", "block_order",
)  # fmt: skip
"""Factors that a speedup may have (`split_speedup` in `pipeline/pipeline.py`), in the order of the report."""


def version_json(row: Row) -> VersionJson:
    """Return the resources of a version, and its cycles if it was run."""
    return {
        "registers": known(row.registers),
        "slots": known(row.slots),
        "idle_slots": known(row.idle_slots),
        "local_bytes": known(row.local_bytes),
        "shared_bytes": known(row.shared_bytes),
        "blocks_per_sm": known(row.blocks_per_sm),
        "occupancy": round(known(row.occupancy), 6),
        "limiters": list(row.limiters),
        "instructions": known(row.instructions),
        "copies": known(row.copies),
        "cycles": row.cycles,
        "cycles_range": _range(row),
        "sampled": _sampled(row.sampled),
        "allocated": row.allocated or None,
    }


def _range(row: Row) -> list[int] | None:
    return None if row.cycles_range is None else list(row.cycles_range)


def _sampled(found: Sampled | None) -> SampledJson:
    """Return from which part of the grid cycles are estimated; nulls where all blocks were run, or none."""
    if found is None:
        return {"blocks": None, "grid": None, "error": None}
    return {"blocks": found.blocks, "grid": found.grid, "error": round(found.error, 4)}


def level_json(row: Row) -> LevelJson:
    """Return a level of a search: the resources that it allows, and the version that was made for it."""
    return {
        "blocks": known(row.blocks),
        "registers": known(row.registers_allowed),
        "slots": known(row.slots_allowed),
        "allocator": row.allocator or None,
        "registers_used": row.registers,
        "slots_used": row.slots,
        "blocks_per_sm": row.blocks_per_sm,
        "cycles": row.cycles,
        "cycles_range": _range(row),
        "sampled": _sampled(row.sampled),
        "local_bytes": row.local_bytes,
        "expected_speedup": rounded(row.expected_speedup),
        "reason": row.reason,
    }


def solver_json(report: SolverReport) -> SolverJson:
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


def speedup_parts(parts: Mapping[str, float]) -> SpeedupParts:
    """Return the factors of a speedup. A factor that does not apply is left out."""
    found: SpeedupParts = {}
    for name in FACTORS:
        if name in parts:
            found[name] = round(parts[name], 4)
    return found


def outcome_to_dict(outcome: Outcome, names: Mapping[str, str] | None = None) -> OutcomeJson:
    """Return what `rewrite --json` prints of an outcome, without its `schema_version`.

    names: how reasons spell the library's parameters; None: as the library does.
    """
    request = outcome.request
    found: OutcomeJson = {
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
        "speedup": rounded(outcome.speedup),
        "speedup_error": rounded(outcome.error),
        "speedup_range": [round(value, 4) for value in outcome.speedups] or None,
        "speedup_parts": speedup_parts(outcome.parts),
        "ordering": rounded(outcome.ordering),
        "rescheduling": rounded(outcome.rescheduling),
        "original": version_json(outcome.given.row()),
        "ordered": None if outcome.original is outcome.given else version_json(outcome.original.row()),
        "rewritten": version_json(outcome.rewritten.row()),
        "local": version_json(outcome.local.row()) if outcome.local else None,
        "directives": directives_json(outcome.directives) if outcome.directives else None,
        "levels": [level_json(tried.row()) for tried in outcome.tried],
        "solver": [solver_json(report) for report in outcome.rewritten.solver],
    }
    if outcome.turns is not None and request.launch is not None:
        without = version_json(outcome.turns.without.row())
        found["turns"] = turns_json(outcome.turns, request.launch, names or {}, without)
    if outcome.pairs is not None:
        without = version_json(outcome.pairs.without.row())
        found["pairs"] = pairs_json(outcome.pairs, known(outcome.original.cycles), without)
    if outcome.orders is not None:
        found["block_order"] = block_order_json(outcome.orders, request.options.sms)
    return found


def rounded(value: float | None) -> float | None:
    """Return a figure with four decimals, as in all reports; None if it is not known."""
    return None if value is None else round(value, 4)

"""This module reports a recommendation of how many blocks to run, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.names.short import short_name
from binalloc.pipeline.advice.caps import least_cap
from binalloc.pipeline.advice.certificate import Certificate
from binalloc.pipeline.advice.hot_lines import HotLine
from binalloc.pipeline.advice.recommend import Recommendation, Residence
from binalloc.pipeline.advice.spread import LevelSpeedup, Spread
from binalloc.pipeline.bound import Bound
from binalloc.pipeline.steps.grid import Filling
from binalloc.pipeline.steps.holding import idle_slots
from binalloc.pipeline.steps.version import Version
from binalloc.report.machines import occupancy_json
from binalloc.report.sources import find_source, line_of, read_source
from binalloc.report.versions import outcome_to_dict, rounded
from binalloc.report.views.pressure import pressure_facts

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.recommend import (
        AdviceJson,
        BoundJson,
        CertificateJson,
        GridJson,
        HotLineJson,
        MeasuredSide,
        NextSteps,
        RecommendedFunction,
        RefusedJson,
        SpreadJson,
        SpreadSide,
    )


def recommendation_to_dict(
    module: Module, found: Recommendation, command: str, names: Mapping[str, str] | None = None
) -> AdviceJson:
    """Return what `recommend --json` prints for one machine, without `machine_from`.

    module: the input. command: the command line that writes the recommended version. names: how reasons spell the
    library's parameters; None: as the library does.
    """
    character, outcome, request = found.character, outcome_to_dict(found.outcome, names), found.outcome.request
    advice: AdviceJson = {
        "refused": None,
        "kernel": outcome["kernel"],
        "machine": outcome["machine"],
        "allocator": outcome["allocator"],
        "policy": outcome["policy"],
        "reading": outcome["reading"],
        "inline": outcome["inline"],
        "kept_original": outcome["kept_original"],
        "reason": outcome["reason"],
        "speedup": outcome["speedup"],
        "speedup_error": outcome["speedup_error"],
        "ordering": outcome["ordering"],
        "original": outcome["original"],
        "ordered": outcome["ordered"],
        "levels": outcome["levels"],
        "directives": outcome["directives"],
        "recommended": outcome["rewritten"],
        "character": {
            "dispatch_interval": round(float(character.interval), 4),
            "concurrency_bound": character.concurrency_bound,
            "register_demand": found.use.registers,
            "user_shared_bytes_per_thread": round(character.user_shared, 4),
            "instruction_change": round(found.instruction_change, 4),
            "mix": [
                {"kind": share.kind, "static": share.static, "executed_percent": round(share.executed, 2)}
                for share in character.mix
            ],
        },
        "measured": {
            "original": _measured(found.outcome.original),
            "recommended": _measured(found.chosen),
        },
        "occupancy": {"original": occupancy_json(found.given), "recommended": occupancy_json(found.held)},
        "expected_speedup": rounded(found.expected),
        "spread": _spread(found.spread),
        "certificate": _certificate(found.certificate),
        "pressure": pressure_facts(module, request.kernel),
        "functions": [_function(one) for one in found.values],
        "waves": rounded(found.waves),
        "what_if": {
            name: [{"at": step.at, "blocks": step.blocks} for step in curve.steps]
            for name, curve in found.curves.items()
        },
        "what_if_most": {name: curve.most for name, curve in found.curves.items()},
        "next": _next(module, found, command),
        "warnings": found.warnings,
        "notes": [{"weight": n.weight, "beware": n.beware, "text": n.text} for n in found.notes],
        "bound": _bound(found.bound),
        "grid": _grid(found.filled),
        "hot_lines": _lines(found.lines, module.path),
        "name": short_name(request.kernel),
    }
    if "turns" in outcome:
        advice["turns"] = outcome["turns"]
    if "pairs" in outcome:
        advice["pairs"] = outcome["pairs"]
    return advice


def refusal_to_dict(machine: str, error: Refused, names: Mapping[str, str]) -> RefusedJson:
    """Return what `recommend --json` prints for a machine on which the kernel is refused. names: as in
    `recommendation_to_dict`."""
    return {"refused": error.text(names), "machine": machine}


def _measured(version: Version) -> MeasuredSide | None:
    """Return what became of a version's issue slots, as percentages of the slots of its run; None if it was not
    run."""
    stats = version.stats
    if version.cycles is None or not stats:
        return None
    total = stats["issue_slots"] + sum(stats["stalls"].values())
    return {
        "achieved_occupancy": round(stats["achieved_occupancy"], 4),
        "issued_percent": round(100 * stats["issue_slots"] / total, 2),
        "stall_percent": {name: round(100 * slots / total, 2) for name, slots in stats["stalls"].items()},
    }


def _bound(found: Bound | None) -> BoundJson | None:
    if found is None:
        return None
    return {
        "kind": found.kind,
        "what": found.what,
        "by_throughput": found.by_throughput,
        "percent": None if found.share is None else round(100 * found.share, 1),
        "measured": found.measured,
        "text": found.text(),
        "busy_percent": {name: round(100 * share, 1) for name, share in found.busy.items()},
    }


def _lines(found: Sequence[HotLine], binary: str) -> list[HotLineJson]:
    """Return the lines with their text, as far as the source files are found. binary: path of the binary."""
    texts = {file: read_source(find_source(file, binary)) for file in sorted({one.file for one in found})}
    out: list[HotLineJson] = []
    for one in found:
        text = line_of(texts[one.file], one.line)
        out.append({"file": one.file, "line": one.line, "function": one.function, "percent": round(one.percent, 2),
                    "measured": one.measured, "text": None if text is None else text.strip()})  # fmt: skip
    return out


def _grid(found: Filling | None) -> GridJson | None:
    """Return how the grid fills the GPU; None without a launch."""
    if found is None:
        return None
    return {"blocks": found.blocks, "sms": found.sms, "blocks_of_an_sm": found.share, "resident": found.resident}


def _function(found: Residence) -> RecommendedFunction:
    return {
        "function": found.function,
        "instructions": found.instructions,
        "registers": found.registers,
        "slot_accesses": found.slot_accesses,
        "local_accesses": found.local_accesses,
    }


def _spread(found: Spread | None) -> SpreadJson | None:
    if found is None:
        return None
    return {
        "emulated": found.emulated,
        "auto": _side(found.auto),
        "best": _side(found.best),
        "worst": _side(found.worst),
    }


def _side(one: LevelSpeedup) -> SpreadSide:
    return {"speedup": round(one.speedup, 4), "blocks": one.blocks}


def _certificate(found: Certificate | None) -> CertificateJson | None:
    if found is None:
        return None
    return {
        "cost": round(found.achieved, 4),
        "bound": rounded(found.bound),
        "gap": rounded(found.gap),
        "by": found.by or None,
    }


def _next(module: Module, found: Recommendation, command: str) -> NextSteps | None:
    """Return the next steps: the command, and what CUDA offers; None if there is nothing to do."""
    if found.leave:
        return None
    if found.multiplexed or found.outcome.paired is not None:
        return {"rewrite": command, "already_bound": False, "launch_bounds": None, "maxrregcount": None,
                "unused_shared_bytes": None}  # fmt: skip
    info = module.function(found.outcome.request.kernel).info
    bounds = (info.max_threads, info.min_blocks)
    return {
        "rewrite": command,
        "already_bound": bounds == (found.use.threads, found.chosen.blocks_per_sm),
        "launch_bounds": f"__launch_bounds__({found.use.threads}, {found.chosen.blocks_per_sm})",
        "maxrregcount": max(found.chosen.registers, least_cap(found.outcome.request.machine)),
        "unused_shared_bytes": _unused_shared(found) or None,
    }


def _unused_shared(found: Recommendation) -> int:
    """Return how much unused shared memory per block keeps the number of blocks down in the vendor compiler's code.

    The size is in bytes. That code has no slots, which may keep the number down in ours. 0 where no memory is needed
    for it, and where none could do it.
    """
    use = found.use.given(found.chosen.registers)
    slots = idle_slots(found.outcome.request.machine, use, found.chosen.blocks_per_sm) or 0
    return use.given(use.registers, slots).block_shared - use.block_shared

"""A recommendation of how many blocks to run with, as a dictionary and as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from binalloc.errors import Refused
from binalloc.models.machines.model import Machine
from binalloc.pipeline.recommend import Recommendation, Step
from binalloc.pipeline.steps import Version
from binalloc.printable import count
from binalloc.report.rewrite import render_outcome
from binalloc.report.table import table

_SAME = (
    "kernel", "machine", "allocator", "policy", "reading", "inline", "kept_original", "reason", "speedup", "ordering",
    "original", "ordered", "levels",
)  # fmt: skip
"""Fields of an outcome that are here, too."""
_CURVES = {
    "registers": "registers per thread",
    "shared_bytes": "shared bytes per block",
    "threads": "threads per block",
}


def recommendation_to_dict(found: Recommendation, command: str) -> dict[str, Any]:
    """What `recommend --json` prints for one machine; see JSON.md. command: that writes the recommended version."""
    character, outcome, request = found.character, found.outcome.to_dict(), found.outcome.request
    return {
        "refused": None,
        **{key: outcome[key] for key in _SAME},
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
            "original": _measured(found.outcome.original, request.machine),
            "recommended": _measured(found.chosen, request.machine),
        },
        "expected_speedup": None if found.expected is None else round(found.expected, 4),
        "functions": [asdict(one) for one in found.values],
        "waves": None if found.waves is None else round(found.waves, 4),
        "what_if": {name: [asdict(step) for step in steps] for name, steps in found.curves.items()},
        "next": _next(found, command),
        "warnings": found.warnings,
    }


def refusal_to_dict(machine: str, error: Refused) -> dict[str, Any]:
    """Likewise where there is no answer."""
    return {"refused": str(error), "machine": machine}


def _measured(version: Version, machine: Machine) -> dict[str, Any] | None:
    """Where its issue slots went, in percent of all of the run; None where it was not run."""
    stats = version.stats
    if version.cycles is None or not stats:
        return None
    total = stats["issue_slots"] + sum(stats["stalls"].values())
    return {
        "achieved_occupancy": round(stats["warp_cycles"] / version.cycles / machine.sm.warps_per_sm, 4),
        "issued_percent": round(100 * stats["issue_slots"] / total, 2),
        "stall_percent": {name: round(100 * slots / total, 2) for name, slots in stats["stalls"].items()},
    }


def _next(found: Recommendation, command: str) -> dict[str, Any] | None:
    """What makes it so; None where the original is kept."""
    if found.outcome.kept_original:
        return None
    return {
        "rewrite": command,
        "launch_bounds": f"__launch_bounds__({found.use.threads}, {found.chosen.blocks_per_sm})",
        "maxrregcount": found.chosen.registers,
    }


def render_recommendation(found: Recommendation, told: dict[str, Any]) -> str:
    """told: the same as a dictionary."""
    chosen = found.chosen
    verb = "Leave it as it is" if found.outcome.kept_original else "Run it with"
    blocks, registers = count(chosen.blocks_per_sm, "block"), count(chosen.registers, "register")
    return "".join(
        (
            f"{verb}: {blocks} per SM, {registers} and {count(chosen.slots, 'slot')} per thread.\n\n",
            render_outcome(found.outcome),
            _expected(found),
            _values(found),
            _slots(told["measured"]),
            _character(told["character"], told["waves"]),
            "\nBlocks that the machine would hold of the original, all else being equal\n",
            *(f"  {label}: {_curve(found.curves[name])}\n" for name, label in _CURVES.items()),
            "\n" if told["warnings"] else "",
            *(f"Beware: {warning}.\n" for warning in told["warnings"]),
            _next_lines(told["next"]),
        )
    )


def _expected(found: Recommendation) -> str:
    if found.expected is None:
        return ""
    return f"Expected speedup {found.expected:.2f}, by the model: nothing was run.\n"


def _values(found: Recommendation) -> str:
    """Where the recommended version has its values, if any has left the registers."""
    rows = [[v.function, v.instructions, v.registers, v.slot_accesses, v.local_accesses] for v in found.values]
    if not any(v.slot_accesses or v.local_accesses for v in found.values):
        return ""
    return "\n" + table(["function", "instructions", "registers", "slot accesses", "local accesses"], rows, left=1)


def _slots(measured: dict[str, Any]) -> str:
    """Where issue slots went before and after; reasons that cost nothing on either side are left out."""
    before, after = measured["original"], measured["recommended"]
    if before is None or after is None:
        return ""
    rows = [["issued", f"{before['issued_percent']:.1f}%", f"{after['issued_percent']:.1f}%"]]
    for name, share in before["stall_percent"].items():
        if share or after["stall_percent"][name]:
            rows.append([name.replace("_", " "), f"{share:.1f}%", f"{after['stall_percent'][name]:.1f}%"])
    occupancy = [f"{side['achieved_occupancy']:.3f}" for side in (before, after)]
    return "\n" + table(["issue slots (emulated)", "original", "recommended"],
                        [*rows, ["achieved occupancy", *occupancy]])  # fmt: skip


def _character(character: dict[str, Any], waves: float | None) -> str:
    bound = "" if character["concurrency_bound"] else "not "
    rows = [[m["kind"], m["static"], f"{m['executed_percent']:.1f}%"] for m in character["mix"]]
    return (
        f"\nMean dispatch interval {character['dispatch_interval']:.3f} cycles: {bound}concurrency bound.\n"
        f"User's shared memory: {character['user_shared_bytes_per_thread']:g} bytes per thread. "
        f"Instructions: {character['instruction_change']:.2f} times as many as before.\n"
        + ("" if waves is None else f"The grid: {waves:.2f} waves.\n")
        + "\n"
        + table(["instructions", "static", "executed"], rows)
    )


def _next_lines(following: dict[str, Any] | None) -> str:
    if following is None:
        return ""
    return (
        f"\nNext: {following['rewrite']}\n"
        f"In CUDA: {following['launch_bounds']} on the kernel, or nvcc -maxrregcount={following['maxrregcount']} "
        "(what does not fit goes to local memory there).\n"
    )


def _curve(steps: Sequence[Step]) -> str:
    return ", ".join(f"{step.at:,} up: {step.blocks}" for step in steps) or "-"

"""This module makes the part of `inspect --shared` on blocks that share memory two by two, after the sharing paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.models.machines.model import Machine
from binalloc.printable import count
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.analysis.shared.memory import SharedMemory
    from binalloc.analysis.sharing.releases import Release
    from binalloc.models.machines.kernel_use import KernelUse
    from binalloc.pipeline.sharing.plans import Plan, Planner
    from binalloc.report.shapes.parts.sharing.shared import PlanJson, ReleaseJson, SharingJson


def sharing_of(memory: SharedMemory, machine: Machine, use: KernelUse) -> SharingJson:
    """Return how blocks of a kernel could share memory two by two on a machine. use: what a block takes."""
    from binalloc.models.sharing.pairs import status_bits
    from binalloc.pipeline.sharing.plans import plans

    found = plans(memory, machine, use)
    return {
        "machine": machine.name,
        "blocks_per_sm": found.room.alone,
        "bits": status_bits(machine.limits.blocks_per_sm, machine.limits.warps_per_sm),
        "units": [extent.names for extent in found.units.extents],
        "instructions": found.every,
        "weight": _part(found.weight, found.planner),
        "plans": [plan_json(plan, plan.releases, found.planner) for plan in found.all],
    }


def plan_json(plan: Plan, places: list[Release], among: Planner) -> PlanJson:
    """Return a plan with releases at some places. among: who has made it."""
    from binalloc.pipeline.sharing.plans import names_of

    return {
        "threshold": None if plan.threshold is None else str(plan.threshold),
        "pairs": plan.pairing.pairs,
        "unshared": plan.pairing.unshared,
        "blocks_per_sm": plan.pairing.blocks,
        "private_bytes": plan.pairing.private,
        "shared": names_of(among.units, plan.shared),
        "instructions": plan.instructions,
        "weight": _part(plan.weight, among),
        "releases": [_release(place, among.memory) for place in places],
    }


def _release(place: Release, memory: SharedMemory) -> ReleaseJson:
    cfg, guard = memory.program[place.function].cfg, place.guard
    return {
        "function": place.function,
        "index": place.word,
        "from_index": None if place.source is None else cfg.blocks[place.source].end - 1,
        "condition": None if guard is None else f"{'!' * guard[1]}P{guard[0]}",
    }


def _part(weight: float, among: Planner) -> float:
    return round(weight / among.whole, 4) if among.whole else 0.0


def sharing_text(found: SharingJson) -> str:
    """Return the part as text: an empty line, a sentence, and a table where pairs can be formed."""
    blocks = count(found["blocks_per_sm"], "block")
    if not found["plans"]:
        return f"\nPairs of blocks that share memory would be no more blocks on {found['machine']} than {blocks}.\n"
    out = f"\nWhere pairs of blocks share memory, an SM of {found['machine']} can hold more than {blocks}; no GPU does "
    out += f"that. It would take {count(found['bits'], 'bit')} of state on an SM.\nFrom a thread's first access to "
    out += f"shared memory to its last there are {count(found['instructions'], 'instruction')}, "
    out += f"{found['weight']:.0%} of those that it executes (estimated).\n"
    rows = [
        (plan["threshold"] or "", units_text(plan["shared"], found["units"]), plan["pairs"], plan["unshared"],
         plan["blocks_per_sm"], plan["private_bytes"], plan["instructions"], f"{plan['weight']:.0%}",
         ", ".join(map(place_text, plan["releases"])))
        for plan in found["plans"]
    ]  # fmt: skip
    head = ["threshold", "shared variables", "pairs", "unshared", "blocks", "private bytes", "instructions", "executed"]
    head.append("last accesses are in front of")
    return out + table(head, rows, left=2)


def place_text(found: ReleaseJson) -> str:
    """Return a place in words: the instruction behind it, where threads come from, and the condition."""
    out = f"{found['index']}" if found["from_index"] is None else f"{found['index']} from {found['from_index']}"
    return out if found["condition"] is None else f"{out} if {found['condition']}"


def units_text(names: list[str], units: list[list[str]]) -> str:
    """Return some variables in words: one of each unit, and how many others have to stay with it."""
    inside = [unit for unit in units if unit[0] in names]
    return ", ".join(f"{unit[0]} and {len(unit) - 1} more" if len(unit) > 1 else unit[0] for unit in inside) or "none"

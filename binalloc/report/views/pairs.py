"""This module reports what pairs of blocks give beside the best version without them, as JSON and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.pipeline.sharing.choice import ALONE, BOTH, LEVEL, ORIGINAL, OVERLAY
from binalloc.pipeline.sharing.plans import names_of
from binalloc.printable import count
from binalloc.report.table import TextTable, table

if TYPE_CHECKING:
    from binalloc.pipeline.sharing.choice import PairsChoice, Way
    from binalloc.pipeline.sharing.paired import Paired
    from binalloc.report.shapes.parts.sharing.pairs import PairedWayJson, PairsJson, PairsTakenJson
    from binalloc.report.shapes.parts.versions import VersionJson

_TECHNIQUES = {
    ORIGINAL: "as it is", LEVEL: "registers, slots", OVERLAY: "variables over one another", ALONE: "pairs",
    BOTH: "registers, slots, pairs",
}  # fmt: skip


def pairs_json(found: PairsChoice, cycles: int, without: VersionJson) -> PairsJson:
    """Return a choice as JSON. cycles: of the original. without: the version without pairs."""
    return {
        "asked": found.asked,
        "schedulers": list(found.schedulers),
        "chosen": None if found.best is None else _taken(found.best, cycles),
        "reason": found.reason,
        "without": without,
        "ways": [_way(way, cycles) for way in found.ways],
    }


def _taken(best: Paired, cycles: int) -> PairsTakenJson:
    pairing = best.plan.pairing
    return {
        "technique": ALONE if best.budget is None else BOTH,
        "scheduler": best.scheduler,
        "sharing": best.record.option,
        "pairs": pairing.pairs,
        "private_bytes": pairing.private,
        "shared": names_of(best.units, best.plan.shared),
        "speedup": round(cycles / (best.version.cycles or 1), 4),
    }


def _way(way: Way, cycles: int) -> PairedWayJson:
    version = way.version
    return {
        "technique": way.technique,
        "scheduler": way.scheduler,
        "sharing": None if way.paired is None else way.paired.record.option,
        "blocks_per_sm": None if version is None else version.blocks_per_sm,
        "registers": None if version is None else version.registers,
        "slots": None if version is None else version.slots,
        "cycles": way.cycles,
        "speedup": round(cycles / way.cycles, 4) if way.cycles else None,
        "refused": way.refused or None,
    }


def render_pairs(kernel: str, machine: str, found: PairsJson) -> tuple[str, str]:
    """Return the answer to `--sharing` as lines, and what each technique gives as text."""
    head = "".join(f"{line}\n" for line in pairs_answer(kernel, machine, found))
    shown = ways_table(found)
    text = f"What blocks give that share memory two by two ({found['asked']})\n{table(shown.head, shown.rows, left=2)}"
    return head, text + "".join(f"{line}\n" for line in refusals(found))


def pairs_answer(kernel: str, machine: str, found: PairsJson) -> list[str]:
    """Return the answer to `--sharing`: what is taken, and how it is run; or why nothing is."""
    taken = found["chosen"]
    if taken is None:
        return [f"{kernel}: no version whose blocks share memory two by two is taken on {machine}: {found['reason']}."]
    blocks = next(way["blocks_per_sm"] for way in found["ways"] if way["sharing"] == taken["sharing"])
    what = f"{count(blocks or 0, 'block')} per SM, {2 * taken['pairs']} of them in pairs, under {taken['scheduler']}"
    gain = f"{taken['speedup']:.3f} times as fast as the original on {machine}, emulated"
    run = f"it is emulated with sharing {taken['sharing']}, under {taken['scheduler']}"
    return [f"{kernel}: taken are {what}, {gain}.", f"No GPU lets blocks share memory so; {run}."]


def ways_table(found: PairsJson) -> TextTable:
    """Return a table of what each technique gives under each scheduler."""
    head = ["changed", "scheduler", "sharing", "blocks", "registers", "slots", "cycles", "speedup"]
    rows: list[list[object]] = [
        [_TECHNIQUES[way["technique"]], way["scheduler"], way["sharing"] or "", way["blocks_per_sm"], way["registers"],
         way["slots"], way["cycles"], "" if way["speedup"] is None else f"{way['speedup']:.3f}"]
        for way in found["ways"]
    ]  # fmt: skip
    return TextTable(head, rows)


def refusals(found: PairsJson) -> list[str]:
    """Return why there is no version of a technique, a line for each reason."""
    reasons: dict[str, list[str]] = {}
    for way in found["ways"]:
        if way["refused"] is not None:
            reasons.setdefault(way["refused"], []).append(_TECHNIQUES[way["technique"]])
    return [f"None by {'; '.join(dict.fromkeys(names))}: {why}" for why, names in reasons.items()]

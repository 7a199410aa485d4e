"""This module makes the report of `share`: blocks that share memory two by two, beside those that do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.printable import count, one_line
from binalloc.report.profile import profile_json, weights_line
from binalloc.report.table import table
from binalloc.report.views.sharing import place_text, plan_json, units_text
from binalloc.verify.report import resting

if TYPE_CHECKING:
    from binalloc.pipeline.profile import Profile
    from binalloc.pipeline.sharing.sharing import Shared, Sharing, Wish
    from binalloc.report.shapes.commands.laboratory import ShareJson
    from binalloc.report.shapes.parts.sharing.shared import MovedJson, SharedJson, SharedVersionJson


def shared_json(found: Sharing, wish: Wish, output: str | None, profile: Profile | None = None) -> SharedJson:
    """Return the figures of a kernel whose blocks share memory. output: the file written. profile: of the weights."""
    from binalloc.models.sharing.pairs import status_bits

    limits = found.planner.machine.limits
    best = found.chosen
    return {
        "original": {
            "blocks_per_sm": found.original.blocks_per_sm,
            "scheduler": found.scheduler,
            "cycles": found.original.cycles,
            "oldest_cycles": None if found.oldest is None else found.oldest.cycles,
        },
        "release": wish.release,
        "edges": wish.edges,
        "bits": status_bits(limits.blocks_per_sm, limits.warps_per_sm),
        "versions": [_version(one, found) for one in found.tried],
        "chosen": None if best is None else found.tried.index(best),
        "output": output,
        "profile": None if profile is None else profile_json(profile),
    }


def _version(one: Shared, among: Sharing) -> SharedVersionJson:
    cycles, before = one.version.cycles, among.original.cycles
    lives = [one.version.stats.get(f"cycles_{phase}_lock", 0) for phase in ("before", "with", "behind")]
    whole = sum(lives)
    shares = [round(part / whole, 4) if whole else None for part in lives]
    return {
        **plan_json(one.plan, one.releases, among.planner),
        "option": one.option,
        "private_slots": one.plan.pairing.slots,
        "moved": _moved(one, among),
        "proven": None if one.report is None else one.report.ok,
        "unproven": None if one.report is None or one.report.ok else one_line(str(one.report.errors[0])),
        "by_symbol": None if one.report is None else one.report.by_symbol,
        "cycles": cycles,
        "ended": one.ended,
        "speedup": None if cycles is None or before is None else round(before / max(cycles, 1), 4),
        "same_results": one.same,
        "share_before": shares[0],
        "share_with": shares[1],
        "share_behind": shares[2],
    }


def _moved(one: Shared, among: Sharing) -> list[MovedJson]:
    return [
        {"variables": extent.names, "distance": distance}
        for extent, distance in zip(among.planner.units.extents, one.plan.distances, strict=True) if distance
    ]  # fmt: skip


def render_share(found: ShareJson) -> str:
    """Return the report as text; its first line is the answer."""
    out = f"{found['kernel']}: {_answer(found)}\n"
    original = found["original"]
    out += f"Without sharing an SM of {found['machine']} holds {count(original['blocks_per_sm'], 'block')}"
    if original["cycles"] is None:
        out += ".\n"
    else:
        out += f": {original['cycles']:,} cycles under {original['scheduler']}"
        if original["oldest_cycles"] is not None:
            out += f", {original['oldest_cycles']:,} under oldest"
        out += ". Versions are under owf; speedups are emulated, over the first figure.\n"
    out += f"No GPU does this. It would take {count(found['bits'], 'bit')} of state on an SM.\n\n"
    slots = any(one["private_slots"] is not None for one in found["versions"])
    head = ["shared variables", "pairs", "unshared", "blocks", "private bytes", *(["private slots"] if slots else []),
            "executed", "releases in front of", "moved", "before, with, behind", "cycles", "speedup", "results",
            "proof"]  # fmt: skip
    out += table(head, [_row(one, slots) for one in found["versions"]], left=1)
    most = max((one["by_symbol"] or 0 for one in found["versions"] if one["proven"]), default=0)
    if most:
        out += f"{resting(most)}.\n"
    if found["profile"] is not None:
        out += weights_line(found["profile"])
    if found["chosen"] is not None:
        chosen = found["versions"][found["chosen"]]
        where = one_line(found["output"]) if found["output"] is not None else None
        if where is None:
            out += "No file was written (-o FILE).\n"
        else:
            out += f"{where} was written; it is run with sharing {chosen['option']}, under owf.\n"
    return out


def _answer(found: ShareJson) -> str:
    if found["chosen"] is None:
        return "blocks that share memory two by two are no faster"
    one = found["versions"][found["chosen"]]
    what = f"{one['blocks_per_sm']} blocks instead of {found['original']['blocks_per_sm']}, "
    what += f"{2 * one['pairs']} of them in pairs"
    if one["speedup"] is None:
        return f"{what}; nothing was run"
    return f"{one['speedup']:.2f} times as fast (emulated) with {what}"


def _row(one: SharedVersionJson, slots: bool) -> list[object]:
    """Return the row of a version. slots: whether there is a column for slots."""
    lives = [one["share_before"], one["share_with"], one["share_behind"]]
    results = {True: "same", False: "OTHER", None: one["ended"] or ""}[one["same_results"]]
    proof = {True: _proven(one), False: f"not proven: {one['unproven']}", None: ""}[one["proven"]]
    moved = ", ".join(f"{move['variables'][0]} {move['distance']:+,}" for move in one["moved"])
    return [
        units_text(one["shared"], [[name] for name in one["shared"]]), one["pairs"], one["unshared"],
        one["blocks_per_sm"], one["private_bytes"],
        *(["all" if one["private_slots"] is None else one["private_slots"]] if slots else []),
        f"{one['weight']:.0%}", _places(one), moved,
        " ".join("-" if part is None else f"{part:.0%}" for part in lives), one["cycles"] or "",
        "" if one["speedup"] is None else f"{one['speedup']:.3f}", results, proof,
    ]  # fmt: skip


def _proven(one: SharedVersionJson) -> str:
    return f"proven; {one['by_symbol']} by C's rule" if one["by_symbol"] else "proven"


def _places(one: SharedVersionJson) -> str:
    return ", ".join(map(place_text, one["releases"])) or "none"

"""This module makes the report of `share --overlay`: variables that lie over one another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.printable import count, one_line
from binalloc.report.table import table
from binalloc.verify.report import resting

if TYPE_CHECKING:
    from binalloc.pipeline.sharing.overlay import Overlaid
    from binalloc.pipeline.steps.version import Version
    from binalloc.report.shapes.commands.laboratory import OverlayJson
    from binalloc.report.shapes.parts.sharing.shared import OverlaidBlockJson, OverlaidUnitJson, OverlayFields


def overlay_json(found: Overlaid, output: str | None) -> OverlayFields:
    """Return the figures of a kernel whose variables lie over one another. output: the file written."""
    before, after = found.original.cycles, found.version.cycles
    return {
        "before": _block(found.original),
        "after": _block(found.version),
        "variables": _variables(found),
        "least": found.plan.exact,
        "proven": found.report.ok,
        "unproven": None if found.report.ok else one_line(str(found.report.errors[0])),
        "by_symbol": found.report.by_symbol,
        "ended": found.ended,
        "same_results": found.same,
        "speedup": None if before is None or after is None else round(before / max(after, 1), 4),
        "output": output,
    }


def _block(version: Version) -> OverlaidBlockJson:
    return {
        "shared_bytes": version.shared_bytes,
        "blocks_per_sm": version.blocks_per_sm,
        "limits": list(version.limiters),
        "cycles": version.cycles,
    }


def _variables(found: Overlaid) -> list[OverlaidUnitJson]:
    plan = found.plan
    extents = plan.units.extents
    over: list[list[str]] = [[] for _ in extents]
    for one, other in plan.over:
        over[one] += extents[other].names
        over[other] += extents[one].names
    return [
        {"variables": e.names, "bytes": e.size, "first": e.first, "address": e.first + distance, "over": names}
        for e, distance, names in zip(extents, plan.distances, over, strict=True)
    ]  # fmt: skip


def overlay_gain(found: OverlayJson) -> str:
    """Return why nothing is gained, "" where something is."""
    before, after = found["before"], found["after"]
    if not found["proven"]:
        return "the overlay is not proven"
    if found["ended"] is not None:
        return f"the run of the overlay did not end well: {found['ended']}"
    if found["same_results"] is False:
        return "the overlay leaves other results"
    if after["blocks_per_sm"] <= before["blocks_per_sm"]:
        held = f"an SM of {found['machine']} holds {count(after['blocks_per_sm'], 'block')} as before"
        return f"no block is gained: {held}, limited by {', '.join(after['limits'])}"
    if found["speedup"] is not None and found["speedup"] <= 1:
        return "the overlay is no faster than the original"
    return ""


def render_overlay(found: OverlayJson) -> str:
    """Return the report as text; its first line is the answer."""
    before, after = found["before"], found["after"]
    out = f"{found['kernel']}: {overlay_gain(found) or _answer(found)}\n"
    out += (
        f"A block needs {after['shared_bytes']:,} bytes of shared memory instead of {before['shared_bytes']:,}"
        f"{', the fewest that these variables can have' if found['least'] else ''}. An SM of {found['machine']} holds "
        f"{count(after['blocks_per_sm'], 'block')} (limited by {', '.join(after['limits'])}) instead of "
        f"{before['blocks_per_sm']} (limited by {', '.join(before['limits'])}).\n"
    )
    if before["cycles"] is not None and after["cycles"] is not None:
        results = "same" if found["same_results"] else "OTHER"
        out += f"{after['cycles']:,} cycles instead of {before['cycles']:,} (emulated), {results} results.\n"
    if found["unproven"] is not None:
        out += f"Not proven: {found['unproven']}\n"
    if found["proven"] and found["by_symbol"]:
        out += f"Proven; {resting(found['by_symbol'])}.\n"
    head = ["shared variables", "bytes", "address", "address now", "lies over"]
    rows: list[list[object]] = [
        [one_line(", ".join(one["variables"])), one["bytes"], one["first"], one["address"],
         one_line(", ".join(one["over"]))]
        for one in found["variables"]
    ]  # fmt: skip
    out += "\n" + table(head, rows, left=1)
    if found["proven"]:
        out += "The overlay is proven for blocks of the launch's size, and requires them.\n"
    out += f"{one_line(found['output'])} was written.\n" if found["output"] else "No file was written (-o FILE).\n"
    return out


def _answer(found: OverlayJson) -> str:
    what = f"{found['after']['blocks_per_sm']} blocks instead of {found['before']['blocks_per_sm']}"
    if found["speedup"] is None:
        return f"{what}; nothing was run"
    return f"{found['speedup']:.2f} times as fast (emulated) with {what}"

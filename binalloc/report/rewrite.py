"""The report of one rewrite, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.pipeline import Outcome

_ROWS = (
    ("registers per thread", "registers"),
    ("slots per thread", "slots"),
    ("local bytes per thread", "local_bytes"),
    ("shared bytes per block", "shared_bytes"),
    ("blocks per SM", "blocks_per_sm"),
    ("occupancy", "occupancy"),
    ("instructions (static)", "instructions"),
    ("cycles (emulated)", "cycles"),
)


def render_outcome(outcome: Outcome) -> str:
    """Original beside rewritten, the verdict, the speedup and its parts, and the levels a search looked at."""
    old, new = outcome.original.to_dict(), outcome.rewritten.to_dict()
    request = outcome.request
    lines = [f"{request.kernel} on {request.machine.name}, allocator {request.allocator}\n\n"]
    lines.append(table(["", "original", "rewritten"], [(label, old[key], new[key]) for label, key in _ROWS]))
    lines.append("\n")
    if outcome.kept_original:
        lines.append(f"The original is kept: {outcome.reason}.\n")
    else:
        lines.append(f"Chosen: {outcome.reason}. Symbolic check: passed. {_results(outcome.same_results)}\n")
    if outcome.speedup is not None:
        lines.append(f"Speedup {outcome.speedup:.3f} (emulated)")
        if outcome.parts:
            lines.append(" = " + " x ".join(f"{name} {value:.3f}" for name, value in outcome.parts.items()))
        lines.append("\n")
    if len(outcome.tried) > 1:
        rows = [
            (t.budget.blocks, t.budget.registers, t.budget.slots, *_tried(t.version), t.reason) for t in outcome.tried
        ]
        lines.append("\n" + table(["blocks", "registers", "slots", "local bytes", "cycles", ""], rows, left=0))
    return "".join(lines)


def _tried(version: object) -> tuple[object, object]:
    return (getattr(version, "local_bytes", None), getattr(version, "cycles", None))


def _results(same: bool | None) -> str:
    if same is None:
        return "Not emulated."
    return "Emulated results: same." if same else "Emulated results: DIFFERENT."

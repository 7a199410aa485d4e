"""A recommendation of how many blocks to run with, as text."""

from __future__ import annotations

from binalloc.pipeline.pipeline import Outcome
from binalloc.report.recommend import parts
from binalloc.report.recommend.parts import Told
from binalloc.report.rewrite import render_outcome
from binalloc.report.table import Grid, table


def render_recommendation(outcome: Outcome, told: Told) -> str:
    """told: what the recommendation of the outcome is as a dictionary."""
    return "".join(
        (
            f"{parts.verdict(told)}\n\n",
            render_outcome(outcome),
            *(f"{line}\n" for line in (parts.expected(told), parts.spread(told), parts.certificate(told)) if line),
            _shown(parts.occupancy(told)),
            _shown(parts.functions(told)) if parts.left_registers(told) else "",
            _shown(parts.issue_slots(told)),
            "\n",
            *(f"{line}\n" for line in parts.character(told)),
            _shown(parts.mix(told)),
            "\nBlocks that the machine would hold of the original, all else being equal\n",
            *(f"  {label}: {parts.curve(told, name)}\n" for name, label in parts.CURVES.items()),
            "\n" if told["warnings"] else "",
            *(f"Beware: {warning}.\n" for warning in told["warnings"]),
            "\n" if told["next"] else "",
            *(f"{line}\n" for line in parts.next_steps(told)),
        )
    )


def _shown(grid: Grid | None) -> str:
    return "" if grid is None else "\n" + table(grid.head, grid.rows)

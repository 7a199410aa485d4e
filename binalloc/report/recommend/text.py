"""A recommendation of how many blocks to run with, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.pipeline.pipeline import Outcome
from binalloc.report.recommend import parts
from binalloc.report.recommend.verdict import notes, verdict
from binalloc.report.rewrite import render_outcome
from binalloc.report.table import TextTable, table

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.recommend import RecommendationJson


def render_recommendation(outcome: Outcome, told: RecommendationJson, papers: bool = False) -> str:
    """told: what the recommendation of the outcome is as a dictionary. papers: in the papers' words, too."""
    return "".join(
        (
            f"{verdict(told)}\n\n",
            *(f"{line}\n" for line in notes(told)),
            "\n" if told["notes"] else "",
            render_outcome(outcome),
            *(f"{line}\n" for line in (parts.expected(told), parts.spread(told), parts.certificate(told)) if line),
            _shown(parts.occupancy(told)),
            _shown(parts.functions(told)) if parts.left_registers(told) else "",
            _shown(parts.issue_slots(told)),
            _shown(parts.busy(told)),
            _shown(parts.hot_lines(told)),
            "\n",
            *(f"{line}\n" for line in parts.character(told, papers)),
            _shown(parts.mix(told)),
            "\nBlocks that the machine would hold of the original, all else being equal\n",
            *(f"  {label}: {parts.curve(told, name)}\n" for name, label in parts.CURVES.items()),
            "\n" if told["next"] else "",
            *(f"{line}\n" for line in parts.next_steps(told)),
        )
    )


def _shown(grid: TextTable | None) -> str:
    return "" if grid is None else "\n" + table(grid.head, grid.rows)

"""This module reports a recommendation of how many blocks to run, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.pipeline.pipeline import Outcome
from binalloc.report.recommend import parts
from binalloc.report.recommend.verdict import notes, verdict
from binalloc.report.rewrite import render_outcome
from binalloc.report.table import TextTable, table

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.recommend import RecommendationJson


def render_recommendation(outcome: Outcome, advice: RecommendationJson, papers: bool = False) -> str:
    """Return a recommendation as text.

    outcome: the rewrite that is recommended. advice: the answer as `recommend --json` prints it. papers: whether to add
    the unified paper's figures.
    """
    sentences = (parts.expected(advice), parts.spread(advice), parts.certificate(advice))
    return "".join(
        (
            f"{verdict(advice)}\n\n",
            *(f"{line}\n" for line in notes(advice)),
            "\n" if advice["notes"] else "",
            render_outcome(outcome, advice.get("turns"), advice.get("pairs")),
            *(f"{line}\n" for line in sentences if line),
            _shown(parts.occupancy(advice)),
            _shown(parts.functions(advice)) if parts.has_spills(advice) else "",
            _shown(parts.issue_slots(advice)),
            _shown(parts.busy(advice)),
            _shown(parts.hot_lines(advice)),
            "\n",
            *(f"{line}\n" for line in parts.character(advice, papers)),
            _shown(parts.mix(advice)),
            "\nBlocks that the machine would hold of the original, all else being equal\n",
            *(f"  {label}: {parts.curve(advice, name)}\n" for name, label in parts.CURVES.items()),
            "\n" if advice["next"] else "",
            *(f"{line}\n" for line in parts.next_steps(advice)),
        )
    )


def _shown(grid: TextTable | None) -> str:
    return "" if grid is None else "\n" + table(grid.head, grid.rows)

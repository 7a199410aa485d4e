"""What to do, in one sentence, and what else to know, of a recommendation's dictionary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.pipeline.advice.recommend import NOTHING
from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.recommend import RecommendationJson


def verdict(told: RecommendationJson) -> str:
    """One sentence: what to do, what binds the kernel, and why that is so."""
    bound = "" if told["bound"] is None else f"bound by {told['bound']['text']}"
    chosen, base = told["recommended"], told["ordered"] or told["original"]
    blocks = count(chosen["blocks_per_sm"], "block")
    if told["kept_original"] or chosen == told["ordered"]:
        what = "Leave it" if told["next"] is None else "Change its order alone"
        why = (bound, _why_kept(told), _order(told))
        return f"{what}, at {blocks} per SM: {'; '.join(part for part in why if part)}."
    resources = [count(chosen["registers"], "register")] + [count(chosen["slots"], "slot")] * bool(chosen["slots"])
    gain, how = (told["speedup"], "emulated") if told["speedup"] else (told["expected_speedup"], "by the model")
    gained = "" if gain is None else f", {gain:.2f} times as fast ({how})"
    same = chosen["blocks_per_sm"] == base["blocks_per_sm"]
    instead = ", as now" if same else f" instead of {base['blocks_per_sm']}"
    was = f"; the original is {bound}" if bound else ""
    return f"Run {blocks} per SM{instead}, with {' and '.join(resources)} per thread{gained}{was}."


def _why_kept(told: RecommendationJson) -> str:
    """Why no other number of blocks is better."""
    grid, bound = told["grid"], told["bound"]
    if grid is not None and grid["blocks_of_an_sm"] <= told["recommended"]["blocks_per_sm"]:
        each = count(grid["blocks_of_an_sm"], "block")
        return f"the grid gives an SM {each} at most, whatever fits"
    if bound is not None and bound["by_throughput"]:
        told_by = "" if bound["measured"] else "by the model "
        best = 0.0 if told["spread"] is None else told["spread"]["best"]["speedup"] - 1
        if best < NOTHING:
            return f"{told_by}no number of blocks changes that"
        return f"{told_by}no number of blocks gains more than {100 * best:.1f} %"
    return told["reason"]


def _order(told: RecommendationJson) -> str:
    """What another order gains where that is not worth it."""
    if told["kept_original"] or told["next"] is not None or told["ordering"] is None:
        return ""
    return f"another order gains no more than {100 * (told['ordering'] - 1):.1f} %"


def notes(told: RecommendationJson) -> list[str]:
    """Sentences, the weightiest first."""
    return [f"{'Beware' if note['beware'] else 'Note'}: {note['text']}." for note in told["notes"]]

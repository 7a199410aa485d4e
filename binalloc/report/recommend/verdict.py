"""This module states in a sentence what to do, and in notes what else to know, from a recommendation's JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.pipeline.advice.recommend import NOTHING
from binalloc.pipeline.multiplex.build import ALONE
from binalloc.printable import count
from binalloc.report.multiplex import version_name

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.recommend import RecommendationJson


def verdict(advice: RecommendationJson) -> str:
    """Return a sentence: what to do, and what bounds the kernel, or why nothing is to be done."""
    bound = "" if advice["bound"] is None else f"bound by {advice['bound']['text']}"
    chosen, base = advice["recommended"], advice["ordered"] or advice["original"]
    blocks = count(chosen["blocks_per_sm"], "block")
    if advice["kept_original"] or chosen == advice["ordered"]:
        what = "Leave it" if advice["next"] is None else "Change its order alone"
        why = (bound, _why_kept(advice), _order(advice))
        return f"{what}, at {blocks} per SM: {'; '.join(part for part in why if part)}."
    turns = advice.get("turns")
    taken = None if turns is None else turns["chosen"]
    resources = [count(chosen["registers"], "register")] + [count(chosen["slots"], "slot")] * bool(chosen["slots"])
    gain, how = (advice["speedup"], "emulated") if advice["speedup"] else (advice["expected_speedup"], "by the model")
    gained = "" if gain is None else f", {gain:.2f} times as fast ({how})"
    was = f"; the original is {bound}" if bound else ""
    if taken is not None:
        held = blocks if taken["merge"] is None else count(chosen["blocks_per_sm"], f"merged block of {taken['merge']}",
                                                           f"merged blocks of {taken['merge']}")  # fmt: skip
        what = f"Take {version_name(taken)}" + ("" if taken["scheme"] in ALONE else ", which multiplexes shared memory")
        return f"{what}: {held} per SM, with {' and '.join(resources)} per thread{gained}{was}."
    same = chosen["blocks_per_sm"] == base["blocks_per_sm"]
    pairs = advice.get("pairs")
    shared = None if pairs is None else pairs["chosen"]
    if shared is not None:
        held = f"{blocks} per SM instead of {base['blocks_per_sm']}, {2 * shared['pairs']} of them in pairs that share "
        held += f"all but {shared['private_bytes']:,} bytes of each, as no GPU lets them"
        return f"Run {held}, under {shared['scheduler']}, with {' and '.join(resources)} per thread{gained}{was}."
    instead = ", as now" if same else f" instead of {base['blocks_per_sm']}"
    return f"Run {blocks} per SM{instead}, with {' and '.join(resources)} per thread{gained}{was}."


def _why_kept(advice: RecommendationJson) -> str:
    """Return why no other number of blocks is better."""
    grid, bound = advice["grid"], advice["bound"]
    if grid is not None and grid["blocks_of_an_sm"] <= advice["recommended"]["blocks_per_sm"]:
        each = count(grid["blocks_of_an_sm"], "block")
        return f"the grid gives an SM {each} at most, whatever fits"
    if bound is not None and bound["by_throughput"]:
        source = "" if bound["measured"] else "by the model "
        best = 0.0 if advice["spread"] is None else advice["spread"]["best"]["speedup"] - 1
        if best < NOTHING:
            return f"{source}no number of blocks changes that"
        return f"{source}no number of blocks gains more than {100 * best:.1f} %"
    return advice["reason"]


def _order(advice: RecommendationJson) -> str:
    """Return the gain of another order if it is not worth a change; "" otherwise."""
    if advice["kept_original"] or advice["next"] is not None or advice["ordering"] is None:
        return ""
    return f"another order gains no more than {100 * (advice['ordering'] - 1):.1f} %"


def notes(advice: RecommendationJson) -> list[str]:
    """Return the notes as sentences, the most important first."""
    return [f"{'Beware' if note['beware'] else 'Note'}: {note['text']}." for note in advice["notes"]]

"""This module has the table of placement policies of shared memory. A new one is a file in this folder and a row
here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from binalloc.emulator.policies.placements.lowest_gap import LOWEST_GAP
from binalloc.emulator.policies.placements.placement import Placement
from binalloc.emulator.state.policy import define_choice
from binalloc.errors import Hint
from binalloc.rows import Chosen, by_name, chosen

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm

PLACEMENTS: dict[str, Placement] = by_name((LOWEST_GAP,))
DEFAULT = LOWEST_GAP.name


def chosen_placement(text: str) -> Chosen:
    """Return the placement that a user has chosen. Its number is the value of `g.placement`. Raises UsageError with
    what could be chosen."""
    return chosen(PLACEMENTS, text, "placement of shared memory", Hint("{placement}"))


place: Callable[[Gpu, Sm, int], int]
_places = [row.place for row in PLACEMENTS.values()]
define_choice(globals(), "place", "g, s, words", "placement", _places, inline=False)

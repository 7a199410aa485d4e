"""This module has the table of placement policies of shared memory. A new one is a file in this folder and a row
here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from binalloc.emulator.policies.placements.lowest_gap import LOWEST_GAP
from binalloc.emulator.policies.placements.placement import Placement
from binalloc.emulator.state.policy import define_choice
from binalloc.errors import Hint
from binalloc.rows import by_name, number

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm

PLACEMENTS: dict[str, Placement] = by_name((LOWEST_GAP,))
DEFAULT = LOWEST_GAP.name


def placement_number(name: str) -> int:
    """Return the value of `g.placement` for a policy. Raises UsageError with the known names."""
    return number(PLACEMENTS, name, "placement of shared memory", Hint("{placement}"))


place: Callable[[Gpu, Sm, int], int]
_places = [row.place for row in PLACEMENTS.values()]
define_choice(globals(), "place", "g, s, words", "placement", _places, inline=False)

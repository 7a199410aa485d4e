"""All placement policies of shared memory. A new one is a file beside this one and a row here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from binalloc.emulator.policies.placements.lowest_gap import LOWEST_GAP
from binalloc.emulator.policies.placements.placement import Placement
from binalloc.emulator.state.device import define
from binalloc.emulator.state.policy import choice_text, numbered
from binalloc.errors import Hint
from binalloc.rows import by_name, find

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm

PLACEMENTS: dict[str, Placement] = by_name((LOWEST_GAP,))
DEFAULT = LOWEST_GAP.name


def placement_number(name: str) -> int:
    """What `g.placement` says for the policy of that name. Raises UsageError with the known names."""
    return list(PLACEMENTS.values()).index(find(PLACEMENTS, name, "placement of shared memory", Hint("{placement}")))


_PLACES = [row.place for row in PLACEMENTS.values()]
place: Callable[[Gpu, Sm, int], int]
define(globals(), "place", choice_text("place", "g, s, words", "placement", len(_PLACES)), numbered("place", _PLACES))

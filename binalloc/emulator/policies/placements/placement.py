"""What a placement policy of shared memory is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binalloc.emulator.state.policy import Policy

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm


@dataclass(frozen=True)
class Placement(Policy):
    """Chooses where an allocation of shared memory lies. One object of each is in `table`.

    place(g, s, words): a device function that returns the first word, of `g.shared_words`, of a gap that holds so many,
    -1 if it gives none. What is taken are the regions that are open: of `s.region_owner`, `s.region_first` and
    `s.region_end` the entries whose owner is not 0 (`state.parts.regions`).
    """

    place: Callable[[Gpu, Sm, int], int]

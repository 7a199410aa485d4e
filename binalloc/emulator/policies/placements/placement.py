"""This module defines placement policies of shared memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binalloc.emulator.state.policy import SmPolicy

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm


@dataclass(frozen=True)
class Placement(SmPolicy):
    """A placement chooses where an allocation of shared memory is placed. One object of each is in `table`."""

    #: place(g, s, words): a device function that returns the first word of a gap of `words` words, one of
    #: `g.shared_words`, or -1 for none. The open regions are taken: the entries of `s.region_owner`, `s.region_first`
    #: and `s.region_end` whose owner is not 0 (`state.parts.regions`)
    place: Callable[[Gpu, Sm, int], int]

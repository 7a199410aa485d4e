"""What callers must know of an allocated function; there is no fixed calling convention."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from binalloc.analysis.locations import Location
from binalloc.bitset import mask_from
from binalloc.models.allocation.terms import Register


@dataclass
class Contract:
    """What callers must know: architectural register -> register for arguments and results; clobbered registers.
    stored: arguments that travel in memory instead."""

    arguments: dict[Location, Register] = field(default_factory=dict)
    results: dict[Location, Register] = field(default_factory=dict)
    clobbers: int = 0
    stored: frozenset[Location] = frozenset()

    @property
    def registers(self) -> int:
        """All that it speaks of, as bits."""
        return self.clobbers | mask_from((*self.arguments.values(), *self.results.values()))

    @property
    def interface(self) -> Hashable:
        """Equal for contracts with the same places for arguments and results."""
        return tuple(sorted(self.arguments.items())), tuple(sorted(self.results.items())), tuple(sorted(self.stored))

    @property
    def content(self) -> Hashable:
        """Equal for contracts that say the same."""
        return self.interface, self.clobbers

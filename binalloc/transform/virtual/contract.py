"""This module says what callers must know of an allocated function. There is no fixed calling convention."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from binalloc.analysis.locations import Location
from binalloc.bitset import mask_from
from binalloc.models.allocation.terms import Register


@dataclass
class Contract:
    """A contract is between a function and its callers. It says where arguments and results are, and which registers
    the function overwrites."""

    #: architectural register -> register of the argument
    arguments: dict[Location, Register] = field(default_factory=dict)
    results: dict[Location, Register] = field(default_factory=dict)  #: architectural register -> register of the result
    clobbers: int = 0  #: registers that the function overwrites, as bits
    stored: frozenset[Location] = frozenset()  #: arguments that are passed in memory instead

    @property
    def registers(self) -> int:
        """Return all registers that the contract names, as bits."""
        return self.clobbers | mask_from((*self.arguments.values(), *self.results.values()))

    @property
    def interface(self) -> Hashable:
        """Return a key that is equal for contracts with the same places for arguments and results."""
        return tuple(sorted(self.arguments.items())), tuple(sorted(self.results.items())), tuple(sorted(self.stored))

    @property
    def content(self) -> Hashable:
        """Return a key that is equal for contracts of the same content."""
        return self.interface, self.clobbers

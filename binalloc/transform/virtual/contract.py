"""What callers must know of an allocated function; there is no fixed calling convention."""

from __future__ import annotations

from dataclasses import dataclass, field

from binalloc.analysis.locations import Location
from binalloc.models.allocation.terms import Register


@dataclass
class Contract:
    """What callers must know: architectural register -> register for arguments and results; clobbered registers."""

    arguments: dict[Location, Register] = field(default_factory=dict)
    results: dict[Location, Register] = field(default_factory=dict)
    clobbers: int = 0

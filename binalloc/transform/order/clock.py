"""This module says how long results take on a machine, for orders that hide latency.

Latencies are measured on an otherwise idle machine. An access to memory off the chip counts as a hit in L2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from binalloc.isa.kinds import Access, Space
from binalloc.isa.sets.table import view
from binalloc.transform.virtual.code import RELOAD, Item

if TYPE_CHECKING:
    from binalloc.models.machines.model import Machine


EVERY = 4
"""Cycles between two issues of one warp, because other warps issue in between. Of 1, 2, 3, 4, 8 and 16, this value
suits the samples best at full size."""


@dataclass(frozen=True)
class LatencyClock:
    """A clock gives the latency of items on one machine."""

    machine: Machine  #: the machine whose latencies count
    every: int = EVERY  #: cycles between two issues of one warp

    def takes(self, item: Item) -> int:
        """Return the cycles from issue to result."""
        if item.kind == RELOAD:  # of a slot or, from L1, about as long
            return self.machine.shared.latency
        if item.instr is None:
            return self.machine.units["alu"].latency
        seen = view(item.instr)
        memory = seen.memory
        if memory is None or memory.access == Access.STORE:
            return self.machine.units[seen.unit].latency
        if memory.space == Space.SHARED:
            return self.machine.shared.latency
        if memory.space == Space.CONST:
            return self.machine.units[seen.unit].latency
        return self.machine.l2.latency

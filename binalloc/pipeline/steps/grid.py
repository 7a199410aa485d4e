"""This module computes how many blocks of a grid an SM of the whole GPU gets, since room for more is worth nothing.

Emulated runs are on one SM, which has the whole grid. On the GPU, blocks are spread over all SMs: of 216 blocks each of
108 SMs gets two, and room for a third stays empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from binalloc.launch.types import Launch
    from binalloc.models.machines.budget import Budget
    from binalloc.models.machines.model import Machine


@dataclass(frozen=True)
class Filling:
    """A filling says how a grid fills the SMs of a GPU."""

    blocks: int  #: blocks of the grid
    sms: int  #: SMs of the GPU
    share: int  #: the most blocks that one SM gets
    resident: int  #: how many of these are resident at once
    waves: float  #: blocks of the grid over blocks that the GPU holds at once

    @property
    def starved(self) -> bool:
        """Return whether no SM gets more blocks than it could hold at once."""
        return self.share <= self.resident


def share_of(launch: Launch, machine: Machine) -> int:
    """Return the most blocks of the grid that one SM of the GPU gets, if they are spread evenly."""
    return -(-prod(launch.grid) // machine.chip.sms)


def filling(launch: Launch | None, machine: Machine, blocks_per_sm: int) -> Filling | None:
    """Return how a grid fills the GPU; None without a launch. blocks_per_sm: blocks that fit on an SM."""
    if launch is None:
        return None
    blocks, share = prod(launch.grid), share_of(launch, machine)
    waves = blocks / (blocks_per_sm * machine.chip.sms)
    return Filling(blocks, machine.chip.sms, share, min(share, blocks_per_sm), waves)


def reached(levels: Sequence[Budget], share: int, own: int) -> list[Budget]:
    """Return the levels that differ for an SM with `share` blocks of the grid, ascending.

    Levels with equally many of these blocks resident are the same there. The original's own level is kept among them,
    or the lowest. own: the original's number of blocks.
    """
    found: dict[int, Budget] = {}
    for budget in sorted(levels, key=lambda budget: (budget.blocks != own, budget.blocks)):
        resident = min(budget.blocks, share)
        if resident != min(own, share) or budget.blocks == own:
            found.setdefault(resident, budget)
    return sorted(found.values(), key=lambda budget: budget.blocks)

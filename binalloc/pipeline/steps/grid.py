"""How many blocks of a grid an SM of the whole GPU gets: what room for more is worth.

Runs are on one SM, which has the whole grid. On the GPU blocks are spread over all SMs: of 216 blocks each of 108 SMs
gets two, and room for a third stays empty.
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
    """blocks: of the grid. sms: of the GPU. share: blocks that the SM with most gets. resident: of these at once.
    waves: the grid over all blocks that the GPU holds."""

    blocks: int
    sms: int
    share: int
    resident: int
    waves: float

    @property
    def starved(self) -> bool:
        """Whether no SM gets more blocks than it could hold at once."""
        return self.share <= self.resident


def share_of(launch: Launch, machine: Machine) -> int:
    """The most blocks of the grid that one SM of the GPU gets, if they are spread evenly."""
    return -(-prod(launch.grid) // machine.chip.sms)


def filling(launch: Launch | None, machine: Machine, blocks_per_sm: int) -> Filling | None:
    """blocks_per_sm: that fit. None without a launch."""
    if launch is None:
        return None
    blocks, share = prod(launch.grid), share_of(launch, machine)
    waves = blocks / (blocks_per_sm * machine.chip.sms)
    return Filling(blocks, machine.chip.sms, share, min(share, blocks_per_sm), waves)


def reached(levels: Sequence[Budget], share: int, own: int) -> list[Budget]:
    """The levels that differ for an SM that gets `share` blocks, ascending: of those that leave as many of them
    resident the original's own, else the lowest."""
    found: dict[int, Budget] = {}
    for budget in sorted(levels, key=lambda budget: (budget.blocks != own, budget.blocks)):
        resident = min(budget.blocks, share)
        if resident != min(own, share) or budget.blocks == own:
            found.setdefault(resident, budget)
    return sorted(found.values(), key=lambda budget: budget.blocks)

"""This scheduler takes warps of blocks that have what they share with their partner first, those of unshared blocks
next, then all others; of several the oldest.

It is OWF of "Scratchpad Sharing in GPUs", section 4. The paper orders warps of one class by their dynamic number. It
leaves open what a block is while nobody has the lock, and once it has released it. Here neither is waited for by its
partner, nor waits, so both count as unshared. Without pairs this is the scheduler "oldest".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.policies.schedulers.oldest import oldest
from binalloc.emulator.policies.schedulers.scheduler import WarpScheduler
from binalloc.emulator.state.device import device
from binalloc.emulator.state.scan import lowest_bit

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm


@device
def owner_first(g: Gpu, s: Sm, sch: int, eligible: int) -> int:
    """Return the oldest eligible warp of the first class that has one."""
    if g.pairs == 0:
        return oldest(g, s, sch, eligible)
    owners, others = 0, 0
    rest = eligible
    while rest:
        i = lowest_bit(rest)
        rest &= rest - 1
        slot = s.block_of[i * g.schedulers + sch]
        if s.holds[slot]:
            owners |= 1 << i
        elif s.partner[slot] and s.holds[s.partner[slot] - 1] and s.gave_up[slot] == 0:
            others |= 1 << i
    if owners:
        return oldest(g, s, sch, owners)
    unshared = eligible & ~others
    return oldest(g, s, sch, unshared if unshared else others)


OWF = WarpScheduler(
    "owf", "warps whose block has what it shares with another, then unshared ones, then others; of these the oldest",
    owner_first,
)  # fmt: skip

"""This scheduler takes warps of blocks that have what they share with their partner first, those of unshared blocks
next, then all others; of several the oldest.

It is OWF of "Scratchpad Sharing in GPUs", section 4. The paper orders warps of one class by their dynamic number. It
leaves open what a block is while nobody has the lock, and once it has released it (`is_owner`). In its Fig. 4 one of
two blocks is the owner before the first access. Without pairs this is the scheduler "oldest".
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
def is_owner(s: Sm, slot: int) -> int:
    """Return 1 if the block, which has a partner, has what the two share. While neither has it, the owner is the one in
    the lower slot, or the other if that one needs it no more."""
    other = s.partner[slot] - 1
    if s.holds[slot] or s.holds[other] or s.gave_up[slot]:
        return s.holds[slot]
    return 1 if slot < other or s.gave_up[other] or s.block_active[other] == 0 else 0


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
        if s.partner[slot]:
            if is_owner(s, slot):
                owners |= 1 << i
            else:
                others |= 1 << i
    if owners:
        return oldest(g, s, sch, owners)
    unshared = eligible & ~others
    return oldest(g, s, sch, unshared if unshared else others)


OWF = WarpScheduler(
    "owf", "warps whose block has what it shares with another, then unshared ones, then others; of these the oldest",
    owner_first,
)  # fmt: skip

"""This scheduler issues from one batch of blocks at a time: warps that touch the same pages run together.

It is TBAS of "Thread Batching for High-performance Energy-efficient GPU Memory Design", section 4. The running set of
an SM is one batch. When that has not enough active warps, all of it is demoted, and the oldest batch with enough is
promoted. With `next=successor` it is the one behind the demoted batch: the variant of Fig. 9(d), which the paper
rejects. The paper defines neither "active" nor "enough". Here a warp is active unless it waits for a result of memory
of unknown time, at a barrier, or for shared memory that another block has. If no batch has enough, the oldest one is
promoted that has a warp which could issue. Within the batch this is the scheduler "gto".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.policies.schedulers.greedy_then_oldest import greedy_then_oldest, leave_ended
from binalloc.emulator.policies.schedulers.scheduler import WarpScheduler
from binalloc.emulator.state.counters import Stall
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import MAX_BLOCKS, SCOREBOARDS, Warp
from binalloc.emulator.state.scan import lowest_bit
from binalloc.rows import Parameter

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm

ALL, HALF = 1 << 20, (1 << 20) - 1  # values of `enough` that stand for all warps of a batch, and half of them


@device(inline=True)
def enough(g: Gpu, warps: int) -> int:
    """Return how many active warps a batch has to have that has so many warps in the SM."""
    if g.enough == HALF:
        return (warps + 1) >> 1
    return min(g.enough, warps)


@device
def is_active(s: Sm, w: int, asleep: int) -> int:
    """Return 1 if the warp, which has not ended, is active, else 0. asleep: whether it last began to wait for a result
    of memory that comes at an unknown time."""
    state = s.state[w]
    if state == Warp.SCOREBOARD:
        return 0 if asleep else 1
    if state == Warp.BARRIER:
        return 0 if s.bar_id[w] >= 0 else 1
    if state == Warp.SHARED or (state >= Warp.GATE and s.kept_out[w]):
        return 0
    return 1


@device
def gather(g: Gpu, s: Sm, batch: int) -> int:
    """Set `s.gathered` to the warps of a batch that have not ended, by scheduler, and return how many are active, or -1
    if these are not enough."""
    warps = 0
    active = 0
    for sch in range(g.schedulers):
        s.gathered[sch] = 0
    for slot in range(g.resident_limit):
        if s.block_active[slot] and s.block_batch[slot] == batch:
            for w in range(slot * g.warps_per_block, (slot + 1) * g.warps_per_block):
                if s.live[w]:
                    sch = g.scheduler_of[w]
                    s.gathered[sch] |= g.bit_of[w]
                    warps += 1
                    active += is_active(s, w, s.asleep[sch] & g.bit_of[w])
    return active if warps and active >= enough(g, warps) else -1


@device
def older(g: Gpu, s: Sm, slot: int, other: int) -> int:
    """Return 1 if the batch of the block in `slot` is older than that of the block in `other`: blocks count in the
    order in which they are dispatched, batches by their first."""
    return 1 if s.block_batch[MAX_BLOCKS + slot] < s.block_batch[MAX_BLOCKS + other] else 0


@device
def promote(g: Gpu, s: Sm, sch: int, eligible: int) -> None:
    """Make another batch the running one. Some warp of scheduler `sch` could issue."""
    best, after, fallback = -1, -1, -1
    since = s.running_since if s.running_batch else -1
    for slot in range(g.resident_limit):
        if s.block_active[slot]:
            found = gather(g, s, s.block_batch[slot])
            if found >= 0 and (best < 0 or older(g, s, slot, best)):
                best = slot
            behind = found >= 0 and s.block_batch[MAX_BLOCKS + slot] > since
            if behind and (after < 0 or older(g, s, slot, after)):
                after = slot
            if s.gathered[sch] & eligible and (fallback < 0 or older(g, s, slot, fallback)):
                fallback = slot
    chosen = after if g.successor and after >= 0 else best
    if chosen < 0:
        chosen = fallback
    s.running_batch = s.block_batch[chosen] + 1
    s.running_since = s.block_batch[MAX_BLOCKS + chosen]
    gather(g, s, s.block_batch[chosen])
    for k in range(g.schedulers):
        s.running_warps[k] = s.gathered[k]


@device
def has_enough(g: Gpu, s: Sm) -> int:
    """Return 1 if the running batch has enough active warps, else 0."""
    warps = 0
    active = 0
    for k in range(g.schedulers):
        left = s.running_warps[k]
        while left:
            i = lowest_bit(left)
            left &= left - 1
            warps += 1
            active += is_active(s, i * g.schedulers + k, (s.asleep[k] >> i) & 1)
    return 1 if warps and active >= enough(g, warps) else 0


@device
def batch_aware(g: Gpu, s: Sm, sch: int, eligible: int) -> int:
    """Return what "gto" takes of the eligible warps of the running batch, after that has been replaced if it lacks
    active warps."""
    if s.running_batch == 0 or has_enough(g, s) == 0:
        promote(g, s, sch, eligible)
    rest = eligible & s.running_warps[sch]
    return greedy_then_oldest(g, s, sch, rest) if rest else ~Stall.PENDING


@device
def join_batch(g: Gpu, s: Sm, slot: int) -> None:
    """Note since when the batch of a block, which has just come, has been in the SM."""
    since = s.blocks_begun
    s.blocks_begun += 1
    for other in range(g.resident_limit):
        if other != slot and s.block_active[other] and s.block_batch[other] == s.block_batch[slot]:
            since = min(since, s.block_batch[MAX_BLOCKS + other])
    s.block_batch[MAX_BLOCKS + slot] = since


@device
def start_active(g: Gpu, s: Sm, w: int) -> None:
    """Enter the warp, which starts, in the running batch if its block belongs to that."""
    if s.block_batch[s.block_of[w]] + 1 == s.running_batch:
        s.running_warps[g.scheduler_of[w]] |= g.bit_of[w]


@device
def note_wait(g: Gpu, s: Sm, w: int, boards: int) -> None:
    """Note whether the warp waits for a result that comes at an unknown time."""
    sch = g.scheduler_of[w]
    s.asleep[sch] &= ~g.bit_of[w]
    for board in range(SCOREBOARDS):
        if (boards >> board) & 1 and s.board_open[w, board]:
            s.asleep[sch] |= g.bit_of[w]


@device
def leave_batch(g: Gpu, s: Sm, w: int) -> None:
    """Take the warp, which has ended, out of the running batch."""
    s.running_warps[g.scheduler_of[w]] &= ~g.bit_of[w]
    leave_ended(g, s, w)


TBAS = WarpScheduler(
    "tbas", "warps of one batch of blocks at a time, as long as enough of them are active; of these as gto",
    batch_aware,
    hears={
        "block_begins": join_batch, "started": start_active, "ended": leave_batch, "waits": note_wait,
    },
    parameters=(
        Parameter("enough", "enough", "active warps that a running batch must have", 1, 1, 1 << 10,
                  named=(("half", HALF), ("all", ALL))),
        Parameter("next", "successor", "which batch comes next", 0, words=("oldest", "successor")),
    ),
    knows_batches=True,
)  # fmt: skip

"""This dispatcher gives each SM a queue of whole batches of blocks before the launch. An SM takes blocks from its own
queue alone.

It is the serial dispatching of "Thread Batching for High-performance Energy-efficient GPU Memory Design", section 3.2:
two registers for each SM, head and tail. The paper leaves open whether the tail is the last block or the one behind it,
and where a remainder goes: here it is the place behind the last, and SMs differ by one batch at most
(`binalloc.models.batches.queues`). Queues hold places in the order of batches, since the blocks of a batch that is
given by a modulus do not follow one another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.policies.dispatchers.dispatcher import BlockDispatcher
from binalloc.emulator.state.device import device
from binalloc.emulator.state.scan import quotient

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm


@device
def block_at(g: Gpu, place: int) -> int:
    """Return the block at a place in the order of batches, counted from 0: where batches are given by a modulus m,
    blocks 0, m, 2m and so on come first, then 1, m + 1, and so on."""
    if g.batch_modulus == 0:
        return place
    each = quotient(g.blocks, g.batch_modulus)
    longer = g.blocks - each * g.batch_modulus  # batches with one block more, which come first
    batch = quotient(place, each + 1)
    first = batch * (each + 1)
    if batch >= longer:
        batch = longer + quotient(place - longer * (each + 1), each)
        first = longer * (each + 1) + (batch - longer) * each
    return batch + (place - first) * g.batch_modulus


@device
def next_of_queue(g: Gpu, s: Sm) -> int:
    """Return the first block of the SM's queue, -1 where that is empty."""
    head = g.queue_head[s.id]
    return g.first_block + block_at(g, head) if head < g.queue_tail[s.id] else -1


@device(inline=True)
def pop(g: Gpu, s: Sm, block: int) -> None:
    """Take the first block from the SM's queue."""
    g.queue_head[s.id] += 1


SERIAL = BlockDispatcher(
    "serial", "each SM its own queue of whole batches of blocks", next_of_queue, took=pop,
    knows_batches=True,
)  # fmt: skip

"""Queues count how full they have been: the sum of their length over all cycles, and in how many cycles they were full.

Content at the end of cycle c counts for cycle c. So an item that comes in cycle a and leaves in cycle b counts b - a.
The sum over all items that have left is the sum of the b minus the sum of the a: single items need not be known.
`host.stats` adds what is still in the queue.
"""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.parts.queue import QueueRecord


@device(inline=True)
def entered(q: QueueRecord, queue: int, now: int, held: int, places: int) -> None:
    """Count an item that has come into one of the queues of that kind in cycle `now`. held: items in it now. places:
    items that it has room for."""
    q.queue_area[queue] -= now
    q.queue_most[queue] = max(q.queue_most[queue], held)
    if held == places:
        q.queue_full[queue] -= now


@device(inline=True)
def left(q: QueueRecord, queue: int, now: int, held: int, places: int) -> None:
    """Count an item that has left one of the queues of that kind in cycle `now`. held: items still in it. places: items
    that it has room for."""
    q.queue_area[queue] += now
    if held == places - 1:
        q.queue_full[queue] += now

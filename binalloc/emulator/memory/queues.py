"""How full what holds requests has been: in how many cycles, summed, something was in it, and how long it was full.

What stands in a queue at the end of cycle c counts for cycle c. So something that comes in cycle a and leaves in cycle
b counts b - a, and the sum over all that has left is that of the b less that of the a: nothing need be known of single
ones. `host.stats` adds what is in the queue still.
"""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.parts.queue import QueueRecord


@device(inline=True)
def entered(q: QueueRecord, queue: int, now: int, held: int, places: int) -> None:
    """Something has come into one of the queues of that kind, where `held` are now, in cycle `now`."""
    q.queue_area[queue] -= now
    q.queue_most[queue] = max(q.queue_most[queue], held)
    if held == places:
        q.queue_full[queue] -= now


@device(inline=True)
def left(q: QueueRecord, queue: int, now: int, held: int, places: int) -> None:
    """Something has left one of the queues of that kind, where `held` are still."""
    q.queue_area[queue] += now
    if held == places - 1:
        q.queue_full[queue] += now

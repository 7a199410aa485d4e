"""The part of the device record, and of an SM's, that says how full queues and tables of misses have been."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.memory_layout import Queue

QUEUES = len(Queue.names)


class QueueRecord:
    """A row for each `Queue`; those of L1 are used in an SM's record, the others in the device's. Kept by
    `memory.queues`."""

    # cycles in which things left, summed over them, less those in which they came; the most at once; cycles in which a
    # place that was the last one was given back, summed, less those in which one was taken
    queue_area: Annotated[Words, QUEUES]
    queue_most: Annotated[Words, QUEUES]
    queue_full: Annotated[Words, QUEUES]

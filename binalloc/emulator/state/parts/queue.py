"""This module has the part of the device's and of an SM's record that measures how full queues and tables of misses
are."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.memory_layout import Queue

QUEUES = len(Queue.names)


class QueueRecord:
    """The arrays have a row for each `Queue`. An SM's record uses the rows of L1, the device's record the others.
    `memory.queues` keeps them."""

    #: sum of the cycles in which requests left, less the sum of those in which they came
    queue_area: Annotated[Words, QUEUES]
    queue_most: Annotated[Words, QUEUES]  #: the most requests at once
    #: sum of the cycles in which the queue ceased to be full, less the sum of those in which it became full
    queue_full: Annotated[Words, QUEUES]

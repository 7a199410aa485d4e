"""Of the requests that wait at a bank of DRAM one is next: first ready, first come (FR-FCFS).

Where CPU programs come first, their requests do, in the same order among themselves: after "Staged Memory Scheduling"
(ISCA 2012), as the thread batching paper uses it in section 6.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import RequestKind

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu

FOUND, FOR_CPU = 1, 2  # parts of a rank: the row is open; the request is a CPU program's


@device(inline=True)
def rank_of(g: Gpu, b: int, r: int) -> int:
    """Return the rank of request r at bank b. Of requests with the same rank the oldest is first."""
    rank = FOUND if g.at_row[r] + 1 == g.bank_row[b] else 0
    if g.cpu_first and g.kind[r] == RequestKind.CPU_LOAD:
        rank += FOR_CPU
    return rank


@device
def first_of(g: Gpu, b: int) -> int:
    """Return the request that is next at bank b, which has some."""
    best = g.bank_first[b]
    highest = rank_of(g, b, best)
    top = FOUND + FOR_CPU if g.cpu_first else FOUND
    r = g.younger[best]
    while r >= 0 and highest < top:
        rank = rank_of(g, b, r)
        if rank > highest:
            highest = rank
            best = r
        r = g.younger[r]
    return best

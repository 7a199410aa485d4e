"""Waiters: accesses that wait for a line on its way to an SM, in lists that belong to the line."""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import MAX_WAITERS
from binalloc.emulator.state.records import Sm


@device
def room_to_wait(s: Sm) -> int:
    """Whether there can be one more."""
    return 0 if s.free_waiter == 0 and s.waiters == MAX_WAITERS else 1


@device
def new_waiter(s: Sm, a: int) -> int:
    """Access a waits for one line more; its waiter, which stands in no list yet."""
    n = s.free_waiter - 1
    if n >= 0:
        s.free_waiter = s.next_waiter[n]
    else:
        n = s.waiters
        s.waiters += 1
    s.waiter_access[n] = a
    s.missing[a] += 1
    return n


@device
def drop_waiter(s: Sm, n: int) -> None:
    """Waiter n waits no more."""
    s.next_waiter[n] = s.free_waiter
    s.free_waiter = n + 1

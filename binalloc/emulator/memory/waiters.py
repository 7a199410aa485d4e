"""Waiters are accesses that wait for a line on its way to an SM. They are in lists that belong to the line."""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import MAX_WAITERS
from binalloc.emulator.state.records import Sm


@device
def room_to_wait(s: Sm) -> int:
    """Return 1 if there can be one more waiter, else 0."""
    return 0 if s.free_waiter == 0 and s.waiters == MAX_WAITERS else 1


@device
def new_waiter(s: Sm, a: int) -> int:
    """Let access a wait for one line more. Return its waiter, which is in no list yet."""
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
    """Free waiter n."""
    s.next_waiter[n] = s.free_waiter
    s.free_waiter = n + 1

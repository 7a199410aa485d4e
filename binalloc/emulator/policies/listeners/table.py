"""This module has the table of listeners: policies that choose nothing and hear of events. A new one is a file in this
folder and a row here. A run has the listeners in `RunOptions.listeners`.

A listener keeps its notes in its own fields of the records, where an observer of the device reads them
(`RunOptions.observer`). `Sm.notes` has words for small listeners.
"""

from __future__ import annotations

from collections.abc import Iterable

from binalloc.emulator.state.policy import SmPolicy
from binalloc.errors import Hint
from binalloc.rows import by_name, number

_NONE: tuple[SmPolicy, ...] = ()
LISTENERS: dict[str, SmPolicy] = by_name((*_NONE,))


def listening(names: Iterable[str]) -> int:
    """Return the value of `g.listening` for these listeners: a bit for each. Raises UsageError with the known names."""
    return sum({1 << number(LISTENERS, name, "listener", Hint("{listeners}")) for name in names})

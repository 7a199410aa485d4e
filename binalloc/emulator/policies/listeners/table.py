"""Listeners: policies that choose nothing and hear of events. A new one is a file beside this one and a row here; runs
have those that `RunOptions.listeners` names.

What a listener notes is in its own fields of the records, which whoever looks at the device reads
(`RunOptions.observer`); `Sm.notes` are words for small ones.
"""

from __future__ import annotations

from collections.abc import Iterable

from binalloc.emulator.state.policy import Policy
from binalloc.errors import Hint
from binalloc.rows import by_name, number

_NONE: tuple[Policy, ...] = ()
LISTENERS: dict[str, Policy] = by_name((*_NONE,))


def listening(names: Iterable[str]) -> int:
    """What `g.listening` says for these listeners: a bit for each. Raises UsageError with the known names."""
    return sum({1 << number(LISTENERS, name, "listener", Hint("{listeners}")) for name in names})

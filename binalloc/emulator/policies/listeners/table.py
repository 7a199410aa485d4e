"""Listeners: policies that choose nothing and hear of events. A new one is a file beside this one and a row here; runs
have those that `RunOptions.listeners` names.

What a listener notes is in its own fields of the records, which whoever looks at the device reads
(`RunOptions.observer`); `Sm.notes` are words for small ones.
"""

from __future__ import annotations

from collections.abc import Iterable

from binalloc.emulator.state.policy import Policy
from binalloc.errors import Hint, UsageError
from binalloc.rows import by_name

_NONE: tuple[Policy, ...] = ()
LISTENERS: dict[str, Policy] = by_name((*_NONE,))


def listening(names: Iterable[str]) -> int:
    """What `g.listening` says for these listeners: a bit for each. Raises UsageError with the known names."""
    found = 0
    for name in names:
        if name not in LISTENERS:
            known = ", ".join(LISTENERS) or "none, there are no listeners"
            raise UsageError("no such listener", place=Hint("{listeners}"), found=repr(name), expected=known)
        found |= 1 << list(LISTENERS).index(name)
    return found

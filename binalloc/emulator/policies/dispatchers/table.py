"""This module has the table of block dispatchers. A new one is a file in this folder and a row here; the calls of the
dispatchers' functions are written from the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from binalloc.emulator.policies.dispatchers.dispatcher import BlockDispatcher
from binalloc.emulator.policies.dispatchers.interleaved import INTERLEAVED
from binalloc.emulator.policies.dispatchers.serial import SERIAL
from binalloc.emulator.state.policy import define_choice
from binalloc.errors import Hint
from binalloc.rows import Chosen, by_name, chosen

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm

DISPATCHERS: dict[str, BlockDispatcher] = by_name((INTERLEAVED, SERIAL))
DEFAULT = INTERLEAVED.name


def chosen_dispatcher(text: str) -> Chosen:
    """Return the dispatcher that a user has chosen. Its number is the value of `g.dispatcher`. Raises UsageError with
    what could be chosen."""
    return chosen(DISPATCHERS, text, "block dispatcher", Hint("{dispatcher}"))


_ROWS = list(DISPATCHERS.values())
block_for: Callable[[Gpu, Sm], int]
may_take_from: Callable[[Gpu, Sm], int]
took: Callable[[Gpu, Sm, int], None]
define_choice(globals(), "block_for", "g, s", "dispatcher", [row.block for row in _ROWS])
define_choice(globals(), "may_take_from", "g, s", "dispatcher", [row.when for row in _ROWS])
define_choice(globals(), "took", "g, s, block", "dispatcher", [row.took for row in _ROWS])

"""All block dispatchers. A new one is a file beside this one and a row here: who is asked is written from the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from binalloc.emulator.policies.dispatchers.dispatcher import BlockDispatcher
from binalloc.emulator.policies.dispatchers.in_order import IN_ORDER
from binalloc.emulator.state.device import define
from binalloc.emulator.state.policy import choice_text, numbered
from binalloc.errors import Hint
from binalloc.rows import by_name, find

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm

DISPATCHERS: dict[str, BlockDispatcher] = by_name((IN_ORDER,))
DEFAULT = IN_ORDER.name


def dispatcher_number(name: str) -> int:
    """What `g.dispatcher` says for the dispatcher of that name. Raises UsageError with the known names."""
    return list(DISPATCHERS.values()).index(find(DISPATCHERS, name, "block dispatcher", Hint("{dispatcher}")))


_ROWS = list(DISPATCHERS.values())
block_for: Callable[[Gpu, Sm], int]
may_take_from: Callable[[Gpu, Sm], int]
took: Callable[[Gpu, Sm, int], None]
for _name, _arguments, _functions in (
    ("block_for", "g, s", [row.block for row in _ROWS]),
    ("may_take_from", "g, s", [row.when for row in _ROWS]),
    ("took", "g, s, block", [row.took for row in _ROWS]),
):
    _text = choice_text(_name, _arguments, "dispatcher", len(_ROWS))
    define(globals(), _name, _text, numbered(_name, _functions), inline=True)

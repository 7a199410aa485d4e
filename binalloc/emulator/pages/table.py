"""All page policies. A new one is a file beside this one and a row here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from binalloc.emulator.pages.identity import IDENTITY
from binalloc.emulator.pages.page import PagePolicy
from binalloc.emulator.state.device import define
from binalloc.emulator.state.policy import choice_text, numbered
from binalloc.errors import Hint
from binalloc.rows import by_name, find

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu

PAGES: dict[str, PagePolicy] = by_name((IDENTITY,))
DEFAULT = IDENTITY.name


def pages_number(name: str) -> int:
    """What `g.pages` says for the policy of that name. Raises UsageError with the known names."""
    return list(PAGES.values()).index(find(PAGES, name, "page policy", Hint("{pages}")))


_LINES = [row.physical for row in PAGES.values()]
physical: Callable[[Gpu, int, int], int]
_text = choice_text("physical", "g, source, line", "pages", len(_LINES))
define(globals(), "physical", _text, numbered("physical", _LINES), inline=True)

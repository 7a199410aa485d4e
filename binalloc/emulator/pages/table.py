"""This module has the table of page policies. A new one is a file in this folder and a row here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from binalloc.emulator.pages.bandwidth import BANDWIDTH
from binalloc.emulator.pages.coloured import COLOURED
from binalloc.emulator.pages.identity import IDENTITY
from binalloc.emulator.pages.interleaved import INTERLEAVED
from binalloc.emulator.pages.page import PagePolicy
from binalloc.emulator.state.policy import define_choice
from binalloc.errors import Hint
from binalloc.rows import Chosen, by_name, chosen

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu

PAGES: dict[str, PagePolicy] = by_name((IDENTITY, INTERLEAVED, COLOURED, BANDWIDTH))
DEFAULT = IDENTITY.name


def chosen_pages(text: str) -> Chosen:
    """Return the page policy that a user has chosen. Its number is the value of `g.pages`. Raises UsageError with what
    could be chosen."""
    return chosen(PAGES, text, "page policy", Hint("{pages}"))


place: Callable[[Gpu, int, int, int], int]
define_choice(globals(), "place", "g, m, source, high", "pages", [row.place for row in PAGES.values()])

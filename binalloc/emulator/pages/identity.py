"""This policy has no pages: the place of a line follows from its address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.pages.page import PagePolicy
from binalloc.emulator.state.device import device

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu


@device(inline=True)
def as_it_is(g: Gpu, source: int, line: int) -> int:
    """Return the line itself."""
    return line


IDENTITY = PagePolicy("identity", "a line lies where its address says", as_it_is)

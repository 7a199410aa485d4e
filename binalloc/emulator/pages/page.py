"""What a page policy is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binalloc.emulator.state.policy import Policy

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu


@dataclass(frozen=True)
class PagePolicy(Policy):
    """Chooses which line of L2 and DRAM a line of an SM is. One object of each is in `table`.

    physical(g, source, line): a device function of the device's record, the number of the SM that asks and the line
    that it asks for (an address / 128; local memory, code and constants have lines behind all addresses). It returns
    the line whose slice, set, channel, bank and row the request goes to, not negative and below 2^56. Two lines are
    never one.
    """

    physical: Callable[[Gpu, int, int], int]

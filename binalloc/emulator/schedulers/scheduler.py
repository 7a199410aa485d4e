"""What a warp scheduler is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm


@dataclass(frozen=True)
class WarpScheduler:
    """Chooses which of the warps that could issue does. One object of each is in `table`.

    name: as on the command line. summary: for its help. pick(g, s, sch, eligible): a device function of the device's
    record, the SM's, the number of the scheduler in the SM, and its eligible warps as a bit mask, not 0 (bit i = warp
    slot i * schedulers + sch). It returns a bit index; what issued last stands in `s.last[sch]`, -1 at the start.
    """

    name: str
    summary: str
    pick: Callable[[Gpu, Sm, int, int], int]

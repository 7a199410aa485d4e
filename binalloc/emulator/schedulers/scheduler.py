"""What a warp scheduler is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm

EVENTS: dict[str, str] = {
    "started": "g, s, w",  # the warp may issue from this cycle on: its block has been dispatched
    "ended": "g, s, w",  # it has issued its last instruction
    "missed": "g, s, w",  # of the lines `s.line[:s.lines]` that it has just asked for some come when nobody knows yet
    "waits": "g, s, w, boards",  # its next instruction waits for these scoreboards (bits), from this cycle on
    "completed": "g, s, w, board",  # every result that the scoreboard counted has come
    "resumed": "g, s, w",  # it waits for scoreboards no more: its next instruction is ready
    "arrived": "g, s, w",  # it waits at a barrier
    "opened": "g, s, w",  # that barrier has opened
}
"""What a policy can hear of warp slot `w` of the SM `s`, with the arguments of its listener. In a cycle `completed`,
`resumed` and `waits` come first, in an order that nobody may depend on, then `started`, oldest warp first, then each
scheduler's turn with what its instruction does. Where `s.board_open[w, board]` is not 0, `waits` is for a result whose
time nobody knows: memory has it. A policy that raises a warp's standing does so by itself, in `pick` or as it hears."""


@dataclass(frozen=True)
class WarpScheduler:
    """Chooses which of the warps that could issue does. One object of each is in `table`.

    name: as on the command line. summary: for its help. pick(g, s, sch, eligible): a device function of the device's
    record, the SM's, the number of the scheduler in the SM, and its eligible warps as a bit mask, not 0 (bit i = warp
    slot i * schedulers + sch). It returns the bit index of the warp that issues now, or ~reason, a `counters.Stall`, to
    have none of them issue in this cycle. hears: device functions by the names of `EVENTS`.

    `pick` is asked in every cycle in which a warp is eligible, and in no other; so what a policy remembers may change
    there and as it hears of events, and at no other time. It is in `state.parts.scheduler`.
    """

    name: str
    summary: str
    pick: Callable[[Gpu, Sm, int, int], int]
    hears: Mapping[str, Callable[..., None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert self.hears.keys() <= EVENTS.keys(), f"{self.name} hears of what nobody tells"

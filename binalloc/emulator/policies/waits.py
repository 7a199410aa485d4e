"""What a warp that does not issue waits for: its state, and the reason for which its scheduler loses issue slots.

One table says both, in the order in which reasons go before one another; what asks for a reason is written from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from binalloc.emulator.policies.gates.table import GATES
from binalloc.emulator.state.counters import Stall
from binalloc.emulator.state.device import define
from binalloc.emulator.state.layout import Warp

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Sm


class Wait(NamedTuple):
    """state: of the warp. stall: the reason. of_next: whether the warp's next instruction is what waits; otherwise the
    one that it issued last keeps it. says: what the warp does, in words."""

    state: int
    stall: int
    of_next: bool
    says: str


WAITS = (
    Wait(Warp.READY, Stall.PORT_BUSY, True, "ready"),
    Wait(Warp.STALL, Stall.STALL_COUNT, True, "waits out a stall count"),
    Wait(Warp.BRANCH, Stall.BRANCH, False, "waits for a control instruction"),
    Wait(Warp.SCOREBOARD, Stall.SCOREBOARD, True, "waits for a scoreboard"),
    *(Wait(Warp.GATE + n, Stall.GATE + n, True, f"waits for {row.awaited}") for n, row in enumerate(GATES.values())),
    Wait(Warp.BARRIER, Stall.BARRIER, False, "waits at a barrier"),
    Wait(Warp.DONE, Stall.BLOCK_DRAIN, False, "has ended"),
)
"""The first that applies to any of a scheduler's warps is why it issues nothing; without a warp, `Stall.NO_WARP`."""
SAYS = {wait.state: wait.says for wait in WAITS}
OF_NEXT = sum(1 << wait.stall for wait in WAITS if wait.of_next) | 1 << Stall.PENDING
"""The reasons that are held against the next instruction of a warp, as bits."""


def _first_text() -> str:
    """The device function that finds the reason from the census of a scheduler's warps."""
    lines = ["def idle_reason(s, sch):"]
    for wait in WAITS:
        lines += [f"    if s.census[sch, {wait.state}]:", f"        return {wait.stall}"]
    return "\n".join([*lines, f"    return {Stall.NO_WARP}", ""])


def _lookup_text(name: str, argument: str, pairs: list[tuple[int, int]], otherwise: int) -> str:
    """A device function from one number to another."""
    lines = [f"def {name}({argument}):"]
    for key, value in pairs:
        lines += [f"    if {argument} == {key}:", f"        return {value}"]
    return "\n".join([*lines, f"    return {otherwise}", ""])


NO_RANK = len(WAITS)
"""What `rank_of` says of states in which a slot has no warp."""
idle_reason: Callable[[Sm, int], int]
rank_of: Callable[[int], int]
reason_of: Callable[[int], int]
state_behind: Callable[[int], int]
define(globals(), "idle_reason", _first_text(), {})
_ranks = [(wait.state, rank) for rank, wait in enumerate(WAITS)]
define(globals(), "rank_of", _lookup_text("rank_of", "state", _ranks, NO_RANK), {})
_reasons = [(rank, wait.stall) for rank, wait in enumerate(WAITS)]
define(globals(), "reason_of", _lookup_text("reason_of", "rank", _reasons, Stall.NO_WARP), {})
_states = [(wait.stall, wait.state) for wait in WAITS]
define(globals(), "state_behind", _lookup_text("state_behind", "why", _states, -1), {})

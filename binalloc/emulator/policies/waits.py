"""This module has a table of the states in which a warp does not issue. Each has the reason for which the warp's
scheduler loses issue slots.

The rows are in the order of precedence of the reasons. The functions that find a reason are written from the table.
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
    """A wait is a state in which a warp does not issue."""

    state: int  #: state of the warp
    stall: int  #: reason for which its scheduler loses issue slots
    of_next: bool  #: whether the warp's next instruction waits; otherwise the one that it issued last keeps it
    says: str  #: what the warp does, in words


WAITS = (
    Wait(Warp.READY, Stall.PORT_BUSY, True, "ready"),
    Wait(Warp.STALL, Stall.STALL_COUNT, True, "waits out a stall count"),
    Wait(Warp.BRANCH, Stall.BRANCH, False, "waits for a control instruction"),
    Wait(Warp.SCOREBOARD, Stall.SCOREBOARD, True, "waits for a scoreboard"),
    *(Wait(Warp.GATE + n, Stall.GATE + n, True, f"waits for {row.awaited}") for n, row in enumerate(GATES.values())),
    Wait(Warp.SHARED, Stall.SHARED_FULL, False, "waits for shared memory that other blocks hold"),
    Wait(Warp.BARRIER, Stall.BARRIER, False, "waits at a barrier"),
    Wait(Warp.DONE, Stall.BLOCK_DRAIN, False, "has ended"),
)
"""A scheduler that issues nothing does so for the first row that applies to any of its warps. Without a warp the reason
is `Stall.NO_WARP`."""
SAYS = {wait.state: wait.says for wait in WAITS}
OF_NEXT = sum(1 << wait.stall for wait in WAITS if wait.of_next) | 1 << Stall.PENDING
"""The reasons that are charged to the next instruction of a warp, as bits."""


def _first_text() -> str:
    """Return the text of the device function that finds the reason from the census of a scheduler's warps."""
    lines = ["def idle_reason(s, sch):"]
    for wait in WAITS:
        lines += [f"    if s.census[sch, {wait.state}]:", f"        return {wait.stall}"]
    return "\n".join([*lines, f"    return {Stall.NO_WARP}", ""])


def _lookup_text(name: str, argument: str, pairs: list[tuple[int, int]], otherwise: int) -> str:
    """Return the text of a device function that maps one number to another."""
    lines = [f"def {name}({argument}):"]
    for key, value in pairs:
        lines += [f"    if {argument} == {key}:", f"        return {value}"]
    return "\n".join([*lines, f"    return {otherwise}", ""])


NO_RANK = len(WAITS)
"""Value of `rank_of` for the states of a slot without a warp."""
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

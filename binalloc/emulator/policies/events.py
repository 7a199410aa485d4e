"""This module reports the events of the SM to the policies that listen. Each event has a device function, which is
written from all tables.

An event that no row of any table hears of costs nothing: its function is empty. The constants `HEARS_...` are for code
that would have to note something for an event beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from binalloc.emulator.pages.table import PAGES
from binalloc.emulator.policies.dispatchers.table import DISPATCHERS
from binalloc.emulator.policies.gates.table import GATES
from binalloc.emulator.policies.listeners.table import LISTENERS
from binalloc.emulator.policies.placements.table import PLACEMENTS
from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from binalloc.emulator.state.device import define
from binalloc.emulator.state.policy import EVENTS, SmPolicy

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm


class PolicyKind(NamedTuple):
    """A kind is a table of policies with the field of the device's record that selects its rows."""

    rows: Mapping[str, SmPolicy]  #: the table
    field: str  #: the field says which rows are in force
    bits: bool = False  #: whether the field has a bit for each row; otherwise it is the number of one row

    def condition(self, number: int) -> str:
        """Return the condition, in device code, under which the row of a number is in force."""
        return f"(g.{self.field} >> {number}) & 1" if self.bits else f"g.{self.field} == {number}"

    def in_force(self, chosen: int) -> list[SmPolicy]:
        """Return the rows that a value of the field puts in force."""
        return [row for n, row in enumerate(self.rows.values()) if (chosen >> n & 1 if self.bits else chosen == n)]


KINDS = (
    PolicyKind(SCHEDULERS, "policy"),
    PolicyKind(DISPATCHERS, "dispatcher"),
    PolicyKind(PLACEMENTS, "placement"),
    PolicyKind(PAGES, "pages"),
    PolicyKind(GATES, "gates", bits=True),
    PolicyKind(LISTENERS, "listening", bits=True),
)


def event_text(event: str, kinds: tuple[PolicyKind, ...] = KINDS) -> tuple[str, dict[str, Callable[..., None]]]:
    """Return the text of an event's device function, and the listeners that it calls, by their names in the text."""
    lines, uses = [f"def {event}({EVENTS[event]}):"], {}
    for k, kind in enumerate(kinds):
        for number, row in enumerate(kind.rows.values()):
            if event in row.hears:
                called = f"_{event}{k}_{number}"
                uses[called] = row.hears[event]
                lines += [f"    if {kind.condition(number)}:", f"        {called}({EVENTS[event]})"]
    return "\n".join([*lines, "    return", ""]), uses


_HEARD = {event for kind in KINDS for row in kind.rows.values() for event in row.hears}
HEARS_LINES = bool({"evicted", "sought"} & _HEARD)
"""Whether some policy may hear of the lines that L1 gives up, or has not got."""
HEARS_PROMOTIONS = "promoted" in _HEARD
"""Whether some policy may hear of the warps that a warp scheduler promotes."""


def hears(event: str, chosen: Mapping[str, int]) -> bool:
    """Return whether a policy in force hears of an event. chosen: values of the fields of all kinds."""
    return any(event in row.hears for kind in KINDS for row in kind.in_force(chosen[kind.field]))


issued: Callable[[Gpu, Sm, int, int], None]
missed: Callable[[Gpu, Sm, int], None]
sought: Callable[[Gpu, Sm, int, int, int], None]
evicted: Callable[[Gpu, Sm, int, int], None]
started: Callable[[Gpu, Sm, int], None]
ended: Callable[[Gpu, Sm, int], None]
waits: Callable[[Gpu, Sm, int, int], None]
completed: Callable[[Gpu, Sm, int, int], None]
resumed: Callable[[Gpu, Sm, int], None]
closed: Callable[[Gpu, Sm, int, int], None]
arrived: Callable[[Gpu, Sm, int], None]
opened: Callable[[Gpu, Sm, int], None]
promoted: Callable[[Gpu, Sm, int], None]
block_begins: Callable[[Gpu, Sm, int], None]
block_ends: Callable[[Gpu, Sm, int], None]
for _event in EVENTS:
    _text, _uses = event_text(_event)
    define(globals(), _event, _text, _uses, inline=True)

"""This module has the common part of all policies: a name, and the events that they hear of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from binalloc.emulator.state.device import define
from binalloc.rows import Parameter

EVENTS: dict[str, str] = {
    "issued": "g, s, w, pc",  # warp w has issued the instruction at word pc, which has executed
    "missed": "g, s, w",  # some of the lines `s.line[:s.lines]` that it has just asked for come at an unknown time
    "sought": "g, s, w, line, stored",  # its load has not found the line in L1, or (stored = 1) its store went to it
    "evicted": "g, s, line, owner",  # L1 has given up a line; owner: the warp slot that asked for it last
    "started": "g, s, w",  # the warp may issue from this cycle on: its block has been dispatched
    "ended": "g, s, w",  # it has issued its last instruction
    "waits": "g, s, w, boards",  # its next instruction waits for these scoreboards (bits), from this cycle on
    "completed": "g, s, w, board",  # every result that the scoreboard counted has come
    "resumed": "g, s, w",  # it no longer waits for scoreboards: its next instruction is ready
    "closed": "g, s, w, gate",  # it waits at the gate of that number from this cycle on
    "arrived": "g, s, w",  # it waits at a barrier
    "opened": "g, s, w",  # that barrier has opened
    "promoted": "g, s, w",  # the warp scheduler has made it one of those that it chooses from
    "block_begins": "g, s, slot",  # a block has been dispatched into the block slot, its warps have not started yet
    "block_ends": "g, s, slot",  # the last warp of the block in the slot has gone, and the slot is free
}
"""The events of the SM `s` that a policy can hear of, with the arguments of its listener. `w` is a warp slot.

In a cycle `completed`, `resumed` and `waits` come first, in an order that nobody may depend on, then `block_begins`
and `started`, oldest warp first, then each scheduler's turn with the events of its instruction. The last events of an
instruction are `sought`, `evicted`, `missed` and `issued`. The lines of an access that was held are looked for later,
and `sought` and `evicted` come then. Where `s.board_open[w, board]` is not 0, `waits` is for a result of memory that
comes at an unknown time."""


@dataclass(frozen=True)
class SmPolicy:
    """A policy is a row of a table from which users choose by name."""

    name: str  #: the name on the command line
    summary: str  #: for the help of the command line
    #: device functions by names of `EVENTS`; they are called where the policy is in force
    hears: Mapping[str, Callable[..., None]] = field(default_factory=dict, kw_only=True)
    #: what users may choose behind the name; each has a field in the device's record
    parameters: tuple[Parameter, ...] = field(default=(), kw_only=True)
    knows_batches: bool = field(default=False, kw_only=True)  #: whether what it does depends on batches of blocks

    def __post_init__(self) -> None:
        assert self.hears.keys() <= EVENTS.keys(), f"{self.name} handles an event that there is not"


def choice_text(name: str, arguments: str, field: str, count: int) -> str:
    """Return the text of the device function `name`, which calls the function of row number `g.FIELD`.

    The functions are called `_name0`, `_name1` and so on. The last one is called without a test of the number.
    """
    lines = [f"def {name}({arguments}):"]
    for number in range(count - 1):
        lines += [f"    if g.{field} == {number}:", f"        return _{name}{number}({arguments})"]
    return "\n".join([*lines, f"    return _{name}{count - 1}({arguments})", ""])


def define_choice(
    space: dict[str, object], name: str, arguments: str, field: str, functions: Sequence[Callable[..., object]],
    *, inline: bool = True,
) -> None:  # fmt: skip
    """Define the device function `name` in `space`. It calls the function of row number `g.FIELD`, one of `functions`.

    space: the globals of the module that has the table.
    """
    define(space, name, choice_text(name, arguments, field, len(functions)), numbered(name, functions), inline=inline)


def numbered(name: str, functions: Sequence[Callable[..., object]]) -> dict[str, Callable[..., object]]:
    """Return `functions` by the names that they have in the text of `choice_text`."""
    return {f"_{name}{number}": function for number, function in enumerate(functions)}

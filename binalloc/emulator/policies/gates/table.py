"""This module has the table of gates in front of issue, in the order in which warps pass them. A new one is a file in
this folder and a row here; its state of warps and its reason for lost issue slots follow from its position."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from binalloc.emulator.policies.gates.code import CODE
from binalloc.emulator.policies.gates.constants import CONSTANT
from binalloc.emulator.policies.gates.gate import Gate
from binalloc.emulator.policies.gates.lock import LOCK
from binalloc.emulator.state.counters import Stall
from binalloc.emulator.state.device import define
from binalloc.emulator.state.layout import GATES_AT_MOST, Warp
from binalloc.emulator.state.policy import numbered
from binalloc.rows import by_name

if TYPE_CHECKING:
    from binalloc.emulator.state.arrays import Cube, Grid
    from binalloc.emulator.state.records import Gpu, Sm
    from binalloc.models.machines.model import Machine

GATES: dict[str, Gate] = by_name((CODE, CONSTANT, LOCK))
assert len(GATES) <= GATES_AT_MOST
STALL_NAMES = (*Stall.names[: Stall.GATE], *GATES)
"""What results call the reasons for lost issue slots, by number."""

_ROWS = list(enumerate(GATES.values()))
BEHIND_BOARDS = sum(1 << number for number, row in _ROWS if not row.before)
"""The gates that come after the scoreboards, as bits."""


def gates_of(machine: Machine, pairs: int) -> int:
    """Return the value of `g.gates` for a run on a machine: a bit for each gate that it has.

    pairs: of blocks that share memory on an SM.
    """
    return sum(1 << number for number, row in _ROWS if row.stands(machine, pairs))


def _closed_text(name: str, before: bool) -> str:
    """Return the text of the device function that asks all gates on one side of the scoreboards.

    The function returns the number of the first closed gate, -1 if none is closed, and sets `s.closed_until`. A warp
    that waits at a gate has passed the gates before it.
    """
    lines = [f"def {name}(g, s, program, regs, w, pc):", f"    at = s.state[w] - {Warp.GATE}"]
    for number, row in _ROWS:
        if row.before == before:
            lines += [
                f"    if (g.gates >> {number}) & 1 and at <= {number}:",
                f"        s.closed_until = _closed{number}(g, s, program, regs, w, pc, 1 if at == {number} else 0)",
                f"        if s.closed_until:\n            return {number}",
            ]
    return "\n".join([*lines, "    return -1", ""])


def _pair_text() -> str:
    """Return the text of the device function that lets an instruction pass as the second of a pair, if it may."""
    arguments = "g, s, program, regs, w, pc"
    lines = [f"def can_pair({arguments}):"]
    for number, _ in _ROWS:
        asked = f"_lets_pair{number}({arguments})"
        lines += [f"    if (g.gates >> {number}) & 1 and {asked} == 0:", "        return 0"]
    for number, _ in _ROWS:
        lines += [f"    if (g.gates >> {number}) & 1:", f"        _passes{number}({arguments})"]
    return "\n".join([*lines, "    return 1", ""])


closed_before: Callable[[Gpu, Sm, Grid, Cube, int, int], int]
closed_behind: Callable[[Gpu, Sm, Grid, Cube, int, int], int]
can_pair: Callable[[Gpu, Sm, Grid, Cube, int, int], int]
_closed = numbered("closed", [row.closed for row in GATES.values()])
define(globals(), "closed_before", _closed_text("closed_before", before=True), _closed)
define(globals(), "closed_behind", _closed_text("closed_behind", before=False), _closed)
_pairs = numbered("lets_pair", [row.lets_pair for row in GATES.values()])
_pairs |= numbered("passes", [row.passes for row in GATES.values()])
define(globals(), "can_pair", _pair_text(), _pairs, apart=True)

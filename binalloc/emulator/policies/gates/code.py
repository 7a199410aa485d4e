"""This gate is the instruction cache: it must hold the word that a warp executes next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.memory.tagged import Awaits, code_line, is_there, look_up
from binalloc.emulator.policies.gates.gate import Gate
from binalloc.emulator.policies.knocks import UNTIL_CALLED
from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import Tagged

if TYPE_CHECKING:
    from binalloc.emulator.state.arrays import Cube, Grid
    from binalloc.emulator.state.records import Gpu, Sm


@device
def lacks_code(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, again: int) -> int:
    """Return 0 if the word at `pc` is there, else UNTIL_CALLED. A line that has come for a warp stays valid for this
    warp, even if the cache drops it."""
    if again and s.awaits[w] == Awaits.HERE:
        s.awaits[w] = 0
        return 0
    if look_up(g, s, w, Tagged.CODE, code_line(g, pc), again):
        s.awaits[w] = 0
        return 0
    return UNTIL_CALLED


@device
def has_code(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int) -> int:
    """Return 1 if the word at `pc` is there."""
    return is_there(g, s, w, Tagged.CODE, code_line(g, pc))


@device
def use_code(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int) -> None:
    """Count a use of the word at `pc`."""
    look_up(g, s, w, Tagged.CODE, code_line(g, pc), 0)


CODE = Gate(
    "instruction_fetch", "the nearest warp waits for its code, which the instruction cache lacks", "its code", True,
    lambda machine, pairs: machine.instruction_cache is not None and machine.instruction_cache.enabled,
    lacks_code, has_code, use_code,
)  # fmt: skip

"""This gate is the constant cache: it must hold the constant operand of an instruction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.memory.tagged import Awaits, is_there, look_up
from binalloc.emulator.policies.gates.gate import Gate
from binalloc.emulator.policies.knocks import UNTIL_CALLED
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import Column
from binalloc.emulator.state.memory_layout import Tagged

if TYPE_CHECKING:
    from binalloc.emulator.state.arrays import Cube, Grid
    from binalloc.emulator.state.records import Gpu, Sm


@device(inline=True)
def operand_line(g: Gpu, program: Grid, pc: int) -> int:
    """Return the line of the constant operand of the instruction at `pc`, -1 if it has none."""
    at = program[pc, Column.CONSTANT]
    return (at - 1) >> g.tagged_shift[Tagged.CONSTANTS] if at else -1


@device
def lacks_constant(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, again: int) -> int:
    """Return 0 if the line of the operand is there, else UNTIL_CALLED. A line that has come for a warp stays valid for
    this warp, even if the cache drops it."""
    line = operand_line(g, program, pc)
    if line < 0 or (again and s.awaits[w] == Awaits.HERE) or look_up(g, s, w, Tagged.CONSTANTS, line, again):
        s.awaits[w] = 0
        return 0
    return UNTIL_CALLED


@device
def has_constant(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int) -> int:
    """Return 1 if the operand's line is there, or the instruction has no constant operand."""
    line = operand_line(g, program, pc)
    return 1 if line < 0 else is_there(g, s, w, Tagged.CONSTANTS, line)


@device
def use_constant(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int) -> None:
    """Count a use of the operand's line."""
    line = operand_line(g, program, pc)
    if line >= 0:
        look_up(g, s, w, Tagged.CONSTANTS, line, 0)


CONSTANT = Gate(
    "constant", "the nearest warp waits for a constant operand, which the constant cache lacks", "a constant", False,
    lambda machine, pairs: machine.constant_cache is not None and machine.constant_cache.enabled,
    lacks_constant, has_constant, use_constant,
)  # fmt: skip

"""What stands between a warp that wakes and its turn, on a machine with an instruction cache or a constant cache: the
word that it executes next, the scoreboards that this waits for, the constant that it has as an operand, in this order.

Warps that wake in a cycle, and those for which something has come in it, *knock*; they are looked at together when all
else that is due has happened, scheduler by scheduler, in each in their order. So neither form of a cycle's bookkeeping
has a say in which of two misses comes first. What has come for a warp it keeps until it issues, whatever becomes of the
line. A warp that has had no room to ask knocks again after the next answer to that cache.
"""

from __future__ import annotations

from binalloc.emulator.memory.tagged import Awaits, code_line, is_there, look_up
from binalloc.emulator.sm.events import may_issue, set_state, wait_for_boards
from binalloc.emulator.state.arrays import Grid
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import Column, Entry, Warp
from binalloc.emulator.state.memory_layout import CODE_BIT, CONSTANTS_BIT, Tagged
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.scan import lowest_bit


@device
def operand_line(g: Gpu, program: Grid, pc: int) -> int:
    """The line of the constant that the instruction at `pc` has as an operand; -1 if it has none or all are there."""
    at = program[pc, Column.CONSTANT] if g.tagged & CONSTANTS_BIT else 0
    return (at - 1) >> g.tagged_shift[Tagged.CONSTANTS] if at else -1


@device
def wait_for_code(g: Gpu, s: Sm, w: int, pc: int) -> int:
    """1 if the word at `pc` is missing; the warp waits for it from now on."""
    if g.tagged & CODE_BIT == 0 or (s.state[w] == Warp.FETCH and s.awaits[w] == Awaits.HERE):
        return 0
    if look_up(g, s, w, Tagged.CODE, code_line(g, pc), 1 if s.state[w] == Warp.FETCH else 0):
        return 0
    set_state(g, s, w, Warp.FETCH)
    return 1


@device
def wait_for_constant(g: Gpu, s: Sm, w: int, line: int) -> int:
    """1 if the line of the next instruction's operand is missing; the warp waits for it from now on."""
    if line < 0 or (s.state[w] == Warp.CONSTANT and s.awaits[w] == Awaits.HERE):
        return 0
    if look_up(g, s, w, Tagged.CONSTANTS, line, 1 if s.state[w] == Warp.CONSTANT else 0):
        return 0
    set_state(g, s, w, Warp.CONSTANT)
    return 1


@device
def answer_knock(g: Gpu, s: Sm, program: Grid, w: int) -> None:
    """The warp goes on to the next thing that it waits for, or to its turn."""
    pc = s.stack[w, s.sp[w], Entry.PC]
    if s.state[w] != Warp.SCOREBOARD and s.state[w] != Warp.CONSTANT:
        if wait_for_code(g, s, w, pc):
            return
        s.awaits[w] = 0
        if wait_for_boards(g, s, program, w):
            return
    if wait_for_constant(g, s, w, operand_line(g, program, pc)):
        return
    s.awaits[w] = 0
    may_issue(g, s, program, w)


@device(apart=True)
def answer_knocks(g: Gpu, s: Sm, program: Grid) -> None:
    """Look at the warps that have knocked in this cycle."""
    for sch in range(g.schedulers):
        knocking = s.knocking[sch]
        s.knocking[sch] = 0
        while knocking:
            bit = lowest_bit(knocking)
            knocking &= knocking - 1
            answer_knock(g, s, program, bit * g.schedulers + sch)


@device(apart=True)
def can_pair(g: Gpu, s: Sm, program: Grid, w: int, pc: int) -> int:
    """Whether the instruction at `pc` can issue behind another one of the warp's: what it needs is there, and used."""
    line = operand_line(g, program, pc)
    if g.tagged & CODE_BIT and is_there(g, s, w, Tagged.CODE, code_line(g, pc)) == 0:
        return 0
    if line >= 0 and is_there(g, s, w, Tagged.CONSTANTS, line) == 0:
        return 0
    if g.tagged & CODE_BIT:
        look_up(g, s, w, Tagged.CODE, code_line(g, pc), 0)
    if line >= 0:
        look_up(g, s, w, Tagged.CONSTANTS, line, 0)
    return 1

"""Loads and stores of global memory whose lanes lie side by side: the commonest access there is, done as one.

All lanes execute, each has one word, and the words follow one another in one buffer. What comes of it is what
`execute.memory` and `memory.coalescing` say of any access; this is a shorter way to it.
"""

from __future__ import annotations

from binalloc.emulator.execute.counting import count_access
from binalloc.emulator.memory.coalescing import enter_line, policy_of, sectors_from
from binalloc.emulator.state.arrays import Cube, Grid, Words
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import FULL, LANES, RZ, WORD, Access, Column
from binalloc.emulator.state.memory_layout import LINE_SHIFT, LINE_WORDS
from binalloc.emulator.state.records import Gpu, Sm


@device
def side_by_side(g: Gpu, s: Sm, mask: int, size: int) -> int:
    """Whether every lane accesses an aligned word, and lane t that behind lane t - 1's."""
    if mask != FULL or size != WORD or g.lane_group != LANES or g.segments:
        return 0
    first = s.addr[0]
    wrong = first & (WORD - 1)
    for t in range(g.lanes):
        wrong |= s.addr[t] ^ (first + WORD * t)
    return 1 if wrong == 0 else 0


@device
def access_row(g: Gpu, s: Sm, program: Grid, regs: Cube, global_: Words, w: int, pc: int, buffer: int) -> int:
    """The access of the instruction at `pc`, whose lanes lie side by side and begin in that buffer; 0, and nothing
    done, if they do not end there."""
    if s.addr[LANES - 1] > g.buffer_end[buffer] - WORD:
        return 0
    access = program[pc, Column.ACCESS]
    count_access(s, Stat.USER_GLOBAL_LOADS + access, FULL, WORD)
    policy = policy_of(g, access, program[pc, Column.PAST])
    before = s.lines
    line = s.addr[0] >> LINE_SHIFT
    skipped = (s.addr[0] >> 2) & (LINE_WORDS - 1)
    enter_line(s, line, (FULL << skipped) & FULL, policy)
    if skipped:
        enter_line(s, line + 1, FULL >> (LINE_WORDS - skipped), policy)
    s.stat[Stat.GLOBAL_LOAD_SECTORS if access == Access.LOAD else Stat.GLOBAL_STORE_SECTORS] += sectors_from(s, before)
    s.passes += s.lines - before
    move_row(g, s, program, regs, global_, w, pc, (s.addr[0] - g.global_base) >> 2)
    return 1


@device
def move_row(g: Gpu, s: Sm, program: Grid, regs: Cube, memory: Words, w: int, pc: int, first: int) -> None:
    """The words from index `first` on into the destination, or the data register's there."""
    row = s.warp_base + w
    if program[pc, Column.ACCESS] == Access.STORE:
        data = program[pc, Column.DATA]
        for t in range(g.lanes):
            memory[first + t] = regs[row, data, t]
    elif program[pc, Column.RD] != RZ:
        rd = program[pc, Column.RD]
        for t in range(g.lanes):
            regs[row, rd, t] = memory[first + t]

"""Loads and stores of a word in every lane whose addresses have one stride are the most frequent accesses. They are
done as one here, without an address for each lane.

The effect is the one that `execute.memory`, `memory.banks` and `memory.coalescing` define for any access; this is a
faster path. All that is of another form, or may be a fault, is left to them.
"""

from __future__ import annotations

from binalloc.emulator.execute.addresses import reach
from binalloc.emulator.execute.bounds import moved_by
from binalloc.emulator.execute.counting import count_access
from binalloc.emulator.execute.operands import first_row
from binalloc.emulator.memory.banks import count_passes, strided
from binalloc.emulator.memory.coalescing import even_lines, policy_of, sectors_at, sectors_from
from binalloc.emulator.memory.l1 import make_access
from binalloc.emulator.memory.lanes import address_of
from binalloc.emulator.state.arrays import Grid, Words
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import FULL, LANES, RZ, SLOT_ROW, WORD, AccessCode, Column, SpaceCode
from binalloc.emulator.state.modes import CHECKING
from binalloc.emulator.state.records import Gpu, Sm


@device(inline=True)
def access_row(
    g: Gpu, s: Sm, program: Grid, rows: Grid, global_: Words, shared: Grid, w: int, pc: int
) -> int:
    """Do the access of the instruction at `pc` by all lanes, or return 0 without effect if it is of another form."""
    if program[pc, Column.SIZE] != WORD or program[pc, Column.ACCESS] == AccessCode.ATOMIC:
        return 0
    if CHECKING and (g.check or g.race):
        return 0  # these checks need addresses lane by lane
    space = program[pc, Column.SPACE]
    if space == SpaceCode.SHARED:
        return shared_row(g, s, program, rows, shared, w, pc)
    if space == SpaceCode.GLOBAL or space == SpaceCode.GENERIC:
        return global_row(g, s, program, rows, global_, w, pc)
    return 0


@device(inline=True)
def fits(s: Sm, program: Grid, pc: int, start: int, step: int, low: int, last: int) -> int:
    """Return 1 if words from `start` on at that stride are aligned and inside, and can be moved at once, else 0. In the
    first case the numbers are kept in the SM record."""
    end = start + step * (LANES - 1)
    if (start | step) & (WORD - 1) or min(start, end) < low or max(start, end) > last:
        return 0
    if step != WORD and program[pc, Column.ACCESS] == AccessCode.STORE:
        return 0
    s.passes = 0
    s.done_at = 0
    s.lines = 0
    s.even = 1
    s.origin = start
    s.step = step
    return 1


@device(apart=True)
def shared_row(g: Gpu, s: Sm, program: Grid, rows: Grid, shared: Grid, w: int, pc: int) -> int:
    """Do `access_row` in the block's shared memory, or in the warp's slots."""
    row = first_row(s, w) + program[pc, Column.A_REG]
    offset = program[pc, Column.OFFSET]
    start = address_of(rows, row, row, 0, offset, 0)
    step = address_of(rows, row, row, 0, offset, 1) - start
    uneven = 0
    expected = start
    for t in range(g.lanes):
        uneven |= address_of(rows, row, row, 0, offset, t) ^ expected
        expected += step
    if uneven or g.shared_banks != LANES:
        return 0
    low, last = reach(g, s, program, w, pc, start)
    spill = program[pc, Column.SPILL]
    if g.pairs and s.released[w]:
        return 0
    if spill and (step != WORD or (start - low) & (SLOT_ROW - 1)):
        return 0
    if fits(s, program, pc, start, step, low, last) == 0:
        return 0
    first = Stat.SPILL_SHARED_LOADS if spill else Stat.USER_SHARED_LOADS
    count_access(s, first + program[pc, Column.ACCESS], FULL, WORD)
    count_passes(g, s, FULL, 1, strided(g, s, 1), g.shared_latency)
    first = s.shared_first[s.block_of[w]]
    if s.apart[s.block_of[w]]:
        first += moved_by(g, s, w, spill, start) >> 2
    move_row(g, s, program, rows, shared[s.id], w, pc, -(first << 2))
    return 1


@device(apart=True)
def global_row(g: Gpu, s: Sm, program: Grid, rows: Grid, global_: Words, w: int, pc: int) -> int:
    """Do `access_row` in a buffer. The lanes have one address there, or are contiguous."""
    row = first_row(s, w) + program[pc, Column.A_REG]
    upper = row + 1 if program[pc, Column.A_REG] < RZ else row
    offset = program[pc, Column.OFFSET]
    start = address_of(rows, row, upper, 1, offset, 0)
    step = address_of(rows, row, upper, 1, offset, 1) - start
    if (step != 0 and step != WORD) or g.lane_group != LANES or g.segments:
        return 0
    uneven = 0
    expected = start
    for t in range(g.lanes):
        uneven |= address_of(rows, row, upper, 1, offset, t) ^ expected
        expected += step
    if uneven:
        return 0
    low, last = reach(g, s, program, w, pc, start)
    if fits(s, program, pc, start, step, low, last) == 0:
        return 0
    access = program[pc, Column.ACCESS]
    count_access(s, Stat.USER_GLOBAL_LOADS + access, FULL, WORD)
    even_lines(s, FULL, 1, policy_of(g, access, program[pc, Column.PAST]))
    s.stat[sectors_at(access)] += sectors_from(s, 0)
    s.passes = s.lines
    move_row(g, s, program, rows, global_, w, pc, g.global_base)
    make_access(g, s, w)
    return 1


@device(inline=True)
def move_row(g: Gpu, s: Sm, program: Grid, rows: Grid, memory: Words, w: int, pc: int, base: int) -> None:
    """Copy the words of a memory that begins at address `base` to the destination, or the data register to them. Words
    that are stored are contiguous."""
    row = first_row(s, w)
    first = (s.origin - base) >> 2
    if program[pc, Column.ACCESS] == AccessCode.STORE:
        row += program[pc, Column.DATA]
        for t in range(g.lanes):
            memory[first + t] = rows[row, t]
    elif program[pc, Column.RD] != RZ:
        row += program[pc, Column.RD]
        hop = s.step >> 2
        if hop == 0:
            word = int(memory[first])
            for t in range(g.lanes):
                rows[row, t] = word
        else:
            for t in range(g.lanes):
                rows[row, t] = memory[first + hop * t]

"""The functions here stage the operands of a warp's lanes and write results back, for the operations of all groups.

Most operations work on *rows*, arrays of a word for every lane: registers, values that staging has laid out as rows,
and a few rows for results and for operands with sign modifiers. Operations of the whole warp and of memory have their
operands staged into fixed arrays of the SM record (`a ah b bh c ch`) and leave results in `d dh`. The loops over lanes
have their trip count in the state and no branch on the mask, so that they vectorise. Only write-back looks at the mask.
"""

from __future__ import annotations

from binalloc.emulator.arithmetic.integer import bool_op
from binalloc.emulator.state.arrays import Cube, Grid, Words
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import (
    FULL,
    PT,
    REGISTER_ROWS,
    RESULT_ROW,
    RZ,
    SIGNED_ROWS_A,
    SIGNED_ROWS_B,
    SIGNED_ROWS_C,
    Column,
)
from binalloc.emulator.state.records import Gpu, Sm


@device(inline=True)
def fill(g: Gpu, target: Words, regs: Cube, row: int, reg: int, value: int, keep: int, flip: int) -> None:
    """Stage one operand word of every lane: register `reg` of warp `row`, or `value` where reg < 0. Then apply sign
    modifiers."""
    if reg >= 0:
        if keep == FULL and flip == 0:
            for t in range(g.lanes):
                target[t] = int(regs[row, reg, t])
        else:
            for t in range(g.lanes):
                target[t] = (int(regs[row, reg, t]) & keep) ^ flip
    else:
        word = (value & keep) ^ flip
        for t in range(g.lanes):
            target[t] = word


@device(inline=True)
def stage(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int) -> None:
    """Stage the operands A, B, C of the instruction at `pc`. Sign modifiers of floats act on the highest word."""
    row = s.warp_base + w
    units = program[pc, Column.A_UNITS]
    if units == 1:
        fill(g, s.a, regs, row, program[pc, Column.A_REG], 0, program[pc, Column.A_AND], program[pc, Column.A_XOR])
    elif units == 2:
        stage_pair(
            g, s.a, s.ah, regs, row, program[pc, Column.A_REG], 0, 0,
            program[pc, Column.A_AND], program[pc, Column.A_XOR],
        )  # fmt: skip
    units = program[pc, Column.B_UNITS]
    if units == 1:
        fill(
            g, s.b, regs, row, program[pc, Column.B_REG], program[pc, Column.B_LO],
            program[pc, Column.B_AND], program[pc, Column.B_XOR],
        )  # fmt: skip
    elif units == 2:
        stage_pair(
            g, s.b, s.bh, regs, row, program[pc, Column.B_REG], program[pc, Column.B_LO], program[pc, Column.B_HI],
            program[pc, Column.B_AND], program[pc, Column.B_XOR],
        )  # fmt: skip
    units = program[pc, Column.C_UNITS]
    if units == 1:
        fill(
            g, s.c, regs, row, program[pc, Column.C_REG], program[pc, Column.C_LO],
            program[pc, Column.C_AND], program[pc, Column.C_XOR],
        )  # fmt: skip
    elif units == 2:
        stage_pair(
            g, s.c, s.ch, regs, row, program[pc, Column.C_REG], program[pc, Column.C_LO], program[pc, Column.C_HI],
            program[pc, Column.C_AND], program[pc, Column.C_XOR],
        )  # fmt: skip


@device
def stage_pair(
    g: Gpu, low: Words, high: Words, regs: Cube, row: int, reg: int, lo: int, hi: int, keep: int, flip: int
) -> None:
    """Stage an operand of two words. RZ stands for a pair of zeros."""
    fill(g, low, regs, row, reg, lo, FULL, 0)
    fill(g, high, regs, row, reg + 1 if 0 <= reg < RZ else reg, hi, keep, flip)


@device(inline=True)
def write_word(g: Gpu, source: Words, regs: Cube, row: int, reg: int, mask: int) -> None:
    """Write the staged result to lanes `mask` of register `reg`."""
    if reg == RZ:
        return
    if mask == FULL:
        for t in range(g.lanes):
            regs[row, reg, t] = source[t]
    else:
        for t in range(g.lanes):
            take = -((mask >> t) & 1)
            regs[row, reg, t] = (source[t] & take) | (int(regs[row, reg, t]) & ~take)


@device(inline=True)
def write_back(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, mask: int) -> None:
    """Write the results `d` (and `dh`) to the destination register or pair."""
    rd = program[pc, Column.RD]
    row = s.warp_base + w
    write_word(g, s.d, regs, row, rd, mask)
    if program[pc, Column.RD_UNITS] == 2 and rd != RZ:
        write_word(g, s.dh, regs, row, rd + 1, mask)


@device
def write_predicate(s: Sm, w: int, p: int, bits: int, mask: int) -> None:
    """Write `bits` to lanes `mask` of predicate `p`."""
    if p != PT:
        s.pred[w, p] = (s.pred[w, p] & ~mask) | (bits & mask)


@device
def write_comparisons(g: Gpu, s: Sm, program: Grid, w: int, pc: int, bits: int, others: int, mask: int) -> None:
    """Write pd0 = r bop ps0 for the comparison results `bits`, and pd1 likewise for `others`, all lanes at once."""
    p = s.pred[w, program[pc, Column.PS0]] ^ program[pc, Column.PS0_XOR]
    bop = program[pc, Column.BOP]
    write_predicate(s, w, program[pc, Column.PD0], bool_op(bits, p, bop), mask)
    write_predicate(s, w, program[pc, Column.PD1], bool_op(others, p, bop), mask)


# -- rows: where most operations find their operands and leave their results ------------------------------------------


@device(inline=True)
def first_row(s: Sm, w: int) -> int:
    """Return the row of the warp's R0."""
    return s.row_base + w * REGISTER_ROWS


@device(apart=True)
def stage_signs(g: Gpu, program: Grid, rows: Grid, pc: int, a: int, b: int, c: int) -> None:
    """Copy the operands at rows `a b c`, with their sign modifiers applied, to the rows for signed operands."""
    sign_row(
        g, rows, SIGNED_ROWS_A, a, program[pc, Column.A_UNITS], program[pc, Column.A_AND], program[pc, Column.A_XOR]
    )
    sign_row(
        g, rows, SIGNED_ROWS_B, b, program[pc, Column.B_UNITS], program[pc, Column.B_AND], program[pc, Column.B_XOR]
    )
    sign_row(
        g, rows, SIGNED_ROWS_C, c, program[pc, Column.C_UNITS], program[pc, Column.C_AND], program[pc, Column.C_XOR]
    )


@device
def sign_row(g: Gpu, rows: Grid, target: int, source: int, units: int, keep: int, flip: int) -> None:
    """Copy an operand of `units` words and apply the modifiers to its highest word."""
    if units == 0:
        return
    if units == 2:
        for t in range(g.lanes):
            rows[target, t] = rows[source, t]
    high = units - 1
    for t in range(g.lanes):
        rows[target + high, t] = (int(rows[source + high, t]) & keep) ^ flip


@device
def write_rows(g: Gpu, program: Grid, rows: Grid, pc: int, base: int, mask: int) -> None:
    """Write the result, from the result rows, to lanes `mask` of the destination register or pair."""
    rd = program[pc, Column.RD]
    if rd == RZ:
        return
    write_row(g, rows, RESULT_ROW, base + rd, mask)
    if program[pc, Column.RD_UNITS] == 2:
        write_row(g, rows, RESULT_ROW + 1, base + rd + 1, mask)


@device(inline=True)
def write_row(g: Gpu, rows: Grid, source: int, target: int, mask: int) -> None:
    """Copy lanes `mask` of row `source` to row `target`."""
    if mask == FULL:
        for t in range(g.lanes):
            rows[target, t] = rows[source, t]
    else:
        for t in range(g.lanes):
            take = -((mask >> t) & 1)
            rows[target, t] = (int(rows[source, t]) & take) | (int(rows[target, t]) & ~take)


@device
def carries(g: Gpu, s: Sm, least: int) -> int:
    """Return the bit mask of the lanes whose sum in `d` carries at least `least`."""
    bits = 0
    for t in range(g.lanes):
        bits |= (1 if (s.d[t] >> 32) >= least else 0) << t
    return bits


@device
def finish_sum(
    g: Gpu, s: Sm, program: Grid, rows: Grid, w: int, pc: int, row: int, mask: int, both: int
) -> None:
    """Write the sums in `d`: carries to the predicate destinations, the rest, cut to 32 bits, to `row`."""
    if program[pc, Column.PD0] != PT:
        write_predicate(s, w, program[pc, Column.PD0], carries(g, s, 1), mask)
    if both and program[pc, Column.PD1] != PT:
        write_predicate(s, w, program[pc, Column.PD1], carries(g, s, 2), mask)
    for t in range(g.lanes):
        rows[row, t] = s.d[t] & FULL


@device
def write_nonzero(g: Gpu, s: Sm, program: Grid, rows: Grid, w: int, pc: int, row: int, mask: int) -> None:
    """Write whether the words in `row` are not zero to the predicate destination, if there is one."""
    if program[pc, Column.PD0] != PT:
        bits = 0
        for t in range(g.lanes):
            bits |= (1 if rows[row, t] != 0 else 0) << t
        write_predicate(s, w, program[pc, Column.PD0], bits, mask)


@device
def lane_predicates(s: Sm, w: int, t: int) -> int:
    """Return P0..P6 of lane t as the bits of a word."""
    bits = 0
    for p in range(PT):
        bits |= ((s.pred[w, p] >> t) & 1) << p
    return bits

"""Integer, predicate and move instructions over the lanes of a warp; staging and write-back for all groups.

Operands are staged into fixed arrays of the SM record (`a ah b bh c ch`), results are left in `d dh`; the loops over
lanes have their trip count in the state and no branch on the mask, so that they vectorise. Only write-back looks at
the mask."""

from __future__ import annotations

from typing import Any

from binalloc.emulator.arithmetic.integer import (
    bool_op,
    brev,
    flo,
    iabs,
    iadd3,
    icompare,
    imad,
    imad_hi,
    imad_wide,
    imnmx,
    lea,
    lea_hi,
    lop3,
    p2r,
    plop3,
    popc,
    prmt,
    shf,
)
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import (
    C_A_AND,
    C_A_REG,
    C_A_UNITS,
    C_A_XOR,
    C_B_AND,
    C_B_HI,
    C_B_LO,
    C_B_REG,
    C_B_UNITS,
    C_B_XOR,
    C_C_AND,
    C_C_HI,
    C_C_LO,
    C_C_REG,
    C_C_UNITS,
    C_C_XOR,
    C_OP,
    C_PS0_XOR,
    C_PS1_XOR,
    C_PS2_XOR,
    C_RD,
    C_RD_UNITS,
    F_BOP,
    F_DIR,
    F_EX,
    F_HI,
    F_ICMP,
    F_LUT,
    F_LUT2,
    F_LUT_B,
    F_NEGA,
    F_NEGB,
    F_NEGC,
    F_PD0,
    F_PD1,
    F_PMASK,
    F_PRMT,
    F_PS0,
    F_PS1,
    F_PS2,
    F_SH,
    F_SHIFT,
    F_STYPE,
    F_U32,
    F_U32CMP,
    F_WRAP,
    F_X,
    FULL,
    OP_BREV,
    OP_FLO,
    OP_IABS,
    OP_IADD3,
    OP_IMAD,
    OP_IMAD_HI,
    OP_IMAD_WIDE,
    OP_IMNMX,
    OP_ISETP,
    OP_LEA,
    OP_LEA_HI,
    OP_LOP3,
    OP_MOV,
    OP_P2R,
    OP_PLOP3,
    OP_POPC,
    OP_PRMT,
    OP_R2P,
    OP_SEL,
    OP_SHF,
    PT,
    RZ,
)


@device(inline=True)
def fill(g: Any, target: Any, regs: Any, row: int, reg: int, value: int, keep: int, flip: int) -> None:
    """One operand word of every lane: register `reg` of warp `row`, or `value` where reg < 0; then sign modifiers."""
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
def stage(g: Any, s: Any, program: Any, regs: Any, w: int, pc: int) -> None:
    """Stage the operands A, B, C of the instruction at `pc`. Sign modifiers of floats act on the highest word."""
    row = s.warp_base + w
    units = program[pc, C_A_UNITS]
    if units == 1:
        fill(g, s.a, regs, row, program[pc, C_A_REG], 0, program[pc, C_A_AND], program[pc, C_A_XOR])
    elif units == 2:
        stage_pair(g, s.a, s.ah, regs, row, program[pc, C_A_REG], 0, 0, program[pc, C_A_AND], program[pc, C_A_XOR])
    units = program[pc, C_B_UNITS]
    if units == 1:
        fill(g, s.b, regs, row, program[pc, C_B_REG], program[pc, C_B_LO], program[pc, C_B_AND], program[pc, C_B_XOR])
    elif units == 2:
        stage_pair(
            g, s.b, s.bh, regs, row, program[pc, C_B_REG], program[pc, C_B_LO], program[pc, C_B_HI],
            program[pc, C_B_AND], program[pc, C_B_XOR],
        )  # fmt: skip
    units = program[pc, C_C_UNITS]
    if units == 1:
        fill(g, s.c, regs, row, program[pc, C_C_REG], program[pc, C_C_LO], program[pc, C_C_AND], program[pc, C_C_XOR])
    elif units == 2:
        stage_pair(
            g, s.c, s.ch, regs, row, program[pc, C_C_REG], program[pc, C_C_LO], program[pc, C_C_HI],
            program[pc, C_C_AND], program[pc, C_C_XOR],
        )  # fmt: skip


@device
def stage_pair(
    g: Any, low: Any, high: Any, regs: Any, row: int, reg: int, lo: int, hi: int, keep: int, flip: int
) -> None:
    """An operand of two words; RZ stands for a pair of zeros."""
    fill(g, low, regs, row, reg, lo, FULL, 0)
    fill(g, high, regs, row, reg + 1 if 0 <= reg < RZ else reg, hi, keep, flip)


@device(inline=True)
def write_word(g: Any, source: Any, regs: Any, row: int, reg: int, mask: int) -> None:
    """Lanes `mask` of register `reg` take the staged result."""
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
def write_back(g: Any, s: Any, program: Any, regs: Any, w: int, pc: int, mask: int) -> None:
    """The results `d` (and `dh`) into the destination register or pair."""
    rd = program[pc, C_RD]
    row = s.warp_base + w
    write_word(g, s.d, regs, row, rd, mask)
    if program[pc, C_RD_UNITS] == 2 and rd != RZ:
        write_word(g, s.dh, regs, row, rd + 1, mask)


@device
def write_predicate(s: Any, w: int, p: int, bits: int, mask: int) -> None:
    """Lanes `mask` of predicate `p` take `bits`."""
    if p != PT:
        s.pred[w, p] = (s.pred[w, p] & ~mask) | (bits & mask)


@device
def write_comparison(g: Any, s: Any, program: Any, w: int, pc: int, bits: int, mask: int) -> None:
    """pd0 = r bop ps0, pd1 = !r bop ps0 for the comparison results `bits`, all lanes at once."""
    p = s.pred[w, program[pc, F_PS0]] ^ program[pc, C_PS0_XOR]
    bop = program[pc, F_BOP]
    write_predicate(s, w, program[pc, F_PD0], bool_op(bits, p, bop), mask)
    write_predicate(s, w, program[pc, F_PD1], bool_op(bits ^ FULL, p, bop), mask)


@device
def carries(g: Any, s: Any, least: int) -> int:
    """Bit mask of the lanes whose sum in `d` carries at least `least`."""
    bits = 0
    for t in range(g.lanes):
        bits |= (1 if (s.d[t] >> 32) >= least else 0) << t
    return bits


@device
def finish_sum(g: Any, s: Any, program: Any, w: int, pc: int, mask: int, both: int) -> None:
    """Sums in `d`: carries into the predicate destinations, then cut to 32 bits."""
    if program[pc, F_PD0] != PT:
        write_predicate(s, w, program[pc, F_PD0], carries(g, s, 1), mask)
    if both and program[pc, F_PD1] != PT:
        write_predicate(s, w, program[pc, F_PD1], carries(g, s, 2), mask)
    for t in range(g.lanes):
        s.d[t] &= FULL


@device
def exec_sum(g: Any, s: Any, program: Any, w: int, pc: int, mask: int) -> None:
    """IADD3, LEA, LEA.HI."""
    op = program[pc, C_OP]
    x = program[pc, F_X]
    p = s.pred[w, program[pc, F_PS0]] ^ program[pc, C_PS0_XOR]
    if op == OP_IADD3:
        na, nb, nc = program[pc, F_NEGA], program[pc, F_NEGB], program[pc, F_NEGC]
        q = s.pred[w, program[pc, F_PS1]] ^ program[pc, C_PS1_XOR]
        for t in range(g.lanes):
            s.d[t] = iadd3(s.a[t], s.b[t], s.c[t], na, nb, nc, x, (p >> t) & 1, (q >> t) & 1)
    elif op == OP_LEA:
        na, shift = program[pc, F_NEGA], program[pc, F_SHIFT]
        for t in range(g.lanes):
            s.d[t] = lea(s.a[t], s.b[t], shift, na, x, (p >> t) & 1)
    else:
        shift = program[pc, F_SHIFT]
        for t in range(g.lanes):
            s.d[t] = lea_hi(s.a[t], s.b[t], s.c[t], shift, x, (p >> t) & 1)
    finish_sum(g, s, program, w, pc, mask, 1 if op == OP_IADD3 else 0)


@device
def exec_compare(g: Any, s: Any, program: Any, w: int, pc: int, mask: int) -> None:
    """ISETP."""
    icmp, u32, ex = program[pc, F_ICMP], program[pc, F_U32CMP], program[pc, F_EX]
    q = s.pred[w, program[pc, F_PS1]] ^ program[pc, C_PS1_XOR]
    bits = 0
    for t in range(g.lanes):
        bits |= icompare(s.a[t], s.b[t], icmp, u32, ex, (q >> t) & 1) << t
    write_comparison(g, s, program, w, pc, bits, mask)


@device
def exec_int(g: Any, s: Any, program: Any, regs: Any, w: int, pc: int, mask: int) -> None:
    """All integer opcodes."""
    op = program[pc, C_OP]
    if op == OP_ISETP:
        exec_compare(g, s, program, w, pc, mask)
        return
    if op == OP_IADD3 or op == OP_LEA or op == OP_LEA_HI:
        exec_sum(g, s, program, w, pc, mask)
    elif op == OP_IMAD:
        n = program[pc, F_NEGC]
        for t in range(g.lanes):
            s.d[t] = imad(s.a[t], s.b[t], s.c[t], n)
    elif op == OP_MOV:
        for t in range(g.lanes):
            s.d[t] = s.b[t]
    elif op == OP_LOP3:
        lut = program[pc, F_LUT]
        for t in range(g.lanes):
            s.d[t] = lop3(s.a[t], s.b[t], s.c[t], lut)
        if program[pc, F_PD0] != PT:
            bits = 0
            for t in range(g.lanes):
                bits |= (1 if s.d[t] != 0 else 0) << t
            write_predicate(s, w, program[pc, F_PD0], bits, mask)
    elif op == OP_SHF:
        right, kind, hi, wrap = program[pc, F_DIR], program[pc, F_STYPE], program[pc, F_HI], program[pc, F_WRAP]
        for t in range(g.lanes):
            s.d[t] = shf(s.a[t], s.b[t], s.c[t], right, kind, hi, wrap)
    elif op == OP_IMAD_WIDE:
        u = program[pc, F_U32]
        for t in range(g.lanes):
            s.d[t], s.dh[t] = imad_wide(s.a[t], s.b[t], s.c[t], s.ch[t], u)
    elif op == OP_IMAD_HI:
        u = program[pc, F_U32]
        for t in range(g.lanes):
            s.d[t] = imad_hi(s.a[t], s.b[t], s.c[t], u)
    else:
        exec_int_rare(g, s, program, w, pc)
    write_back(g, s, program, regs, w, pc, mask)


@device
def exec_int_rare(g: Any, s: Any, program: Any, w: int, pc: int) -> None:
    """The integer opcodes apart from sums, products, shifts and logic."""
    op = program[pc, C_OP]
    if op == OP_SEL:
        p = s.pred[w, program[pc, F_PS0]] ^ program[pc, C_PS0_XOR]
        for t in range(g.lanes):
            s.d[t] = s.a[t] if (p >> t) & 1 else s.b[t]
    elif op == OP_IMNMX:
        p = s.pred[w, program[pc, F_PS0]] ^ program[pc, C_PS0_XOR]
        u = program[pc, F_U32]
        for t in range(g.lanes):
            s.d[t] = imnmx(s.a[t], s.b[t], (p >> t) & 1, u)
    elif op == OP_POPC:
        for t in range(g.lanes):
            s.d[t] = popc(s.b[t])
    elif op == OP_FLO:
        u, sh = program[pc, F_U32], program[pc, F_SH]
        for t in range(g.lanes):
            s.d[t] = flo(s.b[t], u, sh)
    elif op == OP_BREV:
        for t in range(g.lanes):
            s.d[t] = brev(s.b[t])
    elif op == OP_PRMT:
        mode = program[pc, F_PRMT]
        for t in range(g.lanes):
            s.d[t] = prmt(s.a[t], s.b[t], s.c[t], mode)
    elif op == OP_IABS:
        for t in range(g.lanes):
            s.d[t] = iabs(s.b[t])


@device
def lane_predicates(s: Any, w: int, t: int) -> int:
    """P0..P6 of lane t as the bits of a word."""
    bits = 0
    for p in range(PT):
        bits |= ((s.pred[w, p] >> t) & 1) << p
    return bits


@device
def exec_pred(g: Any, s: Any, program: Any, regs: Any, w: int, pc: int, mask: int) -> None:
    """PLOP3, P2R, R2P."""
    op = program[pc, C_OP]
    if op == OP_PLOP3:
        p = s.pred[w, program[pc, F_PS0]] ^ program[pc, C_PS0_XOR]
        q = s.pred[w, program[pc, F_PS1]] ^ program[pc, C_PS1_XOR]
        r = s.pred[w, program[pc, F_PS2]] ^ program[pc, C_PS2_XOR]
        first = 0
        second = 0
        for t in range(g.lanes):
            first |= plop3((p >> t) & 1, (q >> t) & 1, (r >> t) & 1, program[pc, F_LUT_B]) << t
            second |= plop3((p >> t) & 1, (q >> t) & 1, (r >> t) & 1, program[pc, F_LUT2]) << t
        write_predicate(s, w, program[pc, F_PD0], first, mask)
        write_predicate(s, w, program[pc, F_PD1], second, mask)
    elif op == OP_P2R:
        for t in range(g.lanes):
            s.d[t] = p2r(s.a[t], lane_predicates(s, w, t), program[pc, F_PMASK])
        write_back(g, s, program, regs, w, pc, mask)
    elif op == OP_R2P:
        for p in range(PT):
            if (program[pc, F_PMASK] >> p) & 1:
                bits = 0
                for t in range(g.lanes):
                    bits |= ((s.a[t] >> p) & 1) << t
                write_predicate(s, w, p, bits, mask)

"""f32, f64 and conversion instructions over the lanes of a warp (operands staged by `alu`)."""

from __future__ import annotations

from typing import Any

from binalloc.emulator.arithmetic.conversion import f2f, f2i, frnd, i2f
from binalloc.emulator.arithmetic.float32 import fadd, fadd_rn, fcompare, ffma, ffma_rn, fmnmx, fmul, fmul_rn
from binalloc.emulator.arithmetic.float64 import dadd, dadd_rn, dcompare, dfma, dfma_rn, dmnmx, dmul, dmul_rn
from binalloc.emulator.arithmetic.mufu import mufu
from binalloc.emulator.execute.alu import write_back, write_comparison
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import (
    C_OP,
    C_PS0_XOR,
    F_FCMP,
    F_FTYP,
    F_FTYP_D,
    F_FTYP_S,
    F_FTZ,
    F_FUNC,
    F_ITYP,
    F_PS0,
    F_RND,
    F_RND2,
    F_SAT,
    OP_DADD,
    OP_DFMA,
    OP_DMNMX,
    OP_DMUL,
    OP_DSETP,
    OP_F2F,
    OP_F2I,
    OP_FADD,
    OP_FFMA,
    OP_FMNMX,
    OP_FMUL,
    OP_FRND,
    OP_FSETP,
    OP_I2F,
    OP_MUFU,
)


@device
def exec_f32(g: Any, s: Any, program: Any, regs: Any, w: int, pc: int, mask: int) -> None:
    """All f32 opcodes."""
    op = program[pc, C_OP]
    if op == OP_FSETP:
        fcmp, ftz = program[pc, F_FCMP], program[pc, F_FTZ]
        bits = 0
        for t in range(g.lanes):
            bits |= (1 if fcompare(s.a[t], s.b[t], fcmp, ftz) else 0) << t
        write_comparison(g, s, program, w, pc, bits, mask)
        return
    if op == OP_FADD or op == OP_FMUL or op == OP_FFMA:
        if program[pc, F_RND] == 0 and program[pc, F_FTZ] == 0 and program[pc, F_SAT] == 0:
            exec_f32_plain(g, s, op)
        else:
            exec_f32_modes(g, s, op, program[pc, F_RND], program[pc, F_FTZ], program[pc, F_SAT])
    elif op == OP_FMNMX:
        p = s.pred[w, program[pc, F_PS0]] ^ program[pc, C_PS0_XOR]
        ftz = program[pc, F_FTZ]
        for t in range(g.lanes):
            s.d[t] = fmnmx(s.a[t], s.b[t], (p >> t) & 1, ftz)
    elif op == OP_MUFU:
        func = program[pc, F_FUNC]
        for t in range(g.lanes):
            if (mask >> t) & 1:
                s.d[t] = mufu(s.b[t], func)
    write_back(g, s, program, regs, w, pc, mask)


@device
def exec_f32_plain(g: Any, s: Any, op: int) -> None:
    """FADD, FMUL, FFMA to nearest without modifiers."""
    if op == OP_FADD:
        for t in range(g.lanes):
            s.d[t] = fadd_rn(s.a[t], s.b[t])
    elif op == OP_FMUL:
        for t in range(g.lanes):
            s.d[t] = fmul_rn(s.a[t], s.b[t])
    else:
        for t in range(g.lanes):
            s.d[t] = ffma_rn(s.a[t], s.b[t], s.c[t])


@device
def exec_f32_modes(g: Any, s: Any, op: int, rnd: int, ftz: int, sat: int) -> None:
    """FADD, FMUL, FFMA with any modifiers."""
    for t in range(g.lanes):
        if op == OP_FADD:
            s.d[t] = fadd(s.a[t], s.b[t], rnd, ftz, sat)
        elif op == OP_FMUL:
            s.d[t] = fmul(s.a[t], s.b[t], rnd, ftz, sat)
        else:
            s.d[t] = ffma(s.a[t], s.b[t], s.c[t], rnd, ftz, sat)


@device
def exec_f64(g: Any, s: Any, program: Any, regs: Any, w: int, pc: int, mask: int) -> None:
    """All f64 opcodes."""
    op = program[pc, C_OP]
    if op == OP_DSETP:
        fcmp = program[pc, F_FCMP]
        bits = 0
        for t in range(g.lanes):
            bits |= (1 if dcompare(s.a[t], s.ah[t], s.b[t], s.bh[t], fcmp) else 0) << t
        write_comparison(g, s, program, w, pc, bits, mask)
        return
    if op == OP_DMNMX:
        p = s.pred[w, program[pc, F_PS0]] ^ program[pc, C_PS0_XOR]
        for t in range(g.lanes):
            s.d[t], s.dh[t] = dmnmx(s.a[t], s.ah[t], s.b[t], s.bh[t], (p >> t) & 1)
    elif program[pc, F_RND] == 0:
        exec_f64_plain(g, s, op)
    else:
        exec_f64_modes(g, s, op, program[pc, F_RND])
    write_back(g, s, program, regs, w, pc, mask)


@device
def exec_f64_plain(g: Any, s: Any, op: int) -> None:
    """DADD, DMUL, DFMA to nearest."""
    if op == OP_DADD:
        for t in range(g.lanes):
            s.d[t], s.dh[t] = dadd_rn(s.a[t], s.ah[t], s.b[t], s.bh[t])
    elif op == OP_DMUL:
        for t in range(g.lanes):
            s.d[t], s.dh[t] = dmul_rn(s.a[t], s.ah[t], s.b[t], s.bh[t])
    elif op == OP_DFMA:
        for t in range(g.lanes):
            s.d[t], s.dh[t] = dfma_rn(s.a[t], s.ah[t], s.b[t], s.bh[t], s.c[t], s.ch[t])


@device
def exec_f64_modes(g: Any, s: Any, op: int, rnd: int) -> None:
    """DADD, DMUL, DFMA with a directed rounding."""
    for t in range(g.lanes):
        if op == OP_DADD:
            s.d[t], s.dh[t] = dadd(s.a[t], s.ah[t], s.b[t], s.bh[t], rnd)
        elif op == OP_DMUL:
            s.d[t], s.dh[t] = dmul(s.a[t], s.ah[t], s.b[t], s.bh[t], rnd)
        elif op == OP_DFMA:
            s.d[t], s.dh[t] = dfma(s.a[t], s.ah[t], s.b[t], s.bh[t], s.c[t], s.ch[t], rnd)


@device
def exec_conv(g: Any, s: Any, program: Any, regs: Any, w: int, pc: int, mask: int) -> None:
    """I2F, F2I, F2F, FRND."""
    op = program[pc, C_OP]
    rnd, ftz = program[pc, F_RND2], program[pc, F_FTZ]
    for t in range(g.lanes):
        lo, hi = s.b[t], s.bh[t]
        if op == OP_I2F:
            lo, hi = i2f(lo, hi, program[pc, F_FTYP], program[pc, F_ITYP], rnd)
        elif op == OP_F2I:
            lo, hi = f2i(lo, hi, program[pc, F_ITYP], program[pc, F_FTYP], rnd, ftz)
        elif op == OP_F2F:
            lo, hi = f2f(lo, hi, program[pc, F_FTYP_D], program[pc, F_FTYP_S], rnd, ftz)
        elif op == OP_FRND:
            lo, hi = frnd(lo, hi, program[pc, F_FTYP], rnd, ftz)
        s.d[t] = lo
        s.dh[t] = hi
    write_back(g, s, program, regs, w, pc, mask)

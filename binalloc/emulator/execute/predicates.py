"""The functions here execute operations among predicates: PLOP3, R2P."""

from __future__ import annotations

from binalloc.emulator.arithmetic.integer import plop3
from binalloc.emulator.execute.operands import write_predicate
from binalloc.emulator.state.arrays import Grid
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import PT, Column
from binalloc.emulator.state.records import Gpu, Sm


@device
def predicate_logic(g: Gpu, s: Sm, program: Grid, w: int, pc: int, mask: int) -> None:
    """Execute PLOP3: two functions of three predicates."""
    p = s.pred[w, program[pc, Column.PS0]] ^ program[pc, Column.PS0_XOR]
    q = s.pred[w, program[pc, Column.PS1]] ^ program[pc, Column.PS1_XOR]
    r = s.pred[w, program[pc, Column.PS2]] ^ program[pc, Column.PS2_XOR]
    first = 0
    second = 0
    for t in range(g.lanes):
        first |= plop3((p >> t) & 1, (q >> t) & 1, (r >> t) & 1, program[pc, Column.LUT_B]) << t
        second |= plop3((p >> t) & 1, (q >> t) & 1, (r >> t) & 1, program[pc, Column.LUT2]) << t
    write_predicate(s, w, program[pc, Column.PD0], first, mask)
    write_predicate(s, w, program[pc, Column.PD1], second, mask)


@device
def register_to_predicates(g: Gpu, s: Sm, program: Grid, w: int, pc: int, mask: int) -> None:
    """Execute R2P: set the predicates under the mask from the bits of a word."""
    for p in range(PT):
        if (program[pc, Column.PMASK] >> p) & 1:
            bits = 0
            for t in range(g.lanes):
                bits |= ((s.a[t] >> p) & 1) << t
            write_predicate(s, w, p, bits, mask)

"""LDSM loads matrices of 8 by 8 halves from shared memory, for all lanes of a warp together.

Lane 8 m + r gives the address of row r of matrix m; a lane's result comes from rows of other lanes. All lanes execute
the instruction, but for one or two matrices only the first 8 or 16 give addresses.
"""

from __future__ import annotations

from binalloc.emulator.arithmetic.matrix import giving_lanes, matrix_half
from binalloc.emulator.checks.faulting import set_fault
from binalloc.emulator.execute.operands import first_row
from binalloc.emulator.state.arrays import Grid, Words
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import RZ, Column, Fault
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.scan import lowest_bit
from binalloc.isa.table.opcodes import MATRIX_ROWS

HALF_BITS, HALF = 16, 0xFFFF  # a half's bits in a word, and their mask


@device(apart=True)
def lanes_missing(g: Gpu, s: Sm, program: Grid, w: int, pc: int, executing: int) -> int:
    """Return 1, and report a fault, unless all live lanes execute the load, and with them all that give addresses."""
    wanted = s.live[w] | giving_lanes(program[pc, Column.MATRICES])
    missing = wanted & ~executing
    if missing:
        set_fault(g, s, Fault.MATRIX, w, pc, lowest_bit(missing), executing, wanted, 0)
        return 1
    return 0


@device
def loaded_half(s: Sm, memory: Words, first: int, form: int, m: int, t: int, k: int) -> int:
    """Return lane t's lower (k = 0) or upper (k = 1) half of matrix m. first: the block's first word in `memory`."""
    row, column = matrix_half(form, t, k)
    word = int(memory[first + (s.addr[MATRIX_ROWS * m + row] >> 2) + (column >> 1)]) + 0
    return (word >> (HALF_BITS * (column & 1))) & HALF


@device(apart=True)
def load_matrices(g: Gpu, s: Sm, program: Grid, rows: Grid, memory: Words, w: int, pc: int) -> None:
    """Load two halves of each matrix for every live lane. Matrix m goes to the m-th register from rd on. memory: the
    shared memory of the SM; addresses count from the block's first word in it."""
    rd = program[pc, Column.RD]
    first = s.shared_first[s.block_of[w]]
    if rd == RZ:
        return
    form = program[pc, Column.MFORM]
    for m in range(program[pc, Column.MATRICES]):
        to = first_row(s, w) + rd + m
        for t in range(g.lanes):
            if (s.live[w] >> t) & 1:
                low = loaded_half(s, memory, first, form, m, t, 0)
                rows[to, t] = low | (loaded_half(s, memory, first, form, m, t, 1) << HALF_BITS)

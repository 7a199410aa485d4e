"""`check` reports accesses to shared memory outside of the variables from whose symbols their addresses come.

The producer of the binary says which these are (ISA.md, `.loom.touches`). Their bytes lie in rows behind the program's
last one, a row for each stretch of bytes, and the instruction's row names the first of them. Addresses outside of all
shared memory are left to the checks of bounds.
"""

from __future__ import annotations

from binalloc.emulator.checks.faulting import set_fault
from binalloc.emulator.state.arrays import Grid
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import FIRST_USE, SHARED_WINDOW, Column, Fault
from binalloc.emulator.state.records import Gpu, Sm

LOW, END, MORE = FIRST_USE, FIRST_USE + 1, FIRST_USE + 2
"""Columns of a stretch: its first byte, the byte behind it, and whether the next row has another of the same
instruction. In these rows all other columns are 0, so that none is an instruction."""


@device(apart=True)
def outside_variables(
    g: Gpu, s: Sm, program: Grid, w: int, pc: int, mask: int, to_shared: int, window: int, halves: int
) -> None:
    """Report the first lane of `mask` that touches another byte than those of the instruction's variables.

    to_shared: lanes that go to shared memory. window: 1 where their addresses are generic. halves: lanes whose access
    is to its lower half alone.
    """
    base = SHARED_WINDOW if window else 0
    for t in range(g.lanes):
        if (mask >> t) & 1:
            size = int(program[pc, Column.SIZE])
            if (halves >> t) & 1:
                size >>= 1
            low = s.addr[t] - base
            wrong = 1
            if (to_shared >> t) & 1:
                if low < 0 or low > s.shared_limit[s.block_of[w]] - size:
                    wrong = 0
                row = int(program[pc, Column.TOUCHES])
                more = wrong
                while more:
                    # neighbours are one stretch, so an access lies in one or is wrong
                    if program[row, LOW] <= low and low + size <= program[row, END]:
                        wrong = 0
                    more = program[row, MORE]
                    row += 1
            if wrong:
                set_fault(g, s, Fault.VARIABLE, w, pc, t, low if (to_shared >> t) & 1 else s.addr[t], size, to_shared)
                return

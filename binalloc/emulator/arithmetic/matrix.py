"""Matrices of 8 by 8 halves as LDSM loads them: whose addresses say where rows are, and which halves a lane gets."""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import FULL
from binalloc.isa.table.opcodes import MATRIX_FORMS, MATRIX_ROWS

TURNED = MATRIX_FORMS.index("MT88")


@device(inline=True)
def giving_lanes(matrices: int) -> int:
    """The lanes whose addresses an access looks at: a lane for each row of so many matrices, all lanes where there are
    none."""
    return (1 << (MATRIX_ROWS * matrices)) - 1 if matrices else FULL


@device
def matrix_half(form: int, t: int, k: int) -> tuple[int, int]:
    """(row, column) of what lane t gets as its lower (k = 0) or upper half: two neighbours in a row of the matrix, or
    of the turned one."""
    one, other = t >> 2, 2 * (t & 3) + k
    return (other, one) if form == TURNED else (one, other)

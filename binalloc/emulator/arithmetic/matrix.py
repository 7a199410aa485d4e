"""LDSM loads matrices of 8 by 8 halves. The functions here find the lanes that give addresses of rows, and the halves
of each lane."""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import FULL
from binalloc.isa.table.opcodes import MATRIX_FORMS, MATRIX_ROWS

TURNED = MATRIX_FORMS.index("MT88")  # the form that loads a matrix transposed


@device(inline=True)
def giving_lanes(matrices: int) -> int:
    """Return the mask of the lanes that give an access its addresses: one lane for each row of the matrices. It has all
    lanes where `matrices` is 0."""
    return (1 << (MATRIX_ROWS * matrices)) - 1 if matrices else FULL


@device
def matrix_half(form: int, t: int, k: int) -> tuple[int, int]:
    """Return (row, column) of the element that lane t gets as its lower (k = 0) or upper (k = 1) half. The two are
    neighbours in a row of the matrix, or in a row of the transposed matrix if the form is `TURNED`."""
    one, other = t >> 2, 2 * (t & 3) + k
    return (other, one) if form == TURNED else (one, other)

"""Kernels whose blocks may work in another order, in text."""

from __future__ import annotations

from hypothesis import strategies as st

from binalloc.isa.instruction import Module
from binalloc.models.batches.order import BlockOrder
from binalloc.transform.block_order.renumber import Renumbered, renumber_blocks, require_movable
from binalloc.verify.block_order.check import check_order
from binalloc.verify.report import CheckReport
from tests.support.programs.builder import program

Three = tuple[int, int, int]
SIDES = st.sampled_from([1, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 23])
GRIDS = st.tuples(SIDES, SIDES, st.sampled_from([1, 1, 2, 3]))


def orders(blocks: int) -> st.SearchStrategy[BlockOrder]:
    """Orders of a grid of so many blocks."""
    number = st.integers(1, min(blocks, 24))
    return st.one_of(
        st.builds(BlockOrder, st.just("tile"), number, number),
        st.builds(BlockOrder, st.sampled_from(["mod", "stride"]), number),
    )


PLACES = """
.kernel k
.param out, 8
S2R R0, SR_CTAID.X
S2R R1, SR_CTAID.Y
S2R R2, SR_CTAID.Z
S2R R3, SR_NCTAID.X
S2R R4, SR_NCTAID.Y
IMAD R5, R2, R4, R1
IMAD R5, R5, R3, R0
MOV R6, c[0][out]
MOV R7, c[0][out+0x4]
IMAD.WIDE R6, R5, 0x4, R6
S2R R8, SR_TID.X
ISETP.EQ P0, PT, R8, RZ, PT
@P0 STG.32 [R6], R5
EXIT
.end
"""
"""Each block writes its own number into a word of its own."""

COLUMNS = """
.kernel k
.param out, 8
.param in, 8
S2R R0, SR_TID.X
S2R R1, SR_CTAID.X
S2R R2, SR_CTAID.Y
S2R R3, SR_CTAID.Z
S2R R4, SR_NCTAID.X
S2R R5, SR_NCTAID.Y
IMAD R3, R3, R5, R2
IMAD R3, R3, R4, R1
IMAD R3, R3, 0x20, R0
IMAD R4, R1, 0x20, R0
MOV R5, 0x80
IMAD.WIDE R6, R4, R5, c[0][in]
LDG.32 R8, [R6]
MOV R5, 0x4
IMAD.WIDE R10, R3, R5, c[0][out]
STG.32 [R10], R8
EXIT
.end
"""
"""All blocks of a column read one word of each of the same 32 lines. Each block writes a line of its own."""

CALLED = """
.kernel k
.param out, 8
S2R R0, SR_CTAID.Y
CALL where
S2R R3, SR_NCTAID.X
IMAD R5, R0, R3, R4
MOV R6, c[0][out]
MOV R7, c[0][out+0x4]
IMAD.WIDE R6, R5, 0x4, R6
STG.32 [R6], R5
EXIT
.end
.func where
S2R R8, SR_LANEID
ISETP.LT P1, PT, R8, 0x40, PT
S2R R4, SR_CTAID.X
@P1 S2R R4, SR_CTAID.X
RET
.end
"""
"""The kernel's place along x is asked for by a function, once under a guard."""


def renumbered(module: Module, order: str, grid: Three, sms: int = 4) -> Renumbered:
    """The module with its kernel `k` in an order."""
    x, y, z = grid
    return renumber_blocks(require_movable(module, "k", grid), BlockOrder.parse(order, x * y * z, ""), grid, sms)


def judged(
    text: str, order: str, grid: Three, sms: int = 4, *, other: str = "", on: Three | None = None
) -> CheckReport:
    """What the checker says of the kernel in `order`. other, on: the order and grid that it is told, if others."""
    module = program(text)
    made = renumbered(module, order, grid, sms).module
    return check_order(module, made, "k", other or order, on or grid, sms)

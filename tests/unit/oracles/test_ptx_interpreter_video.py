"""The PTX interpreter's video instructions: values worked by hand from PTX ISA 9.7.18."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ptx.interpreter.interpreter import interpret
from tests.support.ptx.texts import kernel

HIGH, ONES = 0x80000000, 0xFFFFFFFF
WORKED = [
    # parts, extended by their types
    ("vadd.u32.u32.u32 %d, %a.b1, %b.h1", (0x0000FF00, 0xFFFF0000, 0), 0xFF + 0xFFFF),
    ("vadd.s32.s32.u32 %d, %a.b1, %b.h1", (0x0000FF00, 0xFFFF0000, 0), 0xFFFE),
    ("vsub.s32.u32.s32 %d, %a.h0, %b.b3", (5, 0x80000000, 0), 5 + 128),
    # saturation to the destination, or to the part of it that is written
    ("vadd.u32.u32.u32.sat %d, %a, %b", (ONES, ONES, 0), ONES),
    ("vadd.s32.u32.u32.sat %d, %a, %b", (HIGH, 0, 0), 0x7FFFFFFF),
    ("vsub.u32.u32.u32.sat %d, %a, %b", (3, 4, 0), 0),
    ("vsub.s32.u32.u32.sat %d, %a, %b", (0, ONES, 0), HIGH),
    ("vadd.u32.s32.s32.sat %d.b2, %a, %b, %c", (200, 100, 0x11223344), 0x11FF3344),
    ("vadd.s32.s32.s32.sat %d.h1, %a, %b, %c", (HIGH, HIGH, 0x11223344), 0x80003344),
    ("vadd.s32.s32.s32 %d.h0, %a, %b, %c", (0x12345, 1, 0x11223344), 0x11222346),
    ("vabsdiff.u32.s32.u32 %d, %a, %b", (HIGH, ONES, 0), 0x7FFFFFFF),
    ("vabsdiff.u32.s32.u32.sat %d, %a, %b", (HIGH, ONES, 0), ONES),
    # orders of mixed signs
    ("vmin.s32.u32.s32 %d, %a, %b", (1, ONES, 0), ONES),
    ("vmax.u32.u32.s32 %d, %a, %b", (HIGH, ONES, 0), HIGH),
    ("vmax.u32.s32.s32.sat %d, %a, %b", (HIGH, ONES, 0), 0),
    # second operations: the third operand has the destination's sign, the first result 33 bits
    ("vadd.u32.u32.u32.add %d, %a, %b, %c", (ONES, 2, 3), 4),
    ("vadd.u32.u32.u32.min %d, %a, %b, %c", (HIGH, 0, ONES), HIGH),
    ("vadd.u32.u32.u32.max %d, %a, %b, %c", (ONES, ONES, 7), 7),
    ("vadd.u32.u32.u32.sat.min %d, %a, %b, %c", (ONES, ONES, 7), 7),
    ("vsub.s32.s32.s32.max %d, %a, %b, %c", (1, 2, ONES - 1), ONES),
    ("vadd.u32.u32.u32 %d, %a, %b, %c", (1, 2, 99), 3),
    # comparison
    ("vset.u32.s32.gt %d, %a, %b", (0, ONES, 0), 1),
    ("vset.u32.u32.gt %d, %a, %b", (0, ONES, 0), 0),
    ("vset.s32.s32.le.add %d, %a.b0, %b.b0, %c", (0x80, 0x7F, 41), 42),
    ("vset.u32.u32.eq %d.b3, %a, %b, %c", (7, 7, 0x11223344), 0x01223344),
    # shifts
    ("vshl.u32.u32.u32.clamp %d, %a, %b", (ONES, 40, 0), 0),
    ("vshl.u32.u32.u32.wrap %d, %a, %b", (ONES, 40, 0), 0xFFFFFF00),
    ("vshl.u32.u32.u32.sat.clamp %d, %a, %b", (1, 32, 0), ONES),
    ("vshl.u32.u32.u32.sat.clamp %d, %a, %b", (2, 32, 0), 0),
    ("vshl.s32.s32.u32.sat.clamp %d, %a, %b", (0x40000000, 1, 0), 0x7FFFFFFF),
    ("vshr.s32.s32.u32.clamp %d, %a, %b", (HIGH, 99, 0), ONES),
    ("vshr.u32.u32.u32.clamp %d, %a, %b", (HIGH, 99, 0), 0),
    ("vshr.s32.s32.u32.wrap %d, %a.b0, %b", (0x90, 36, 0), 0xFFFFFFF9),
    # products
    ("vmad.u32.u32.u32 %d, %a, %b, %c", (0x10001, 0x10001, 5), 0x20006),
    ("vmad.u32.u32.u32.sat %d, %a, %b, %c", (ONES, ONES, ONES), ONES),
    ("vmad.s32.s32.s32.sat %d, %a, %b, %c", (HIGH, 1, ONES), HIGH),
    ("vmad.s32.u32.u32.sat %d, -%a, %b, %c", (ONES, ONES, 0), HIGH),
    ("vmad.s32.u32.u32 %d, -%a.h0, -%b.b1, %c", (3, 0x0400, 1), 13),
    ("vmad.s32.u32.u32.sat %d, %a, %b, -%c", (2, 3, ONES), 7),
    ("vmad.u32.u32.u32.po.shr7 %d, %a, %b, %c", (128, 3, 127), 4),
    ("vmad.s32.s32.u32.shr15 %d, %a, %b, %c", (ONES, 1, 0), ONES),
    ("vmad.u32.u32.u32.shr15 %d, %a, %b, %c", (ONES, ONES, 0), 0xFFFC0000),
    # lanes
    ("vadd4.u32.u32.u32 %d, %a, %b, %c", (0xFF010203, 0x01010101, 0), 0x00020304),
    ("vadd4.u32.u32.u32.sat %d, %a, %b, %c", (0xFF010203, 0x01010101, 0), 0xFF020304),
    ("vadd4.s32.u32.u32.add %d, %a, %b, %c", (0xFF010203, 0x01010101, 9), 9 + 256 + 2 + 3 + 4),
    ("vsub2.s32.s32.s32.sat %d.h1, %a, %b, %c", (0x80000005, 0x00010001, 0x11223344), 0x80003344),
    ("vadd2.u32.u32.u32 %d, %a.h30, %b.h12, %c", (0xAAAA0001, 0x00200300, 0), 0xAACA0301),
    ("vavrg2.s32.s32.s32 %d, %a, %b, %c", (0xFFFE0003, 0xFFFF0004, 0), 0xFFFE0004),
    ("vavrg4.u32.u32.u32 %d, %a, %b, %c", (0xFF000001, 0xFF010002, 0), 0xFF010002),
    ("vabsdiff4.u32.u32.u32 %d, %a, %b, %c", (0x01FF8000, 0xFF017F10, 0), 0xFEFE0110),
    ("vabsdiff4.u32.u32.u32.add %d, %a, %b, %c", (0x01FF8000, 0xFF017F10, 5), 5 + 0xFE + 0xFE + 1 + 0x10),
    ("vmin4.s32.s32.u32 %d.b20, %a, %b, %c", (0x80808080, 0x01010101, 0x11223344), 0x11803380),
    ("vset4.u32.s32.lt %d.b31, %a, %b, %c", (0x01FF01FF, 0x02FE0000, 0x11223344), 0x01220044),
    ("vset2.s32.s32.ge.add %d, %a, %b, %c", (0x0001FFFF, 0xFFFF0000, 40), 41),
]


@pytest.mark.parametrize(("text", "operands", "wanted"), WORKED, ids=[text for text, _, _ in WORKED])
def test_worked(text: str, operands: tuple[int, int, int], wanted: int) -> None:
    out = np.zeros(1, np.uint32)
    for k, letter in enumerate("abcd"):
        text = text.replace(f"%{letter}", f"%r{k + 1}")
    lines = "".join(f"mov.u32 %r{k + 1}, {value}; " for k, value in enumerate(operands))
    interpret(kernel(f"{lines}{text}; st.global.u32 [%d1], %r4;"), "k", 1, 1, [out])
    assert hex(out[0]) == hex(wanted & ONES)

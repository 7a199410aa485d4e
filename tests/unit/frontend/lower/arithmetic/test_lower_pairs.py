"""Pairs of integers and of f32, cvt.pack, fns: what is refused, and fns on all bases and offsets.

What they compute to the bit is compared in `tests/property/frontend/test_ptx_forms.py`.
"""

from __future__ import annotations

import re

import pytest

from binalloc.errors import MalformedInput
from tests.support.oracles.arithmetic.integers import check
from tests.support.ptx.elementwise import element_kernel
from tests.support.ptx.harness import imported

REFUSED = [
    ("max.relu.u16x2 %w0, %w1, %w2;", "max.relu of unsigned halves"),
    ("min.relu.u32 %w0, %w1, %w2;", "min.relu of type .u32"),
    ("min.relu.s64 %d0, %d1, %d2;", "min.relu of type .s64"),
    ("sub.s16x2 %w0, %w1, %w2;", "sub needs a type"),
    ("add.u16x2 %d0, %d1, %d2;", "%d1 is .b64"),
    ("add.sat.u16x2 %w0, %w1, %w2;", "modifier .sat of add"),
    ("fma.f32x2 %d0, %d1, %d2, %d3;", "fma.f32x2 needs a rounding"),
    ("fma.rn.sat.f32x2 %d0, %d1, %d2, %d3;", "modifier .sat of fma"),
    ("add.f32x2 %w0, %w1, %w2;", "%w1 is .b32"),
    ("div.rn.f32x2 %d0, %d1, %d2;", "div"),
    ("cvt.pack.u16.s32 %w0, %w1, %w2;", "not a cvt.pack"),
    ("cvt.pack.sat.u8.s32 %w0, %w1, %w2;", "cvt needs a type"),
    ("cvt.pack.sat.u16.s32 %w0, %w1, %w2, %w3;", "cvt with 4 operands"),
    ("cvt.pack.sat.u16.u32 %w0, %w1, %w2;", "cvt has no type .u32"),
    ("fns.b32 %w0, %w1, %w2;", "fns with 3 operands"),
    ("max.abs.f32 %f0, %f1, %f2;", ".abs alone of three"),
    ("max.xorsign.abs.f32 %f0, %f1, %f2, %f3;", ".abs alone of three"),
    ("max.xorsign.f32 %f0, %f1, %f2;", ".abs alone of three"),
    ("min.s32 %w0, %w1, %w2, %w3;", "min with 4 operands"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text for text, _ in REFUSED])
def test_refused(text: str, message: str) -> None:
    with pytest.raises(MalformedInput, match=re.escape(message)) as caught:
        imported(element_kernel(text, [], []))
    assert "line" in str(caught.value)


def test_fns_of_every_base_and_offset() -> None:
    masks = [0, 1, 1 << 31, 0xFFFFFFFF, 0xAAAAAAAA, 0x80000001, 0x00F0A500]
    rows = [(m, base, n) for m in masks for base in range(34) for n in (-(2**31), *range(-33, 34), 2**31 - 1)]

    def oracle(mask: int, base: int, offset: int) -> int:
        """The ones from the base on, in the direction of the offset, by number."""
        up = [k for k in range(base, 32) if mask >> k & 1]
        down = [k for k in range(min(base, 31), -1, -1) if mask >> k & 1] if base < 32 else []
        if offset == 0:
            return base if base < 32 and mask >> base & 1 else -1
        found = up if offset > 0 else down
        return found[abs(offset) - 1] if abs(offset) <= len(found) else -1

    columns = [[row[k] & 0xFFFFFFFF for row in rows] for k in range(3)]
    check("fns.b32 %r0, %a0, %a1, %a2;", ["u32", "u32", "s32"], ["u32"], oracle, columns)

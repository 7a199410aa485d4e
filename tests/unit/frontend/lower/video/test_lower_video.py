"""Video instructions: what is refused, guards, and code that stays short where a word is enough.

What they compute to the bit is compared in `tests/property/frontend/test_ptx_forms.py`.
"""

from __future__ import annotations

import re

import pytest

from binalloc.errors import MalformedInput
from binalloc.frontend.ptx.ast import Negative, Register, Selected
from binalloc.frontend.ptx.dump import format_module
from binalloc.frontend.ptx.parser import parse
from tests.support.oracles.arithmetic.integers import check
from tests.support.ptx.bodies import code
from tests.support.ptx.elementwise import element_kernel
from tests.support.ptx.harness import imported
from tests.support.ptx.texts import kernel

REFUSED = [
    ("vadd.u32.u32.u32.add %w0.b0, %w1, %w2, %w3;", "a part of the destination and .add"),
    ("vadd.u32.u32.u32 %w0.b0, %w1, %w2;", "vadd with 3 operands"),
    ("vadd.u32.u32.u32.min %w0, %w1, %w2;", "vadd with 3 operands"),
    ("vadd.u32.u32.u32 %w0, %w1.b10, %w2;", ".b10 does not select one part"),
    ("vadd.u32.u32.u32 %w0.h10, %w1, %w2, %w3;", ".h10 does not select one part"),
    ("vadd.u32.u32.u32 %w0, %f1, %w2;", "%f1 is .f32"),
    ("vadd.u32.u32.u32 %w0, %h1, %w2;", "%h1 is .b16"),
    ("vadd.u32.u32 %w0, %w1, %w2;", "vadd needs a type"),
    ("vadd.u32.u32.u16 %w0, %w1, %w2;", "vadd has no type .u16"),
    ("vsub.u32.u32.u32 %w0, -%w1, %w2;", "operand does not fit"),
    ("vset.u32.s32.ltu %w0, %w1.b0, %w2;", "vset without a comparison"),
    ("vset.u32.u32.lt.sat %w0, %w1, %w2;", "vset with .sat"),
    ("vshl.u32.u32.u32 %w0, %w1, %w2;", "vshl without a mode"),
    ("vshl.u32.u32.s32.clamp %w0, %w1, %w2;", "a count of type .s32"),
    ("vmad.s32.u32.s32.sat %w0, -%w1.h0, %w2.b1, -%w3;", "product and third operand negated"),
    ("vmad.s32.u32.s32.po %w0, -%w1.h0, %w2.b1, %w3;", "vmad.po with a negated operand"),
    ("vmad.u32.u32.u32 %w0.h0, %w1, %w2, %w3;", "not a destination"),
    ("vadd4.u32.u32.u32.sat.add %w0, %w1, %w2, %w3;", "vadd4 with .sat"),
    ("vadd4.u32.u32.u32 %w0, %w1, %w2;", "vadd4 with 3 operands"),
    ("vadd4.u32.u32.u32 %w0.b0123, %w1, %w2, %w3;", ".b0123 is no mask of vadd4"),
    ("vadd4.u32.u32.u32 %w0, %w1.h10, %w2, %w3;", ".h10 does not select 4 lanes"),
    ("vadd2.u32.u32.u32 %w0.h2, %w1, %w2, %w3;", ".h2 is no mask of vadd2"),
    ("vadd2.u32.u32.u32 %w0, %w1.h1, %w2, %w3;", ".h1 does not select 2 lanes"),
    ("vadd4.u32.u32.u32 %w0, %w1, 5, %w3;", "vadd4 takes registers"),
    ("vset2.u32.u32.ne.max %w0, %w1, %w2, %w3;", "modifier .max of vset2"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text for text, _ in REFUSED])
def test_refused(text: str, message: str) -> None:
    with pytest.raises(MalformedInput, match=re.escape(message)) as caught:
        imported(element_kernel(text, [], []))
    assert "line" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["mov.u32 %r1.b0, %r2;", "add.u32 %r1, %r2.h0, %r3;", "add.u32 %r1, -%r2, %r3;", "mov.u32 %r1, %r2.b9;",
     "ld.global.u32 %r1, [%d1.b0];", "mov.u32 %r1, -%q;"],
)  # fmt: skip
def test_selectors_and_signs_stand_with_registers_of_video_instructions_alone(text: str) -> None:
    with pytest.raises(MalformedInput, match="line"):
        imported(kernel(text))


def test_guards_keep_the_destination() -> None:
    """A guard that is itself computed from the operands, and destinations written in parts."""
    body = """
        setp.lt.u32 %p0, %a0, %a1; mov.u32 %r0, %a2; mov.u32 %r1, %a2;
        @%p0 vadd.u32.u32.u32 %r0.b2, %a0.b1, %a1, %r0; @!%p0 vmin4.u32.u32.u32 %r1.b30, %a0, %a1, %r1;"""

    def oracle(a: int, b: int, c: int) -> tuple[int, int]:
        merged = c & ~0xFF0000 | ((a >> 8 & 0xFF) + b & 0xFF) << 16
        lanes = c & 0x00FFFF00 | min(a >> 24, b >> 24) << 24 | min(a & 0xFF, b & 0xFF)
        return (merged, c) if a < b else (c, lanes)

    check(body, ["u32"] * 3, ["u32"] * 2, oracle)


def test_a_destination_may_be_a_source() -> None:
    body = "mov.u32 %r0, %a0; vsub.u32.u32.u32.max %r0, %r0.h1, %r0.h0, %r0;"
    check(body, ["u32"], ["u32"], lambda a: max((a >> 16) - (a & 0xFFFF), a))


def test_what_a_word_holds_takes_one() -> None:
    for text, most in (("vadd.u32.u32.u32 %r1, %r2.b0, %r3.h1;", 4), ("vabsdiff.u32.u32.u32 %r1, %r2, %r3;", 4),
                       ("vmad.u32.u32.u32 %r1, %r2, %r3, %r4;", 2)):  # fmt: skip
        short, empty = (len(code(body).splitlines()) for body in (text, ""))
        assert short - empty <= most, code(text)


def test_what_is_written_back_is_read_again() -> None:
    text = kernel("vmad.s32.u32.u32 %r1, -%r2.h1, %r3, %r4; vadd4.u32.u32.u32 %r1.b20, %r2.b7654, %r3, %r4; "
                  "{ .reg .b32 %s; vadd.u32.u32.u32 %s.b1, %s.b0, %r1, %r2; }")  # fmt: skip
    tree = parse(text)
    body = tree.functions["k"].body
    again = parse(format_module(tree), flattened=True).functions["k"].body
    assert body is not None
    assert again is not None
    operands = [[i.operands for i in b if hasattr(i, "operands")] for b in (body, again)]
    assert operands[0] == operands[1]
    found = [o for one in operands[0] for o in one if isinstance(o, Selected | Negative)]
    assert Negative(Selected(Register("%r2"), "h1")) in found
    assert Selected(Register("%r2"), "b7654") in found
    assert any(isinstance(o, Selected) and o.base.name.startswith("%s.") for o in found)

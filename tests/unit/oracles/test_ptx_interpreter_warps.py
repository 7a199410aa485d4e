"""The PTX interpreter: warp operations, worked by hand; and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ptx.interpreted import run
from tests.support.ptx.interpreter import interpreter
from tests.support.ptx.interpreter.arithmetic.plans import Unsupported
from tests.support.ptx.interpreter.interpreter import interpret
from tests.support.ptx.interpreter.memory import AccessError
from tests.support.ptx.interpreter.text.lexer import PtxSyntaxError


@pytest.mark.parametrize(
    ("mode", "b", "c", "source"),
    [
        ("up", 3, 0, lambda t: t - 3 if t % 32 >= 3 else None),
        ("down", 5, 31, lambda t: t + 5 if t % 32 < 27 else None),
        ("bfly", 9, 31, lambda t: t ^ 9),
        ("idx", 7, 31, lambda t: t // 32 * 32 + 7),
        ("up", 1, 0x1800, lambda t: t - 1 if t % 8 else None),
        ("down", 2, 0x181F, lambda t: t + 2 if t % 8 < 6 else None),
        ("idx", 3, 0x1C1F, lambda t: t // 4 * 4 + 3),
        ("idx", 9, 0x1805, lambda t: t // 8 * 8 + 1),
        ("idx", 6, 0x1805, lambda t: None),
        ("up", 3, 5, lambda t: t - 3 if t % 32 >= 8 else None),
    ],
)
def test_shuffles(mode: str, b: int, c: int, source: Any) -> None:
    out = run(
        f"add.u32 %r1, %r0, 100; shfl.sync.{mode}.b32 %r2|%p1, %r1, {b}, {c}, -1; selp.u32 %r3, 0, 1000, %p1;"
        "add.u32 %r2, %r2, %r3; st.global.u32 [%d1], %r2;",
        64,
    )
    expected = [1100 + t if source(t) is None else 100 + source(t) for t in range(64)]
    assert out.tolist() == expected


def test_votes_matches_and_active_mask_of_some_lanes() -> None:
    out = run(
        """
    setp.ge.u32 %p1, %r0, 40; @%p1 bra END; mov.u32 %r9, -1; setp.ge.u32 %p7, %r0, 32; selp.u32 %r9, 0xff, -1, %p7;
    and.b32 %r1, %r0, 1; setp.eq.u32 %p2, %r1, 1; vote.sync.ballot.b32 %r2, %p2, %r9;
    vote.sync.any.pred %p3, !%p2, %r9; vote.sync.all.pred %p4, %p2, %r9;
    setp.gt.u32 %p5, %r0, 90; vote.sync.uni.pred %p6, %p5, %r9;
    and.b32 %r3, %r0, 3; match.any.sync.b32 %r4, %r3, %r9; match.all.sync.b32 %r5|%p7, %r0, %r9;
    selp.u32 %r6, 1, 0, %p3; selp.u32 %r7, 2, 0, %p4; add.u32 %r6, %r6, %r7; selp.u32 %r7, 4, 0, %p6;
    add.u32 %r6, %r6, %r7; selp.u32 %r7, 8, 0, %p7; add.u32 %r6, %r6, %r7; xor.b32 %r4, %r4, %r2;
    add.u32 %r6, %r6, %r5; shl.b32 %r6, %r6, 0; add.u32 %r4, %r4, %r6; st.global.u32 [%d1], %r4;
END:
""",
        64,
    )
    full = [((0x11111111 << t % 4) ^ 0xAAAAAAAA) + 5 for t in range(32)]
    part = [((0x11 << t % 4) ^ 0xAA) + 5 for t in range(8)]
    assert out.tolist() == [x % 2**32 for x in full] + part + [0] * 24


def test_an_absent_lane_in_a_member_mask_is_an_error() -> None:
    with pytest.raises(Unsupported, match="not here"):
        run(
            "setp.lt.u32 %p1, %r0, 3; @%p1 bra A; vote.sync.any.pred %p2, %p1, -1; A: mov.u32 %r1, 0;"
            "st.global.u32 [%d1], %r1;"
        )


@pytest.mark.parametrize(
    "body",
    [
        "st.global.u32 [%d1+128], %r0;",
        "st.global.u32 [%d0+-4], %r0;",
        "add.s64 %d1, %d1, 2; st.global.u32 [%d1], %r0;",
        "st.global.v2.u32 [%d1], {%r0, %r0};",
        "st.shared.u32 [s+8], %r0;",
        "ld.local.u32 %r1, [l+4];",
        "ld.local.u32 %r1, [l+1];",
        "ld.param.u64 %d2, [out+8];",
    ],
)
def test_accesses_out_of_bounds_or_misaligned(body: str) -> None:
    with pytest.raises(AccessError):
        run(".shared .align 4 .b8 s[8]; .local .align 4 .b8 l[7];" + body)


def test_inner_scopes_have_their_own_names() -> None:
    out = run(
        """
    mov.u32 %r1, 5;
    { .reg .b32 %r1; .reg .pred p;
      mov.u32 %r1, 8; setp.lt.u32 p, %r0, 4; @p bra L; add.u32 %r1, %r1, 1; L: mov.u32 %r2, %r1; }
    { .reg .b32 t; .reg .pred p;
      mov.u32 t, 100; setp.lt.u32 p, %r0, 8; @p bra L; add.u32 t, t, 100; L: add.u32 %r2, %r2, t; }
    add.u32 %r1, %r1, %r2; st.global.u32 [%d1], %r1;
"""
    )
    assert out.tolist() == [113] * 4 + [114] * 4 + [214] * 24


def test_spinning_on_another_warp_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "BLOCK_STEP_LIMIT", 2000)
    out = run(
        """
    shr.u32 %r1, %r0, 5; setp.ne.u32 %p1, %r1, 0; @%p1 bra PUT;
WAIT: ld.volatile.shared.u32 %r2, [flag]; setp.ne.u32 %p2, %r2, 1; @%p2 bra WAIT; bra.uni END;
PUT: mov.u32 %r2, 1; st.volatile.shared.u32 [flag], %r2; mov.u32 %r2, 3;
END: bar.sync 0; st.global.u32 [%d1], %r2;
""",
        64,
        head=".shared .align 4 .u32 flag;",
    )
    assert out.tolist() == [1] * 32 + [3] * 32


def test_malformed_text_is_refused() -> None:
    for text in ("?", ".entry k() { add.s32 %r1, %r2; ", ".entry k() { bra NOWHERE; }", "hello"):
        with pytest.raises((PtxSyntaxError, IndexError)):
            interpret(text, None, 1, 32, [])

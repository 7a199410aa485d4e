"""What random PTX programs once showed wrong, cut down: import and emulation beside interpretation."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ptx.differential import differences, emulated, interpreted
from tests.support.ptx.generator.options import Argument, Program

HEAD = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry kernel(.param .u64 in, .param .u64 out)
{
    .reg .pred %p<40>; .reg .b16 %h<10>; .reg .b32 %r<40>; .reg .b64 %d<10>; .reg .f32 %f<10>; .reg .f64 %g<10>;
    ld.param.u64 %d0, [in]; ld.param.u64 %d1, [out]; mov.u32 %r0, %tid.x;
    mul.wide.u32 %d2, %r0, 4; add.s64 %d0, %d0, %d2; add.s64 %d1, %d1, %d2;
"""


def check(body: str, data: np.ndarray | None = None, *, optimised: bool = True) -> None:
    """The kernel body finds &in[tid] in %d0, &out[tid] in %d1, tid in %r0; 32 threads, words."""
    source = np.arange(1, 1025, dtype=np.uint32) * np.uint32(2654435761) if data is None else data
    arguments = [Argument("in", source), Argument("out", np.zeros(256, dtype=np.uint32), "bits")]
    program = Program(HEAD + body + "    ret;\n}\n", "kernel", 1, (32, 1, 1), arguments, 0)
    expected = interpreted(program)
    assert np.any(expected["out"]), "the body stores nothing"
    assert differences(program, expected, emulated(program, optimised=optimised)) == []


BITS = "".join(f"and.b32 %r{20 + k}, %r0, {1 << k % 5}; setp.ne.u32 %p{20 + k}, %r{20 + k}, 0;" for k in range(10))
COLLECT = "mov.u32 %r9, 0;" + "".join(
    f"selp.u32 %r8, {1 << k}, 0, %p{20 + k}; add.u32 %r9, %r9, %r8;" for k in range(10)
)


@pytest.mark.parametrize("optimised", [False, True])
def test_a_predicate_computed_again_keeps_its_comparison(optimised: bool) -> None:
    """More predicates than seven: one whose operand is still there is compared anew at each use."""
    check(
        f"""
    ld.global.u32 %r1, [%d0]; setp.lt.s32 %p1, %r1, 0; {BITS}
    selp.u32 %r2, 5, 6, %p1; add.u32 %r3, %r1, %r2; {COLLECT}
    selp.u32 %r4, 1000, 2000, %p1; add.u32 %r3, %r3, %r4; add.u32 %r3, %r3, %r9; xor.b32 %r3, %r3, %r1;
    st.global.u32 [%d1], %r3;
""",
        optimised=optimised,
    )


@pytest.mark.parametrize("optimised", [False, True])
def test_a_predicate_of_the_round_before_is_not_computed_from_this_rounds_operand(optimised: bool) -> None:
    """%p1 is compared late in each round and read early in the next, where its operand is a new one already."""
    check(
        f"""
    mov.u32 %r1, 0; mov.u32 %r2, 0;
LOOP:
    ld.global.u32 %r3, [%d0]; add.s64 %d0, %d0, 128; setp.eq.u32 %p2, %r1, 0; @%p2 bra FIRST;
    selp.u32 %r4, 1, 100, %p1; add.u32 %r2, %r2, %r4;
FIRST:
    setp.lt.s32 %p1, %r3, 0;
    {BITS} {COLLECT}
    add.u32 %r2, %r2, %r9;
    add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, 6; @%p3 bra LOOP;
    st.global.u32 [%d1], %r2;
""",
        optimised=optimised,
    )


@pytest.mark.parametrize("optimised", [False, True])
@pytest.mark.parametrize("first", [True, False])
def test_a_guard_that_is_a_destination_guards_the_other_one_too(first: bool, optimised: bool) -> None:
    """Two predicates are written under one of them: as it was before."""
    pair = "%p1|%p2" if first else "%p2|%p1"
    check(
        f"""
    ld.global.u32 %r1, [%d0]; and.b32 %r2, %r1, 1024; setp.ne.u32 %p1, %r2, 0; setp.lt.u32 %p2, %r0, 7;
    @%p1 setp.lt.s32 {pair}, %r1, 0; selp.u32 %r3, 1, 2, %p1; selp.u32 %r4, 4, 8, %p2; or.b32 %r3, %r3, %r4;
    st.global.u32 [%d1], %r3;
""",
        optimised=optimised,
    )

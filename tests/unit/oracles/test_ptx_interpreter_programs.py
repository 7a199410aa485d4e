"""The PTX interpreter as a machine: control flow and barriers, worked by hand."""

from __future__ import annotations

import pytest

from tests.support.ptx.interpreted import run
from tests.support.ptx.interpreter.errors import InterpreterError


def test_divergent_loops_and_nested_branches_meet_again() -> None:
    out = run(
        """
    mov.u32 %r1, 0; mov.u32 %r2, 0;
LOOP:
    and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0; @%p1 bra EVEN;
    add.u32 %r2, %r2, 100; bra.uni NEXT;
EVEN:
    add.u32 %r2, %r2, 1;
NEXT:
    add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, %r0; @%p2 bra LOOP;
    activemask.b32 %r4; mad.lo.u32 %r2, %r4, 1000, %r2;
    st.global.u32 [%d1], %r2;
""",
        64,
    )
    expected = [(0xFFFFFFFF * 1000 + max(1, -(-t // 2)) + t // 2 * 100) % 2**32 for t in range(64)]
    assert out.tolist() == expected


def test_early_returns_and_exits_take_lanes_away() -> None:
    out = run(
        """
    setp.lt.u32 %p1, %r0, 5; @%p1 bra DONE;
    setp.gt.u32 %p2, %r0, 40; @%p2 exit;
    activemask.b32 %r1; st.global.u32 [%d1], %r1;
DONE:
""",
        64,
    )
    first, second = 0xFFFFFFFF & ~31, (1 << 9) - 1
    assert out.tolist() == [0] * 5 + [first] * 27 + [second] * 9 + [0] * 23


def test_divergence_inside_divergence() -> None:
    out = run(
        """
    and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 0; and.b32 %r2, %r0, 6; setp.eq.u32 %p2, %r2, 0; mov.u32 %r9, 0;
    @%p1 bra EVEN;
    @%p2 bra ZERO; or.b32 %r9, %r9, 1; bra.uni INNER;
ZERO:
    or.b32 %r9, %r9, 2;
INNER:
    or.b32 %r9, %r9, 4; bra.uni OUTER;
EVEN:
    or.b32 %r9, %r9, 8;
OUTER:
    activemask.b32 %r3; add.u32 %r9, %r9, %r3; st.global.u32 [%d1], %r9;
"""
    )
    assert out.tolist() == [(8 if t % 2 == 0 else 6 if t & 6 == 0 else 5) - 1 for t in range(32)]


def test_lanes_meet_behind_a_guarded_exit() -> None:
    out = run(
        """
    setp.lt.u32 %p1, %r0, 16; setp.lt.u32 %p2, %r0, 4; @!%p1 bra MEET;
    @%p2 exit;
    add.u32 %r1, %r0, 1;
MEET:
    activemask.b32 %r2; st.global.u32 [%d1], %r2;
"""
    )
    assert out.tolist() == [0] * 4 + [0xFFFFFFF0] * 28


def test_setp_gives_two_combined_predicates() -> None:
    """p = (a < b) and c, q = not (a < b) and c."""
    out = run(
        """
    and.b32 %r1, %r0, 1; setp.ne.u32 %p1, %r1, 0; setp.lt.and.u32 %p2|%p3, %r0, 8, %p1;
    setp.lt.and.u32 %p4|_, %r0, 8, !%p1;
    selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 2, 0, %p3; selp.u32 %r4, 4, 0, %p4; add.u32 %r2, %r2, %r3;
    add.u32 %r2, %r2, %r4; st.global.u32 [%d1], %r2;
"""
    )
    assert out.tolist() == [(4, 1)[t & 1] if t < 8 else (0, 2)[t & 1] for t in range(32)]


def test_a_return_in_a_branch_takes_its_lanes_from_all_of_the_function() -> None:
    head = """
.func (.reg .u32 %out) f(.reg .u32 %in)
{   .reg .pred %p<3>; .reg .b32 %r<3>; setp.lt.u32 %p1, %in, 20; mov.u32 %out, 5; @!%p1 bra JOIN;
    setp.lt.u32 %p2, %in, 10; @!%p2 bra ON; mov.u32 %out, 1; ret;
ON: mov.u32 %out, 2;
JOIN: add.u32 %out, %out, 10; ret; }
"""
    out = run("call (%r1), f, (%r0); st.global.u32 [%d1], %r1;", head=head)
    assert out.tolist() == [1] * 10 + [12] * 10 + [15] * 12


def test_local_variables_are_aligned_and_apart() -> None:
    out = run(
        """
    .local .align 4 .b8 small[4]; .local .align 16 .b8 large[16]; mov.u64 %d2, small; mov.u64 %d3, large;
    and.b64 %d4, %d3, 15; sub.s64 %d5, %d3, %d2; setp.ge.s64 %p1, %d5, 4; selp.u32 %r1, 100, 0, %p1;
    cvt.u32.u64 %r2, %d4; add.u32 %r1, %r1, %r2; st.global.u32 [%d1], %r1;
"""
    )
    assert out.tolist() == [100] * 32


def test_brx_idx_sends_lanes_to_their_places() -> None:
    out = run(
        """
    and.b32 %r1, %r0, 3;
TABLE: .branchtargets A, B, A, C;
    brx.idx %r1, TABLE;
A:  mov.u32 %r2, 1; bra.uni END;
B:  mov.u32 %r2, 2; bra.uni END;
C:  mov.u32 %r2, 3;
END:
    activemask.b32 %r3; add.u32 %r2, %r2, %r3; st.global.u32 [%d1], %r2;
"""
    )
    assert out.tolist() == [x - 1 for x in [1, 2, 1, 3] * 8]


def test_predicated_instructions_keep_other_lanes() -> None:
    out = run("mov.u32 %r1, 7; setp.lt.u32 %p1, %r0, 3; @!%p1 mov.u32 %r1, 9; st.global.u32 [%d1], %r1;")
    assert out.tolist() == [7] * 3 + [9] * 29


def test_special_registers() -> None:
    body = """
    mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z; mov.u32 %r3, %ntid.x; mov.u32 %r4, %ntid.y; mov.u32 %r5, %ctaid.x;
    mad.lo.u32 %r6, %r2, %r4, %r1; mad.lo.u32 %r6, %r6, %r3, %r0;
    mad.lo.u32 %r7, %r5, 120, %r6; mul.wide.u32 %d2, %r7, 4; add.s64 %d1, %d0, %d2;
    mov.u32 %r8, %laneid; mov.u32 %r9, %warpid; mov.u32 %r10, %lanemask_le; mov.u32 %r11, %nctaid.x;
    shl.b32 %r9, %r9, 8; or.b32 %r8, %r8, %r9; shl.b32 %r11, %r11, 16; or.b32 %r8, %r8, %r11;
    xor.b32 %r8, %r8, %r10; st.global.u32 [%d1], %r8;
"""
    out = run(body, (5, 4, 6), grid=2)
    expected = [(t % 32 | t // 32 << 8 | 2 << 16) ^ ((2 << t % 32) - 1) for t in range(120)] * 2
    assert out.tolist() == expected


def test_shared_memory_and_barriers_between_warps() -> None:
    out = run(
        """
    shl.b32 %r1, %r0, 2; mov.u32 %r2, buf; add.u32 %r3, %r2, %r1; st.shared.u32 [%r3], %r0;
    bar.sync 0;
    xor.b32 %r4, %r1, 252; add.u32 %r4, %r2, %r4; ld.shared.u32 %r5, [%r4]; st.global.u32 [%d1], %r5;
""",
        64,
        head=".shared .align 4 .b8 pad[8]; .shared .align 16 .b8 buf[256];",
    )
    assert out.tolist() == list(range(63, -1, -1))


def test_warps_part_company_at_numbered_barriers() -> None:
    """Warp 0 produces for warp 1 through barrier 1 of 64 threads; warps 2 and 3 use barrier 2; then all meet."""
    out = run(
        """
    shr.u32 %r1, %r0, 5; shl.b32 %r2, %r0, 2; mov.u32 %r3, buf; add.u32 %r4, %r3, %r2;
    setp.ge.u32 %p1, %r1, 2; @%p1 bra OTHERS;
    setp.eq.u32 %p2, %r1, 1; @%p2 bra CONSUME;
    add.u32 %r5, %r0, 1000; st.shared.u32 [%r4], %r5; bar.arrive 1, 64; mov.u32 %r6, 1; bra.uni MEET;
CONSUME:
    bar.sync 1, 64; ld.shared.u32 %r6, [%r4+-128];
    bra.uni MEET;
OTHERS:
    st.shared.u32 [%r4], %r0; barrier.sync 2, 64; xor.b32 %r7, %r2, 128; add.u32 %r7, %r3, %r7;
    ld.shared.u32 %r6, [%r7];
MEET:
    bar.sync 0; st.global.u32 [%d1], %r6;
""",
        128,
        head=".shared .align 16 .b8 buf[512];",
    )
    assert out.tolist() == [1] * 32 + [1000 + t for t in range(32)] + list(range(96, 128)) + list(range(64, 96))


def test_barrier_reductions() -> None:
    out = run(
        """
    setp.lt.u32 %p1, %r0, 50; bar.red.popc.u32 %r1, 0, %p1; bar.red.and.pred %p2, 0, %p1;
    bar.red.or.pred %p3, 0, !%p1; selp.u32 %r2, 1000, 0, %p2; selp.u32 %r3, 2000, 0, %p3;
    add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; st.global.u32 [%d1], %r1;
""",
        64,
    )
    assert out.tolist() == [2050] * 64


def test_a_barrier_in_divergent_code_and_a_deadlock_are_errors() -> None:
    with pytest.raises(InterpreterError, match="divergent"):
        run("setp.lt.u32 %p1, %r0, 3; @%p1 bra A; bar.sync 0; A: add.u32 %r1, %r0, 1; st.global.u32 [%d1], %r1;")
    with pytest.raises(InterpreterError, match="deadlock"):
        run("setp.lt.u32 %p1, %r0, 32; @%p1 bar.sync 1, 96;", 64)

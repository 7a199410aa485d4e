"""The PTX interpreter as a machine: control flow, memory, calls, barriers, warp operations, worked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.ptx.interpreter import interpreter
from tests.support.ptx.interpreter.errors import InterpreterError
from tests.support.ptx.interpreter.interpreter import interpret
from tests.support.ptx.interpreter.lexer import PtxSyntaxError
from tests.support.ptx.interpreter.memory import AccessError
from tests.support.ptx.interpreter.operations import Unsupported

REGISTERS = """
    .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<20>; .reg .b64 %d<20>; .reg .f32 %f<8>; .reg .f64 %g<8>;
"""


def run(
    body: str, threads: int | tuple[int, int, int] = 32, words: int | None = None, *, grid: int = 1,
    head: str = "", arrays: tuple[np.ndarray, ...] = (), dtype: Any = np.uint32, dynamic: int = 0,
) -> np.ndarray:  # fmt: skip
    """The output buffer after a kernel whose body finds its address in %d0, %tid.x in %r0 and &out[tid] in %d1."""
    count = threads if isinstance(threads, int) else threads[0] * threads[1] * threads[2]
    out = np.zeros(words or count * grid, dtype=dtype)
    extra = "".join(f", .param .u64 in{k}" for k in range(len(arrays)))
    text = f"""
.version 8.0
.target sm_75
.address_size 64
{head}
.visible .entry k(.param .u64 out{extra})
{{ {REGISTERS}
    ld.param.u64 %d0, [out]; cvta.to.global.u64 %d0, %d0;
    mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, {out.dtype.itemsize}; add.s64 %d1, %d0, %d1;
{body}
    ret;
}}
"""
    interpret(text, "k", grid, threads, [out, *arrays], dynamic_shared=dynamic)
    return out


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


def test_extern_shared_lies_behind_static() -> None:
    out = run(
        "mov.u32 %r1, dyn; mov.u32 %r2, fixed; sub.u32 %r3, %r1, %r2; st.shared.u32 [dyn+60], %r3; "
        "ld.shared.u32 %r4, [%r1+60]; mov.u32 %r5, %dynamic_smem_size; add.u32 %r4, %r4, %r5;"
        "st.global.u32 [%d1], %r4;",
        32,
        head=".extern .shared .align 16 .b8 dyn[]; .shared .align 4 .b8 fixed[20];",
        dynamic=64,
    )
    assert out.tolist() == [32 + 64] * 32


def test_generic_addresses_reach_shared_local_and_global() -> None:
    out = run(
        """
    .shared .align 8 .b8 s[256]; .local .align 8 .b8 depot[16];
    mov.u64 %d2, s; cvta.shared.u64 %d3, %d2; mul.wide.u32 %d4, %r0, 4; add.s64 %d3, %d3, %d4;
    mov.u64 %d5, depot; cvta.local.u64 %d6, %d5; cvta.global.u64 %d7, %d1;
    and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 0; selp.b64 %d8, %d3, %d6, %p1;
    add.u32 %r2, %r0, 500; st.u32 [%d8], %r2; ld.u32 %r3, [%d8];
    isspacep.shared %p2, %d8; isspacep.local %p3, %d8; isspacep.global %p4, %d7;
    selp.u32 %r4, 10000, 0, %p2; selp.u32 %r5, 20000, 0, %p3; selp.u32 %r6, 100000, 0, %p4;
    add.u32 %r3, %r3, %r4; add.u32 %r3, %r3, %r5; add.u32 %r3, %r3, %r6;
    cvta.to.shared.u64 %d9, %d3; @%p1 ld.shared.u32 %r7, [%d9]; @!%p1 ld.local.u32 %r7, [depot];
    add.u32 %r3, %r3, %r7; st.u32 [%d7], %r3;
"""
    )
    assert out.tolist() == [2 * (500 + t) + 100000 + (20000 if t & 1 else 10000) for t in range(32)]


def test_const_and_global_variables_with_initialisers() -> None:
    head = """
.const .align 4 .b8 table[8] = {1, 2, 3, 4, 255};
.global .align 8 .u64 pointers[2] = {values, generic(values)+4};
.global .align 4 .f32 values[3] = {0f3F800000, 2.5};
.const .f64 one = 0d3FF0000000000000;
"""
    out = run(
        """
    ld.const.u32 %r1, [table+4]; ld.global.u64 %d2, [pointers+8]; ld.f32 %f1, [%d2]; ld.const.f64 %g1, [one];
    cvt.rn.f32.f64 %f2, %g1; add.f32 %f1, %f1, %f2; cvt.rzi.u32.f32 %r2, %f1; mad.lo.u32 %r1, %r2, 1000, %r1;
    ld.global.f32 %f3, [values+8]; cvt.rzi.u32.f32 %r3, %f3; add.u32 %r1, %r1, %r3; st.global.u32 [%d1], %r1;
""",
        head=head,
    )
    assert out.tolist() == [3255] * 32


def test_vectors_bytes_and_sign_extension() -> None:
    data = np.arange(256, dtype=np.uint8).reshape(-1)
    out = run(
        """
    ld.param.u64 %d2, [in0]; cvta.to.global.u64 %d2, %d2; mul.wide.u32 %d3, %r0, 4; add.s64 %d2, %d2, %d3;
    ld.global.v4.u8 {%h1, %h2, %h3, %h4}, [%d2+128]; ld.global.s8 %r1, [%d2+128]; ld.global.v2.u16 {%h5, %h6}, [%d2];
    mov.b32 %r2, {%h5, %h6}; cvt.u32.u16 %r3, %h4; shl.b32 %r3, %r3, 4; xor.b32 %r2, %r2, %r3;
    add.s32 %r2, %r2, %r1; st.global.u32 [%d1], %r2;
""",
        arrays=(data,),
    )
    words = data.view(np.uint32).tolist()
    signed = data.view(np.int8).tolist()
    expected = [((words[t] ^ (4 * t + 131) << 4) + signed[128 + 4 * t]) % 2**32 for t in range(32)]
    assert out.tolist() == expected


def test_mov_packs_low_element_first() -> None:
    out = run(
        "mov.b64 %d2, {%r0, 7}; mov.b64 {%r1, %r2}, %d2; shl.b32 %r2, %r2, 8; or.b32 %r1, %r1, %r2;"
        "st.global.u32 [%d1], %r1;"
    )
    assert out.tolist() == [t | 7 << 8 for t in range(32)]


CALLS = """
.func (.param .b32 r) leaf(.param .b32 x, .param .align 4 .b8 s[8])
{   .reg .b32 %r<5>; .reg .pred %p<2>;
    ld.param.u32 %r1, [x]; ld.param.u32 %r2, [s+4]; setp.gt.u32 %p1, %r1, 20; @%p1 bra BIG;
    add.u32 %r3, %r1, %r2; st.param.b32 [r], %r3; ret;
BIG: sub.u32 %r3, %r1, %r2; st.param.b32 [r], %r3; ret; }
.func (.reg .u32 %out) middle(.reg .u32 %in)
{   .reg .b32 %r<5>; .local .align 4 .b8 depot[8];
    mov.u32 %r1, 9; st.local.u32 [depot+4], %r1; st.local.u32 [depot], %in;
    { .param .b32 a; .param .align 4 .b8 b[8]; .param .b32 c;
      st.param.b32 [a], %in; st.param.b32 [b], 1; ld.local.u32 %r1, [depot+4]; st.param.b32 [b+4], %r1;
      call.uni (c), leaf, (a, b); ld.param.b32 %r2, [c]; }
    ld.local.u32 %r3, [depot]; mad.lo.u32 %out, %r3, 1000, %r2; ret; }
"""


def test_calls_pass_structs_by_value_and_return_from_several_places() -> None:
    out = run(
        """
    .local .align 4 .b8 mine[4]; st.local.u32 [mine], %r0; mov.u32 %r2, 77; setp.ne.u32 %p1, %r0, 3;
    @%p1 call (%r2), middle, (%r0);
    ld.local.u32 %r3, [mine]; mad.lo.u32 %r2, %r3, 1000000, %r2; st.global.u32 [%d1], %r2;
""",
        64,
        head=CALLS,
    )
    inner = [t * 1000 + (t - 9 if t > 20 else t + 9) for t in range(64)]
    inner[3] = 77
    assert out.tolist() == [t * 1000000 + inner[t] for t in range(64)]


def test_parameters_addressed_through_a_register() -> None:
    out = np.zeros(4, dtype=np.uint32)
    text = """
.entry k(.param .align 8 .b8 box[24], .param .u64 out)
{ .reg .b32 %r<4>; .reg .b64 %d<6>;
  mov.b64 %d1, box; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.s64 %d3, %d1, %d2;
  ld.param.u32 %r2, [%d3+8]; ld.param.u64 %d4, [out]; add.s64 %d4, %d4, %d2; st.global.u32 [%d4], %r2; ret; }
"""
    interpret(text, None, 1, 4, [np.arange(6, dtype=np.uint32).tobytes(), out])
    assert out.tolist() == [2, 3, 4, 5]


ATOMICS = {
    "add": (sum(range(64)), 5), "min": (0, 0), "max": (63, 63), "and": (0, 0), "or": (63, 63), "xor": (0, 5),
}  # fmt: skip


@pytest.mark.parametrize("name", ATOMICS)
def test_atomics_and_reductions(name: str) -> None:
    data = np.array([5], dtype=np.uint32)
    run(f"ld.param.u64 %d2, [in0]; red.global.{name}.u32 [%d2], %r0;", 64, arrays=(data,))
    operation = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or}
    expected = np.bitwise_xor if name == "xor" else operation[name]
    assert data[0] == expected.reduce(np.array([5, *range(64)], dtype=np.uint32), dtype=np.uint32)


def test_atomics_return_the_old_value() -> None:
    data = np.array([2, 9, 10], dtype=np.uint32)
    out = run(
        """
    ld.param.u64 %d2, [in0]; atom.global.inc.u32 %r1, [%d2], 5; atom.global.dec.u32 %r2, [%d2+4], 3;
    atom.global.cas.b32 %r3, [%d2+8], 10, 11; atom.global.exch.b32 %r4, [%d2+8], 10;
    shl.b32 %r2, %r2, 4; or.b32 %r1, %r1, %r2; shl.b32 %r3, %r3, 8; or.b32 %r1, %r1, %r3; st.global.u32 [%d1], %r1;
""",
        4,
        arrays=(data,),
    )
    assert [x & 15 for x in out.tolist()] == [2, 3, 4, 5]
    assert [x >> 4 & 15 for x in out.tolist()] == [9, 3, 2, 1]
    assert [x >> 8 for x in out.tolist()] == [10, 11, 11, 11]
    assert data.tolist() == [0, 0, 10]


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

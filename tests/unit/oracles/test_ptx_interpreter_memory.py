"""The PTX interpreter: memory, variables, vectors, calls, atomics, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ptx.interpreted import run
from tests.support.ptx.interpreter.interpreter import interpret


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

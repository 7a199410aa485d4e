"""What code from outside once got wrong: one minimal PTX text per defect, against the independent interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.errors import KernelFault
from binalloc.frontend.importer import import_ptx
from tests.support.ptx.bodies import both, emulate

HEAD = ".version 9.0\n.target sm_75\n.address_size 64\n"


def test_constants_added_to_a_parameter_go_into_the_offsets() -> None:
    """Every sum was kept in a pair of registers: parameter and constant are both no registers to the addition."""
    sums = "".join(f"add.s64 %rd{k}, %rd0, {4 * k};\n" for k in range(1, 9))
    atoms = "".join(f"red.global.add.u32 [%rd{k}], %r1;\n" for k in range(1, 9))
    text = HEAD + f"""
.visible .entry k(.param .u64 out)
{{
    .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<10>;
    ld.param.u64 %rd0, [out];
    {sums}
    mov.u32 %r1, %tid.x; mov.u32 %r2, 0;
L:  {atoms}
    add.s32 %r2, %r2, 1; setp.ne.s32 %p1, %r2, 3; @%p1 bra L;
    ret;
}}
"""
    figures = import_ptx(text, machine="gtx680").kernels[0]
    assert figures.register_demand <= 5


def test_offsets_from_a_parameter_are_exact() -> None:
    body = """
        ld.param.u64 %d2, [in]; add.s64 %d3, %d2, 16; add.s64 %d4, %d2, 4;
        ld.global.u32 %r1, [%d3+-8]; ld.global.u32 %r2, [%d4]; mad.lo.u32 %r1, %r1, 65537, %r2;
        st.global.u32 [%d1], %r1;"""
    data = np.random.default_rng(3).integers(0, 1 << 31, 64).astype(np.uint32)
    out = both(body, args=[data], params=(".param .u64 in",), dtype=np.uint32)
    assert (out == data[2:3] * np.uint32(65537) + data[1:2]).all()


@pytest.mark.parametrize("limit", [32, 31])
def test_a_failed_assertion_faults(limit: int) -> None:
    """`__assertfail` was refused as a function without a body."""
    text = HEAD + f"""
.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e) .noreturn;
.global .align 1 .b8 message[5] = {{97, 32, 60, 32, 98}};
.visible .entry k(.param .u64 out)
{{
    .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
    mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, {limit}; @%p1 bra fine;
    mov.u64 %rd1, message; cvta.global.u64 %rd2, %rd1;
    {{ .param .b64 p0; st.param.b64 [p0], %rd2; .param .b64 p1; st.param.b64 [p1], %rd2;
      .param .b32 p2; st.param.b32 [p2], 7; .param .b64 p3; st.param.b64 [p3], %rd2; .param .b64 p4;
      st.param.b64 [p4], 1; call.uni __assertfail, (p0, p1, p2, p3, p4); }}
fine:
    ld.param.u64 %rd3, [out]; st.global.u32 [%rd3], %r1;
    ret;
}}
"""
    module = import_ptx(text, machine="gtx680").module
    if limit == 32:
        assert emulate(module, [np.full(1, 99, np.uint32)], 1, 32)[0][0] in range(32)
    else:
        with pytest.raises(KernelFault):
            emulate(module, [np.full(1, 99, np.uint32)], 1, 32)


@pytest.mark.rotates("long")
def test_many_divergent_ways_out_of_one_loop_are_scheduled() -> None:
    """Stall counts told the 2^n orders apart in which a warp leaves an unrolled loop by n branches: never done."""
    body = "mov.u32 %r1, %r0; mov.u32 %r2, 3; mov.u32 %r4, 0;\n"
    ends = ""
    body += "again:\n"
    for k in range(40):
        body += f"add.u32 %r1, %r1, 1; setp.eq.u32 %p1, %r1, {k + 7}; @%p1 bra E{k};\n"
        ends += f"E{k}: add.u32 %r2, %r2, {k}; bra done;\n"
    body += "add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 3; @%p1 bra again; bra done;\n"
    out = both(body + ends + "done: st.global.u32 [%d1], %r2;", dtype=np.uint32)
    assert out.size == 32

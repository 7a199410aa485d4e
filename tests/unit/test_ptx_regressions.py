"""What code from outside once got wrong: one minimal PTX text per defect, against the independent interpreter."""

from __future__ import annotations

import numpy as np

from binalloc.frontend.importer import import_ptx
from tests.lower_kit import both

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
    figures = import_ptx(text).kernels[0]
    assert figures.register_demand <= 5


def test_offsets_from_a_parameter_are_exact() -> None:
    body = """
        ld.param.u64 %d2, [in]; add.s64 %d3, %d2, 16; add.s64 %d4, %d2, 4;
        ld.global.u32 %r1, [%d3+-8]; ld.global.u32 %r2, [%d4]; mad.lo.u32 %r1, %r1, 65537, %r2;
        st.global.u32 [%d1], %r1;"""
    data = np.random.default_rng(3).integers(0, 1 << 31, 64).astype(np.uint32)
    out = both(body, args=[data], params=(".param .u64 in",), dtype=np.uint32)
    assert (out == data[2:3] * np.uint32(65537) + data[1:2]).all()

"""Small PTX kernels for launches from Python: y = a x + y, a scale in place, parameters stored, a variable counted."""

from __future__ import annotations

HEAD = ".version 7.5\n.target sm_75\n.address_size 64\n"

_INDEX = """
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra DONE;
    mul.wide.u32 %rd3, %r4, 4;
"""
_REGISTERS = """
    .reg .pred %p<3>;
    .reg .b32 %r<9>;
    .reg .f32 %f<9>;
    .reg .b64 %rd<9>;
"""

AXPY = (
    """
.visible .entry axpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
{"""
    + _REGISTERS
    + """
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.f32 %f1, [a];
    ld.param.u32 %r5, [n];
"""
    + _INDEX
    + """
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4];
    ld.global.f32 %f3, [%rd5];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%rd5], %f4;
DONE:
    ret;
}
"""
)

SCALE = (
    """
.visible .entry scale(.param .u64 x, .param .f32 a, .param .u32 n)
{"""
    + _REGISTERS
    + """
    ld.param.u64 %rd1, [x];
    ld.param.f32 %f1, [a];
    ld.param.u32 %r5, [n];
"""
    + _INDEX
    + """
    add.s64 %rd4, %rd1, %rd3;
    ld.global.f32 %f2, [%rd4];
    mul.rn.f32 %f3, %f1, %f2;
    st.global.f32 [%rd4], %f3;
DONE:
    ret;
}
"""
)

STORE = """
.global .align 4 .u32 total[2];
.visible .entry store(.param .u64 out, .param .u64 value, .param .align 4 .b8 pair[12])
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [value];
    ld.param.u32 %r1, [pair+4];
    ld.param.u32 %r2, [pair+8];
    st.global.u64 [%rd1], %rd2;
    st.global.u32 [%rd1+8], %r1;
    st.global.u32 [%rd1+12], %r2;
    ld.global.u32 %r3, [total];
    add.u32 %r3, %r3, 1;
    st.global.u32 [total], %r3;
    ret;
}
"""

BOTH = HEAD + AXPY + SCALE
"""A module of two kernels."""

"""A kernel over linked structs: each thread walks a list from its head and leaves the sum, and where the list ends."""

from __future__ import annotations

NODE = 24
"""Bytes of a node { u8 kind; f32 value; i16 tag[3]; node *next; }."""

WALK = """.version 7.5
.target sm_75
.address_size 64
.visible .entry walk(.param .u64 heads, .param .u64 sums, .param .u64 ends, .param .u32 n)
{
    .reg .pred %p<3>;
    .reg .b32 %r<9>;
    .reg .f32 %f<9>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [heads];
    ld.param.u64 %rd2, [sums];
    ld.param.u64 %rd6, [ends];
    ld.param.u32 %r5, [n];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra DONE;
    mul.wide.u32 %rd3, %r4, 8;
    add.s64 %rd7, %rd1, %rd3;
    ld.global.u64 %rd4, [%rd7];
    add.s64 %rd7, %rd6, %rd3;
    mov.u64 %rd5, 0;
    mov.f32 %f1, 0f00000000;
LOOP:
    setp.eq.u64 %p2, %rd4, 0;
    @%p2 bra STORE;
    mov.u64 %rd5, %rd4;
    ld.global.f32 %f2, [%rd4+4];
    add.f32 %f1, %f1, %f2;
    ld.global.u64 %rd4, [%rd4+16];
    bra LOOP;
STORE:
    st.global.u64 [%rd7], %rd5;
    mul.wide.u32 %rd5, %r4, 4;
    add.s64 %rd5, %rd2, %rd5;
    st.global.f32 [%rd5], %f1;
DONE:
    ret;
}
"""

NODE_TYPE = {
    "fields": [
        {"name": "kind", "dtype": "u8"},
        {"name": "value", "dtype": "f32"},
        {"name": "tag", "dtype": "i16", "shape": 3},
        {"name": "next", "dtype": "ptr"},
    ]
}

TWICE = """.version 7.5
.target sm_75
.address_size 64
.visible .entry twice(.param .u64 nodes, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [nodes];
    ld.param.u32 %r2, [n];
    mov.u32 %r1, %tid.x;
    setp.ge.u32 %p1, %r1, %r2;
    @%p1 bra DONE;
    mad.wide.u32 %rd2, %r1, 24, %rd1;
    ld.global.f32 %f1, [%rd2+4];
    add.f32 %f2, %f1, %f1;
    st.global.f32 [%rd2+4], %f2;
    st.global.u8 [%rd2+1], %r1;
    st.global.u64 [%rd2+16], %rd2;
DONE:
    ret;
}
"""
"""Each node's value is doubled, and leads to itself; a byte of padding has the thread's number."""

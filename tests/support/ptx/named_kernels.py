"""A PTX module whose kernels have C++ names, and a launch of one."""

from __future__ import annotations

ENTRY = """
.visible .entry {name}(.param .u64 {name}_param_0)
{{ .reg .b32 %r<3>; .reg .b64 %d<3>; ld.param.u64 %d1, [{name}_param_0]; cvta.to.global.u64 %d1, %d1;
   mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.s64 %d2, %d1, %d2; add.u32 %r1, %r1, {plus};
   st.global.u32 [%d2], %r1; ret; }}
"""
PTX = ".version 8.0\n.target sm_75\n.address_size 64\n" + "".join(
    ENTRY.format(name=name, plus=plus) for plus, name in enumerate(["_Z3addPj", "_ZN2ns1kIfLi4EEEvPT_", "_Z1kPj"])
)
LAUNCH = """kernel = "{kernel}"
grid = 1
block = 32
[[argument]]
name = "out"
kind = "buffer"
dtype = "u32"
shape = 32
"""

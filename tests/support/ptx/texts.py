"""PTX text that several tests build on: a module's head, a kernel around a body, functions that cannot be imported.

In the kernel of `kernel`, `%d0` is the address of the output buffer, `%r0` is %tid.x, `%d1` the address of the thread's
own element. Registers %p0..15, %h (16 bits), %r, %d (64), %f, %g (f64) are declared.
"""

from __future__ import annotations

from collections.abc import Sequence

REGISTERS = "{ .reg .pred %p<4>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>;\n"
HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"


def entry(name: str, body: str, head: str = "") -> str:
    """A kernel whose body begins on a line of its own."""
    return f"{head}.visible .entry {name}(.param .u64 {name}_param_0) {REGISTERS}{body}\nret; }}\n"


GOOD = "ld.param.u64 %d1, [good_param_0]; cvta.to.global.u64 %d1, %d1; mov.u32 %r1, 7; st.global.u32 [%d1], %r1;"
FUNCTION = f""".func (.reg .b32 %r8) bad(.reg .b32 %r7) {REGISTERS.replace("%r<9>", "%r<7>")}alloca.u64 %d1, 8;
mov.u32 %r8, %envreg3; ret; }}
"""


MIXED = (
    HEAD
    + FUNCTION  # lines 4 to 6
    + entry("good", GOOD)
    + entry("stack", "stacksave.u64 %d1;\nmov.u32 %r1, 3;\n@%p1 stackrestore.u64 %d1;")
    + entry("caller", "call (%r1), bad, (%r2);")
    + entry("good2", GOOD.replace("good_", "good2_"))
)

BODY_REGISTERS = """
    .reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<40>; .reg .b64 %d<40>; .reg .f32 %f<16>; .reg .f64 %g<16>;
"""


def kernel(body: str, *, head: str = "", params: Sequence[str] = (), size: int = 4, bounds: str = "") -> str:
    """A module with kernel `k`. params: declarations of the parameters behind `out`. size: of an output element."""
    extra = "".join(f", {p}" for p in params)
    return f"""{HEAD}{head}
.visible .entry k(.param .u64 out{extra}) {bounds}
{{ {BODY_REGISTERS}
    ld.param.u64 %d0, [out]; cvta.to.global.u64 %d0, %d0;
    mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, {size}; add.s64 %d1, %d0, %d1;
{body}
    ret;
}}
"""

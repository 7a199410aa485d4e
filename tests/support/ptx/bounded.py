"""Kernels with directives that set a budget, and so many values live at once that few registers do not hold them."""

from __future__ import annotations


def bounded(directives: str = "", body: str = "", live: int = 60) -> str:
    """Kernel k: `live` floats are loaded, then, behind a barrier, each is made of itself and its neighbour, and stored.
    directives: behind the parameters; body: before the first instruction."""
    values = range(1, live + 1)
    loads = "\n".join(f"ld.global.f32 %f{i}, [%rd4+{256 * (i - 1)}];" for i in values)
    sums = "\n".join(f"fma.rn.f32 %f{i}, %f{i}, %f{i + 1}, %f{live};" for i in values[:-1])
    stores = "\n".join(f"st.global.f32 [%rd5+{256 * (i - 1)}], %f{i};" for i in values)
    return f""".version 8.7
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {directives}
{{
{body}
.reg .f32 %f<{live + 1}>; .reg .b64 %rd<9>; .reg .b32 %r<3>;
ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
{loads}
bar.sync 0;
{sums}
{stores}
ret;
}}
"""


SMEM_SPILLING = '.pragma "enable_smem_spilling";'

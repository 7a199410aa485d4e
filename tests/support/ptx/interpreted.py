"""A kernel around a body, run by the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.ptx.interpreter.interpreter import interpret

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

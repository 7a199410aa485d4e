"""A kernel around a body, run by the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.ptx.interpreter.interpreter import interpret
from tests.support.ptx.texts import kernel


def run(
    body: str, threads: int | tuple[int, int, int] = 32, words: int | None = None, *, grid: int = 1,
    head: str = "", arrays: tuple[np.ndarray, ...] = (), dtype: Any = np.uint32, dynamic: int = 0,
) -> np.ndarray:  # fmt: skip
    """The output buffer after a kernel whose body finds its address in %d0, %tid.x in %r0 and &out[tid] in %d1."""
    count = threads if isinstance(threads, int) else threads[0] * threads[1] * threads[2]
    out = np.zeros(words or count * grid, dtype=dtype)
    inputs = [f".param .u64 in{k}" for k in range(len(arrays))]
    text = kernel(body, head=head, params=inputs, size=out.dtype.itemsize)
    interpret(text, "k", grid, threads, [out, *arrays], dynamic_shared=dynamic)
    return out

"""PTX from tinygrad's renderer: what it makes of operations on tensors, none of which are computed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

os.environ["DEV"] = "NULL"  # before tinygrad is imported: tensors without memory

from tinygrad import Tensor, dtypes
from tinygrad.engine.realize import to_program
from tinygrad.helpers import Target
from tinygrad.renderer.ptx import PTXRenderer
from tinygrad.uop.ops import Ops

from tests.foreign.producers.made import Made

ARCHITECTURES = ("sm_75", "sm_80", "sm_89")
_OPERATIONS: dict[str, Callable[[], Tensor]] = {
    "add": lambda: Tensor.empty(1000) + Tensor.empty(1000),
    "product": lambda: (Tensor.empty(64, 64) @ Tensor.empty(64, 64)).relu(),
    "product_half": lambda: Tensor.empty(64, 64, dtype=dtypes.half) @ Tensor.empty(64, 64, dtype=dtypes.half),
    "softmax": lambda: Tensor.empty(32, 100).softmax(),
    "layernorm": lambda: Tensor.empty(16, 128).layernorm(),
    "convolution": lambda: Tensor.empty(1, 3, 16, 16).conv2d(Tensor.empty(4, 3, 3, 3)),
    "pool": lambda: Tensor.empty(1, 4, 16, 16).max_pool2d(),
    "cumsum": lambda: Tensor.empty(300).cumsum(),
    "argmax": lambda: Tensor.empty(20, 50).argmax(axis=1),
    "gather": lambda: Tensor.empty(20, 30)[Tensor.empty(7, dtype=dtypes.int)],
    "where": lambda: (Tensor.empty(500) > 0).where(Tensor.empty(500).exp(), Tensor.empty(500).log()),
    "sin": lambda: Tensor.empty(500).sin(),
    "bytes": lambda: (Tensor.empty(500, dtype=dtypes.uint8).cast(dtypes.int) * 3).cast(dtypes.uint8),
    "long": lambda: Tensor.empty(500, dtype=dtypes.int64) // 7 + Tensor.empty(500, dtype=dtypes.int64) % 5,
    "double": lambda: Tensor.empty(500, dtype=dtypes.double) * 2 + 1,
    "bits": lambda: (Tensor.empty(500, dtype=dtypes.uint) ^ 5) << 3,
    "transpose": lambda: Tensor.empty(60, 70).T.contiguous(),
    "random": lambda: Tensor.rand(200),
    "sort": lambda: Tensor.empty(64).sort()[0],
    "attention": lambda: Tensor.empty(1, 2, 32, 16).scaled_dot_product_attention(
        Tensor.empty(1, 2, 32, 16), Tensor.empty(1, 2, 32, 16)),
}  # fmt: skip


def own(only: set[str]) -> Iterator[Made]:
    """A file for each kernel of an operation."""
    for name, operation in _OPERATIONS.items():
        if only and name not in only:
            continue
        kernels = [call.src[0] for call in operation().schedule_linear().src if call.src[0].op is Ops.SINK]
        for number, kernel in enumerate(kernels):
            for arch in ARCHITECTURES:
                yield Made("tinygrad", f"{name}_{number}.{arch}", lambda k=kernel, a=arch: (rendered(k, a), ""))


def rendered(kernel: object, arch: str) -> str:
    """The renderer's text, completed as tinygrad completes it."""
    renderer = PTXRenderer(Target("CUDA", "PTX", arch))
    source = next(s.arg for s in to_program(kernel, renderer).src if s.op is Ops.SOURCE)
    return str(renderer.compiler.compile(source).decode())

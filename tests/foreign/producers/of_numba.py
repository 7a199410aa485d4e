"""PTX from Numba-CUDA: kernels of our own, optimised and not."""

from __future__ import annotations

import json
from collections.abc import Iterator

from numba import cuda

from tests.foreign.producers.made import Made
from tests.foreign.producers.numba_kernels import KERNELS, Kernel

CAPABILITIES = ((7, 5), (8, 0), (9, 0), (10, 0))


def own(only: set[str]) -> Iterator[Made]:
    """Those of `numba_kernels`."""
    for kernel in KERNELS:
        for major, minor in CAPABILITIES if not only or kernel.called in only else ():
            for debug in (False, True) if (major, minor) == CAPABILITIES[0] else (False,):
                name = f"{kernel.called}.sm_{major}{minor}{'.debug' * debug}"
                yield Made("numba", name, lambda k=kernel, c=(major, minor), d=debug: made_of(k, c, d))


def made_of(kernel: Kernel, capability: tuple[int, int], debug: bool) -> tuple[str, str]:
    """PTX of a kernel, and what a launch of it must know, as JSON."""
    ptx, _ = cuda.compile_ptx(kernel.function, kernel.types, cc=capability, debug=debug, opt=not debug, device=False,
                              abi="numba")  # fmt: skip
    return ptx, json.dumps({"kernel": kernel.called, "arguments": [str(t) for t in kernel.types]})

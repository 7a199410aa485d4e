"""A kernel in its binary: which one is meant, what it reaches, and what of an SM it takes."""

from __future__ import annotations

from collections.abc import Collection
from math import prod
from typing import TYPE_CHECKING

from binalloc.errors import Hint, UsageError
from binalloc.isa.instruction import Function, FunctionInfo, Module
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.names.kernels import choose_kernel
from binalloc.pipeline.block import Three

if TYPE_CHECKING:
    from binalloc.launch.file import Launch


def reachable(module: Module, kernel: str, known: Collection[str] | None = None) -> list[Function]:
    """The kernel and every function it may call, kernel first, then as in the file. known: their names, if at hand."""
    from binalloc.analysis.flow.callgraph import build_callgraph

    names = set(build_callgraph(module, kernel).functions if known is None else known)
    return sorted((fn for fn in module if fn.name in names), key=lambda fn: fn.name != kernel)


_NO_KERNEL = "Kernels alone can be run; of functions, import the PTX of both together: import-ptx A.ptx B.ptx."


def find_kernel(module: Module, name: str | None) -> Function:
    """The kernel that `name` means (`names.kernels`), or the only one. UsageError if it means none or several."""
    kernels = module.kernels()
    if name is None:
        if len(kernels) != 1:
            raise UsageError(
                "the binary has several kernels" if kernels else "the binary has no kernel",
                file=module.path or None,
                found=", ".join(k.name for k in kernels) or "none",
                remedy=Hint("Name one: {kernel}.") if kernels else _NO_KERNEL,
            )
        return kernels[0]
    return module.function(choose_kernel(name, [k.name for k in kernels], module.path or None))


def block_threads(kernel: Function, launch: Launch | None, block: Three | None = None) -> int:
    """Threads per block: the launch's, else those of `block`, else the binary's required block size, else its launch
    bound."""
    if launch is not None:
        return launch.threads_per_block
    if block is not None:
        return prod(block)
    if any(kernel.info.block):
        x, y, z = (b or 1 for b in kernel.info.block)
        return x * y * z
    if kernel.info.max_threads:
        return kernel.info.max_threads
    raise UsageError(
        "the block size is unknown",
        place=f"kernel {kernel.name}",
        expected="a block size, a launch file, or .block in the binary",
        remedy=Hint("Give {block} or {launch}; or write `.block` into the source, or import PTX with {block_dim}."),
    )


def knows_threads(kernel: Function, launch: Launch | None, block: Three | None = None) -> bool:
    """Whether `block_threads` has an answer."""
    return launch is not None or block is not None or any(kernel.info.block) or bool(kernel.info.max_threads)


def kernel_use(kernel: Function, launch: Launch | None, block: Three | None = None) -> KernelUse:
    """What the kernel takes of an SM, as its record and the launch say. block: where there is no launch."""
    dynamic = launch.dynamic_shared if launch is not None else 0
    return KernelUse.of(kernel.info, block_threads(kernel, launch, block), dynamic)


def local_bytes(kernel: FunctionInfo) -> int:
    """Bytes of local memory that each thread of a launch has: the kernel's own frame, those of what it calls, and the
    spill area. A static figure: what of it is touched only a run tells."""
    return kernel.local_bytes + kernel.spill_local

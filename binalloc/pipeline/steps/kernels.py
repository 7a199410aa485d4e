"""This module finds a kernel in its binary, the functions it reaches, and the resources of an SM that it takes."""

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
    """Return the kernel and every function it may call, the kernel first, then in the order of the file.

    known: their names, if they are known already.
    """
    from binalloc.analysis.flow.callgraph import build_callgraph

    names = set(build_callgraph(module, kernel).functions if known is None else known)
    return sorted((fn for fn in module if fn.name in names), key=lambda fn: fn.name != kernel)


_NO_KERNEL = "Kernels alone can be run; of functions, import the PTX of both together: import-ptx A.ptx B.ptx."


def find_kernel(module: Module, name: str | None) -> Function:
    """Return the kernel that `name` means (`names.kernels`); without a name, the only kernel.

    Raises UsageError if there is none, or more than one.
    """
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
    """Return the threads per block: the launch's, else of `block`, else of the binary's required block size, else its
    launch bound. Raises UsageError if there is none of these."""
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
    """Return whether `block_threads` finds the threads per block."""
    return launch is not None or block is not None or any(kernel.info.block) or bool(kernel.info.max_threads)


def kernel_use(kernel: Function, launch: Launch | None, block: Three | None = None) -> KernelUse:
    """Return the resources of an SM that the kernel takes, by its record and the launch.

    block: the block size if there is no launch.
    """
    dynamic = launch.dynamic_shared if launch is not None else 0
    return KernelUse.of(kernel.info, block_threads(kernel, launch, block), dynamic)


def local_bytes(kernel: FunctionInfo) -> int:
    """Return the bytes of local memory that each thread of a launch has.

    They are the frames of the kernel and of the functions it calls, and the spill area. The figure is static; only a
    run shows how much of this memory is accessed.
    """
    return kernel.local_bytes + kernel.spill_local

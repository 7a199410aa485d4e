"""This module reports a suggested launch file as JSON, for `launch-skeleton --json`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.pipeline.skeleton.program import Skeleton
from binalloc.pipeline.skeleton.types import ArgumentEntry, KernelSkeleton

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.skeleton import SkeletonArgument, SkeletonFields, SkeletonKernel


def skeleton_to_dict(skeleton: Skeleton) -> SkeletonFields:
    """Return a suggestion as `launch-skeleton --json` prints it, without version, output, machine and text."""
    return {
        "sequence": skeleton.sequence,
        "launch": skeleton.table(),
        "left_out": [{"kernel": name, "reason": str(refused)} for name, refused in skeleton.left_out],
        "kernels": [_kernel(kernel) for kernel in skeleton.kernels],
    }


def _kernel(kernel: KernelSkeleton) -> SkeletonKernel:
    return {
        "kernel": kernel.kernel,
        "signature": kernel.signature or None,
        "grid": list(kernel.grid),
        "block": list(kernel.block),
        "dynamic_shared": kernel.dynamic_shared,
        "cooperative": kernel.cooperative,
        "reasons": kernel.reasons,
        "notes": kernel.notes,
        "arguments": [_argument(entry) for entry in kernel.entries],
    }


def _argument(entry: ArgumentEntry) -> SkeletonArgument:
    access = "read and written" if entry.reads and entry.writes else "read" if entry.reads else "written"
    return {
        "name": entry.name,
        "parameter": entry.parameter or None,
        "kind": entry.keys["kind"],
        "dtype": entry.keys.get("dtype"),
        "access": access if entry.reads or entry.writes else None,
        "known": entry.known,
        "commented": entry.off,
        "reasons": entry.reasons,
    }

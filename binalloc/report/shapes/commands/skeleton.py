"""These are the shapes of `launch-skeleton`."""

from __future__ import annotations

from typing import Annotated, Any

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import OnMachine, Versioned
from binalloc.report.shapes.says import says


class KernelWithoutLaunch(TypedDict):
    """A kernel that has no launch."""

    kernel: Annotated[str, says("a kernel, of several, that has no launch")]
    reason: Annotated[str, says("why")]


class SkeletonArgument(TypedDict):
    """An argument of a launch."""

    name: Annotated[str, says("an argument")]
    parameter: Annotated[
        str | None,
        says("the kernel's parameter that takes it; null for what a struct points to, and for variables"),
    ]
    kind: Annotated[str, says("`buffer`, `scalar`, `struct`, `texture`, `surface`, `pointer`, `symbol`")]
    dtype: Annotated[str | None, says("of its elements; null for structs")]
    access: Annotated[str | None, says("of a buffer: `read`, `written`, `read and written`, or null")]
    known: Annotated[bool, says("false where neither code nor name tells anything but its size")]
    commented: Annotated[bool, says("whether it is a comment in the file: variables, which need no argument")]
    reasons: Annotated[list[str], says("why it is that, a sentence each")]


class SkeletonKernel(TypedDict):
    """A kernel that the file launches."""

    kernel: Annotated[str, says("a kernel")]
    signature: Annotated[str | None, says("its C++ name with its parameters' types, or null")]
    grid: Annotated[list[int], says("blocks in x, y, z")]
    block: Annotated[list[int], says("threads in x, y, z")]
    dynamic_shared: Annotated[int, says("bytes")]
    cooperative: Annotated[bool, says("whether its blocks wait for one another")]
    reasons: Annotated[dict[str, str], says("why grid, block, dynamic_shared and cooperative are as they are, by name")]
    notes: Annotated[list[str], says("what is to be known of the whole kernel")]
    arguments: Annotated[list[SkeletonArgument], says("arguments of the launch")]


class SkeletonFields(TypedDict):
    """The fields of what `launch-skeleton` prints."""

    sequence: Annotated[bool, says("whether it has `[[step]]` tables")]
    launch: Annotated[
        dict[str, Any],
        says("the launch file's tables and keys, as [LAUNCH.md](../launch/LAUNCH.md) has them"),
    ]
    left_out: Annotated[list[KernelWithoutLaunch], says("kernels, of several, that have no launch")]
    kernels: Annotated[list[SkeletonKernel], says("kernels that the file launches")]


class SkeletonJson(Versioned, SkeletonFields, OnMachine):
    """What `launch-skeleton` prints."""

    output: Annotated[str | None, says("path of the launch file; null without -o")]
    text: Annotated[str, says("the file")]

"""This module has the shapes of `launch-skeleton`."""

from __future__ import annotations

from typing import Annotated, Any

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import OnMachine, Versioned
from binalloc.report.shapes.says import says


class KernelWithoutLaunch(TypedDict):
    """This object describes a kernel, of several, for which there is no launch."""

    kernel: Annotated[str, says("name of the kernel")]
    reason: Annotated[str, says("why there is no launch for it")]


class SkeletonArgument(TypedDict):
    """This object describes an argument of a launch."""

    name: Annotated[str, says("name of the argument in the launch file")]
    parameter: Annotated[
        str | None,
        says("parameter of the kernel that takes the argument; null for variables, and for what a struct points to"),
    ]
    kind: Annotated[str, says("`buffer`, `scalar`, `struct`, `texture`, `surface`, `pointer` or `symbol`")]
    dtype: Annotated[str | None, says("type of its elements; null for structs")]
    access: Annotated[
        str | None,
        says("how the kernel uses a buffer: `read`, `written`, or `read and written`; null where it does neither"),
    ]
    known: Annotated[bool, says("false where neither the code nor the name says more than its size")]
    commented: Annotated[bool, says("whether the file has it as a comment only: variables need no argument")]
    reasons: Annotated[list[str], says("why the argument is as it is, a sentence each")]


class SkeletonKernel(TypedDict):
    """This object describes a kernel that the file launches."""

    kernel: Annotated[str, says("name of the kernel in the binary")]
    signature: Annotated[
        str | None, says("C++ name of the kernel with the types of its parameters; null where its name is no C++ name")
    ]
    grid: Annotated[list[int], says("blocks of the grid in x, y and z")]
    block: Annotated[list[int], says("threads of a block in x, y and z")]
    dynamic_shared: Annotated[int, says("dynamic shared memory per block, in bytes")]
    cooperative: Annotated[bool, says("whether the blocks of the kernel wait for one another")]
    reasons: Annotated[
        dict[str, str], says("why `grid`, `block`, `dynamic_shared` and `cooperative` are as they are, by name")
    ]
    notes: Annotated[list[str], says("facts about the whole kernel, a sentence each")]
    arguments: Annotated[list[SkeletonArgument], says("arguments of the launch")]


class SkeletonFields(TypedDict):
    """These fields describe a launch file that is suggested."""

    sequence: Annotated[bool, says("whether the file has a sequence of launches (`[[step]]` tables)")]
    launch: Annotated[
        dict[str, Any],
        says("tables and keys of the launch file, as [LAUNCH.md](../launch/LAUNCH.md) describes them"),
    ]
    left_out: Annotated[list[KernelWithoutLaunch], says("kernels, of several, for which there is no launch")]
    kernels: Annotated[list[SkeletonKernel], says("kernels that the file launches")]


class SkeletonJson(Versioned, SkeletonFields, OnMachine):
    """`launch-skeleton` prints this object."""

    output: Annotated[str | None, says("path of the launch file; null without -o")]
    text: Annotated[str, says("the launch file as text")]

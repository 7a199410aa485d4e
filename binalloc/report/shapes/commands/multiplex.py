"""This module has the shapes of `multiplex`."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import OnMachine, Versioned
from binalloc.report.shapes.says import says


class DividedVariableJson(TypedDict):
    """This object is a shared variable with private bytes."""

    name: Annotated[str, says("name of the variable in the binary")]
    private_bytes: Annotated[int, says("its first bytes that are private")]
    bytes: Annotated[int, says("bytes of the whole variable")]


class SchemeJson(TypedDict):
    """This object is one version of a kernel whose shared memory is multiplexed."""

    scheme: Annotated[str, says("`vtb`, `hw`, `co-vtb` or `co-hw`; `shorter` for shorter access regions alone")]
    merge: Annotated[int | None, says("blocks that are merged into one; null for `hw` and `co-hw`")]
    over: Annotated[
        int | None, says("most blocks an SM beyond those of static memory; null for no limit, and if blocks are merged")
    ]
    shorter_regions: Annotated[bool, says("whether access regions were made shorter first")]
    refused: Annotated[str | None, says("why there is no such version; null if there is one")]
    regions: NotRequired[Annotated[int, says("access regions of the kernel; left out if it was refused, as below")]]
    registers: NotRequired[Annotated[int, says("registers per thread")]]
    slots: NotRequired[Annotated[int, says("slots per thread")]]
    shared_bytes: NotRequired[
        Annotated[int, says("bytes of shared memory that a block, or merged block, has from its start to its end")]
    ]
    blocks_per_sm: NotRequired[
        Annotated[
            int,
            says("resident blocks, or merged blocks, per SM; of `hw` and `co-hw` as far as their private bytes go"),
        ]
    ]
    private_bytes: NotRequired[
        Annotated[
            int,
            says(
                "bytes that each block has to itself, with those common to all blocks; of `co-vtb` bytes of which each "
                "virtual block has a copy; left out for `vtb`"
            ),
        ]
    ]
    public_bytes: NotRequired[Annotated[int, says("bytes that blocks use in turns; left out for `vtb`")]]
    divided: NotRequired[
        Annotated[list[DividedVariableJson], says("variables with private bytes; left out for `vtb` and `hw`")]
    ]
    cycles: NotRequired[Annotated[int, says("emulated cycles")]]
    speedup: NotRequired[Annotated[float, says("the original's emulated cycles over these")]]
    same_results: NotRequired[Annotated[bool | None, says("whether it left the same as the original")]]
    proven: NotRequired[Annotated[bool, says("whether the checker has proven it, for all launches with such blocks")]]
    unproven: NotRequired[Annotated[str | None, says("why it is not proven; null if it is")]]


class ChosenVersionJson(TypedDict):
    """This object is the fastest version that is proven and leaves the original's results."""

    scheme: Annotated[
        str, says("its scheme; `shorter` for shorter access regions alone; `original` where no version is faster")
    ]
    merge: Annotated[int | None, says("blocks that are merged into one; null for other schemes")]
    over: Annotated[int | None, says("most blocks an SM beyond those of static memory; null for no limit")]
    shorter_regions: Annotated[bool, says("whether access regions were made shorter")]
    speedup: Annotated[float, says("its emulated speedup; 1 for the original")]


class MultiplexedOriginalJson(TypedDict):
    """This object is the kernel as it is, in the fastest way to run it that was found."""

    version: Annotated[str, says("the original as it came, in another order, or allocated anew")]
    registers: Annotated[int, says("registers per thread")]
    shared_bytes: Annotated[int, says("bytes of shared memory of a block")]
    blocks_per_sm: Annotated[int, says("resident blocks per SM")]
    limits: Annotated[list[str], says("resources that keep an SM from holding more blocks")]
    cycles: Annotated[int, says("emulated cycles")]


class MultiplexingJson(TypedDict):
    """These fields compare a kernel with versions whose shared memory is multiplexed."""

    original: Annotated[MultiplexedOriginalJson, says("the kernel as it is")]
    region_share: NotRequired[
        Annotated[
            float,
            says(
                "share of a block's life in access regions, averaged over blocks, with barriers at their bounds; left "
                "out without `--share`"
            ),
        ]
    ]
    shorter: NotRequired[
        Annotated[SchemeJson, says("shorter access regions alone, without any scheme; left out if none were asked for")]
    ]
    schemes: Annotated[list[SchemeJson], says("the versions that were asked for")]
    chosen: NotRequired[Annotated[ChosenVersionJson, says("the choice of `--scheme auto`; left out for other schemes")]]
    output: Annotated[str | None, says("file that the version was written to; null if none was written")]


class MultiplexJson(Versioned, OnMachine, MultiplexingJson):
    """This object is what `multiplex` prints."""

    kernel: Annotated[str, says("name of the kernel")]

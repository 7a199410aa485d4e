"""This module has the shapes of `demo`."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import BothCounts, Versioned
from binalloc.report.shapes.parts.versions import LevelJson, SpeedupParts, VersionJson
from binalloc.report.shapes.says import says


class VerifiedVersion(VersionJson):
    """This object is a version whose results were compared."""

    verified: Annotated[bool, says("whether the results of the version equal the results of the reference")]


class UnifiedChoice(TypedDict):
    """This object is the choice of the unified paper's static policy."""

    blocks_per_sm: Annotated[int, says("resident blocks per SM of the chosen version")]
    registers: Annotated[int, says("registers per thread of the chosen version")]
    slots: Annotated[int, says("slots per thread of the chosen version")]
    kept_original: Annotated[bool, says("whether the policy keeps the original")]
    reason: Annotated[str, says("steps of the policy's decision")]
    speedup: Annotated[
        float | None,
        says("emulated speedup of the chosen version over the original; null without runs"),
    ]


class NearestVersion(VersionJson):
    """This object is the fastest version that did not beat the original."""

    speedup: Annotated[float, says("emulated speedup over the original")]


class DemoKernelJson(TypedDict):
    """This object describes a sample of one launch."""

    sample: Annotated[str, says("name of the sample")]
    kernel: Annotated[str, says("name of its kernel")]
    verified: Annotated[bool, says("whether all versions are proven and have the results of the reference")]
    rewritten: Annotated[bool, says("whether a version is faster than the input")]
    by_order_alone: Annotated[
        bool,
        says("whether that version is the input with its instructions in another order, at its own number of blocks"),
    ]
    reason: Annotated[str, says("why this version was chosen")]
    original: Annotated[VerifiedVersion, says("the input with the control codes of this machine")]
    ordered: Annotated[
        VerifiedVersion | None,
        says(
            "the original with its instructions in another order, over which speedups are; null where they are over "
            "`original`"
        ),
    ]
    local: Annotated[
        VerifiedVersion | None,
        says("spills to local memory alone, at the number of blocks of `best`; null where the original was kept"),
    ]
    best: Annotated[VerifiedVersion, says("the chosen version")]
    speedup: Annotated[
        float | None,
        says(
            "emulated cycles of `ordered`, or of `original` where that is null, over the cycles of `best`; null "
            "without runs"
        ),
    ]
    ordering: Annotated[
        float | None,
        says(
            "emulated cycles of `original` over the cycles of `ordered`, which `speedup` leaves out; 1 where "
            "`ordered` is null; null without runs"
        ),
    ]
    rescheduling: Annotated[
        float | None,
        says(
            "emulated cycles of the input with its own control codes over the cycles of `original`; null without runs"
        ),
    ]
    parts: Annotated[SpeedupParts, says("factors of `speedup`")]
    unified: Annotated[UnifiedChoice, says("choice of the unified paper's static policy")]
    nearest: Annotated[
        NearestVersion | None,
        says(
            "fastest level that did not beat the original; null where values of `best` were allocated anew, and "
            "without such a level"
        ),
    ]
    levels: Annotated[list[LevelJson], says("levels that the search looked at")]


class DemoLaunchedKernel(TypedDict):
    """This object describes a kernel of a sequence of launches."""

    kernel: Annotated[str, says("name of the kernel in the binary")]
    name: Annotated[str, says("C++ name of the kernel without result and parameters, or its name in the binary")]
    kept_original: Annotated[bool, says("whether the kernel stays as it is")]
    by_order_alone: Annotated[
        bool,
        says("whether the rewrite only has the instructions in another order, at the input's own number of blocks"),
    ]
    reason: Annotated[str, says("why the kernel has these registers and slots")]
    original: Annotated[VersionJson, says("the input, without cycles")]
    rewritten: Annotated[VersionJson, says("the rewrite, without cycles")]
    launches: Annotated[BothCounts, says("launches of the kernel in both runs")]
    cycles: Annotated[BothCounts, says("emulated cycles of all launches of the kernel in both runs")]
    speedup: Annotated[
        float | None,
        says("quotient of `cycles`; null where the run of the rewritten binary does not launch the kernel"),
    ]


class DemoProgramJson(TypedDict):
    """This object describes a sample with a sequence of launches."""

    sample: Annotated[str, says("name of the sample")]
    verified: Annotated[
        bool,
        says("whether all rewrites are proven, and both runs have the same results and output, as in the reference"),
    ]
    as_reference: Annotated[
        bool,
        says("whether the results of both runs equal the results of the reference; true where there is no reference"),
    ]
    same_results: Annotated[bool, says("whether both runs have the same results and output")]
    differences: Annotated[list[str], says("a sentence for each buffer or variable that differs between the runs")]
    launches: Annotated[BothCounts, says("number of launches in both runs")]
    cycles: Annotated[BothCounts, says("emulated cycles of all launches in both runs")]
    speedup: Annotated[float | None, says("quotient of `cycles`; null where nothing was launched")]
    rewritten: Annotated[int, says("number of kernels whose values were allocated anew")]
    reordered: Annotated[int, says("number of further kernels whose instructions were only put in another order")]
    kernels: Annotated[list[DemoLaunchedKernel], says("kernels, in the order of the launch file")]


class SampleLeftOut(TypedDict):
    """This object describes a sample that was not run."""

    sample: Annotated[str, says("name of the sample")]
    reason: Annotated[str, says("why the sample was not run")]


class DemoFields(TypedDict):
    """These fields describe the samples that have been run."""

    machine: Annotated[str, says("name of the machine")]
    scheduler: Annotated[str, says("warp scheduler, as `--scheduler` names it")]
    partial: Annotated[
        bool,
        says("whether Ctrl-C ended the command; the lists then have the samples that were finished"),
    ]
    rows: Annotated[list[DemoKernelJson], says("samples of one launch")]
    programs: Annotated[list[DemoProgramJson], says("samples with a sequence of launches")]
    left_out: Annotated[list[SampleLeftOut], says("samples that were not run")]


class DemoJson(Versioned, DemoFields):
    """`demo` prints this object."""

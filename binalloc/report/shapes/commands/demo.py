"""These are the shapes of `demo`."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import BothCounts, Versioned
from binalloc.report.shapes.parts.versions import LevelJson, SpeedupParts, VersionJson
from binalloc.report.shapes.says import says


class VerifiedVersion(VersionJson):
    """A version with its verdict."""

    verified: Annotated[bool, says("results as the reference's")]


class UnifiedChoice(TypedDict):
    """What the unified paper's static policy chooses."""

    blocks_per_sm: Annotated[int, says("what the unified paper's static policy chooses")]
    registers: Annotated[int, says("its registers")]
    slots: Annotated[int, says("its slots")]
    kept_original: Annotated[bool, says("whether it keeps the original")]
    reason: Annotated[str, says("its steps")]
    speedup: Annotated[float | None, says("what that gives")]


class NearestVersion(VersionJson):
    """A version that did not beat the original."""

    speedup: Annotated[float, says("over the original")]


class DemoKernelJson(TypedDict):
    """A sample of one launch."""

    sample: Annotated[str, says("a sample of one launch")]
    kernel: Annotated[str, says("its kernel: what a paper calls it")]
    verified: Annotated[bool, says("every version of it is")]
    rewritten: Annotated[bool, says("whether something was faster than the input")]
    by_order_alone: Annotated[bool, says("whether that is another order of it at its own number of blocks")]
    reason: Annotated[str, says("why")]
    original: Annotated[VerifiedVersion, says("a [version](#version)")]
    ordered: Annotated[
        VerifiedVersion | None,
        says("a [version](#version): what speedups are over, as in `rewrite`; null where that is `original`"),
    ]
    local: Annotated[VerifiedVersion | None, says("a [version](#version); null where the original was kept")]
    best: Annotated[VerifiedVersion, says("a [version](#version)")]
    speedup: Annotated[float | None, says("as in `rewrite`")]
    ordering: Annotated[float | None, says("as in `rewrite`")]
    rescheduling: Annotated[float | None, says("as in `rewrite`")]
    parts: Annotated[SpeedupParts, says("as `speedup_parts` in `rewrite`")]
    unified: Annotated[UnifiedChoice, says("what the unified paper's static policy chooses")]
    nearest: Annotated[
        NearestVersion | None,
        says("a [version](#version): the fastest level where the original was kept; null elsewhere"),
    ]
    levels: Annotated[list[LevelJson], says("a [level](#level) looked at")]


class DemoLaunchedKernel(TypedDict):
    """A kernel of a program."""

    kernel: Annotated[
        str,
        says("a kernel, in the launch file's order; its fields as in [rewrite of a sequence](#rewrite-of-a-sequence)"),
    ]
    name: Annotated[str, says("likewise")]
    kept_original: Annotated[bool, says("likewise")]
    by_order_alone: Annotated[bool, says("whether it is the input in another order at its own number of blocks")]
    reason: Annotated[str, says("why these registers and slots")]
    original: Annotated[VersionJson, says("a [version](#version), without cycles")]
    rewritten: Annotated[VersionJson, says("a [version](#version), without cycles")]
    launches: Annotated[BothCounts, says("its launches in both runs")]
    cycles: Annotated[BothCounts, says("cycles of its launches in both runs")]
    speedup: Annotated[float | None, says("the quotient; null where the rewritten binary launched it never")]


class DemoProgramJson(TypedDict):
    """A sample with a sequence of launches."""

    sample: Annotated[str, says("a sample with a sequence of launches")]
    verified: Annotated[
        bool,
        says("every rewrite has been proven, both runs left and printed the same, and what the reference says"),
    ]
    as_reference: Annotated[bool, says("whether both runs left what the reference says; true without one")]
    same_results: Annotated[bool, says("whether both runs left and printed the same")]
    differences: Annotated[list[str], says("one sentence for each buffer or variable that differs between them")]
    launches: Annotated[BothCounts, says("how many launches")]
    cycles: Annotated[BothCounts, says("emulated cycles of all launches")]
    speedup: Annotated[float | None, says("the quotient; null where nothing was launched")]
    rewritten: Annotated[int, says("how many kernels have their values placed anew")]
    reordered: Annotated[int, says("how many more are taken in another order alone")]
    kernels: Annotated[list[DemoLaunchedKernel], says("kernels in the launch file's order")]


class SampleLeftOut(TypedDict):
    """A sample that was not run."""

    sample: Annotated[str, says("a sample that was not run")]
    reason: Annotated[str, says("why")]


class DemoFields(TypedDict):
    """The fields of what `demo` prints."""

    machine: Annotated[str, says("the machine's name")]
    scheduler: Annotated[str, says("the warp scheduler, as `--scheduler` names it")]
    partial: Annotated[bool, says("whether Ctrl-C ended it: the lists have the samples that were measured by then")]
    rows: Annotated[list[DemoKernelJson], says("samples of one launch")]
    programs: Annotated[list[DemoProgramJson], says("samples with a sequence of launches")]
    left_out: Annotated[list[SampleLeftOut], says("samples that were not run")]


class DemoJson(Versioned, DemoFields):
    """What `demo` prints."""

"""This module has the shapes of the sharing paper's experiments, `reproduce sharing`."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.sharing.paired_figures import FigureJson, PaperMeanJson, SayingJson
from binalloc.report.shapes.says import says


class PairedRunJson(TypedDict):
    """This object is a run of a kernel under one scheduler."""

    cycles: Annotated[int, says("emulated cycles")]
    ipc: Annotated[float, says("thread instructions per cycle, of all SMs together")]
    instructions: Annotated[int, says("thread instructions executed")]
    stalls: Annotated[dict[str, int], says("the three reasons for which most issue slots were lost, with these slots")]
    l1_misses: Annotated[int, says("lines of global memory that loads did not find in L1")]
    l2_misses: Annotated[int, says("loads and atomics that waited for DRAM")]


class FreeRunJson(PairedRunJson):
    """This object is a run with as many blocks as sharing gives, as if shared memory was larger."""

    blocks: Annotated[int, says("blocks that an SM held")]


class SharedStepJson(PairedRunJson):
    """This object is a run of a kernel whose blocks share memory two by two."""

    scheduler: Annotated[str, says("warp scheduler of the run")]
    sharing: Annotated[str, says("pairs and private bytes of a block; `off` where `auto` chose to share nothing")]
    blocks: Annotated[int, says("blocks that an SM held")]
    pairs: Annotated[int, says("pairs among them")]
    private_bytes: Annotated[int | None, says("private bytes of a block in a pair; null where nothing is shared")]
    releases: Annotated[int, says("places at which threads release what is shared")]
    moved: Annotated[bool, says("whether variables have moved")]
    proven: Annotated[bool | None, says("whether the checker has proven it; null where nothing is shared")]
    same_results: Annotated[bool | None, says("whether it left the same as the original")]
    lives: Annotated[
        list[int],
        says("cycles of blocks in pairs until they got what they share, while they had it, and after it (Fig. 17)"),
    ]


class GainJson(TypedDict):
    """This object is the gain of one step."""

    step: Annotated[str, says("the step, a key of `shared`")]
    over_lrr: Annotated[float, says("cycles of unshared blocks under `lrr` over the step's")]
    over_oldest: Annotated[float, says("likewise under `oldest`, which owner warp first is without pairs")]
    reached: Annotated[
        float | None,
        says("share of the gain of blocks that never wait that the step reaches; null where these gain nothing"),
    ]


class SharedKernelJson(TypedDict):
    """This object is a kernel of the sharing paper."""

    machine: Annotated[str, says("name of the machine")]
    kernel: Annotated[str, says("the paper's name of the kernel")]
    sample: Annotated[str, says("sample that stands in for it")]
    set: Annotated[int, says("1 or 2: Table I; 3: Table IV; 9: Table IX; 0: Table VII")]
    status: Annotated[str, says("`ok`, `refused`, `limit` or `fault`, as in a [row](SWEEP.md#columns) of a sweep")]
    reason: Annotated[str, says("why `status` is not `ok`, or why nothing is shared; empty where all is well")]
    blocks: Annotated[int | None, says("blocks that an SM holds without sharing; null where nothing ran, as below")]
    shared_blocks: Annotated[int | None, says("most blocks that it holds with sharing; null where nothing is shared")]
    limits: Annotated[list[str], says("resources that keep an SM from holding more without sharing")]
    shared_bytes: Annotated[int | None, says("bytes of shared memory of a block")]
    unshared: Annotated[dict[str, PairedRunJson], says("runs of blocks that share nothing, by scheduler")]
    shared: Annotated[
        dict[str, SharedStepJson],
        says(
            "runs of blocks that share, by step: `noopt`, `owf`, `reorder`, `postdom`, `opt`, `kept` (`opt` with "
            "critical edges kept), and `auto`, the fastest of all; empty where nothing is shared"
        ),
    ]
    free: Annotated[FreeRunJson | None, says("as many blocks that never wait; null where nothing is shared")]
    paper_ipc: Annotated[
        list[float] | None,
        says("the paper's Table XIII: unshared under LRR, GTO and two-level, and OPT; null where it has none"),
    ]
    paper_instructions: Annotated[
        list[int] | None, says("the paper's Table VI: threads, instructions, and those added; null where it has none")
    ]
    gains: Annotated[list[GainJson], says("the gain of each step")]


class MergedRunJson(PairedRunJson):
    """This object is a run of a kernel whose blocks are merged by a scheme of the multiplex paper."""

    blocks: Annotated[int, says("merged blocks that an SM held")]
    shared_bytes: Annotated[int, says("bytes of shared memory of a merged block")]
    proven: Annotated[bool, says("whether the checkers have proven the merge")]
    same_results: Annotated[bool | None, says("whether it left the same as the original")]


class MergedSchemeJson(TypedDict):
    """This object is a kernel merged by a scheme, with and without sharing."""

    scheme: Annotated[str, says("`vtb-pipe`, `vtb` or `co-vtb`")]
    merge: Annotated[int, says("blocks that become one")]
    alone: Annotated[MergedRunJson | None, says("its run without sharing, under `lrr`; null if it was refused")]
    shared: Annotated[SharedStepJson | None, says("as `opt`: merged blocks that share; null if it was refused")]
    reason: Annotated[str, says("why it was refused, or what could not be proven; empty where all is well")]


class MergedKernelJson(TypedDict):
    """This object is a kernel of Table IX, merged by the schemes of the multiplex paper."""

    machine: Annotated[str, says("name of the machine")]
    kernel: Annotated[str, says("the paper's name of the kernel")]
    sample: Annotated[str, says("sample that stands in for it")]
    status: Annotated[str, says("`ok`, `refused`, `limit` or `fault`, as in a [row](SWEEP.md#columns) of a sweep")]
    reason: Annotated[str, says("why `status` is not `ok`; empty where it is")]
    schemes: Annotated[list[MergedSchemeJson], says("its schemes; empty where `status` is not `ok`")]


class SharingMeanJson(PaperMeanJson):
    """This object is a mean gain over kernels of Sets 1 and 2."""

    step: Annotated[str, says("the step, a key of `shared`")]
    over: Annotated[str, says("scheduler of unshared blocks")]
    without: Annotated[str | None, says("kernel that is left out; null for none")]
    gain: Annotated[float, says("geometric mean of the gains in instructions per cycle, in per cent")]


class SharingReproductionJson(TypedDict):
    """These fields are the experiments of the sharing paper."""

    partial: Annotated[bool, says("whether the command was interrupted")]
    cache: Annotated[str, says("folder of finished runs")]
    done: Annotated[int, says("tasks that were run")]
    cached: Annotated[int, says("tasks that were found in the cache")]
    kernels: Annotated[list[SharedKernelJson], says("kernels, as the paper lists them, on the machine of Table II")]
    varied: Annotated[list[SharedKernelJson], says("kernels on the machines of Figs. 19 to 22, 24, 25 and 28")]
    merged: Annotated[list[MergedKernelJson], says("merged kernels of Figs. 26 and 27")]
    means: Annotated[list[SharingMeanJson], says("means over Sets 1 and 2")]
    figures: Annotated[list[FigureJson], says("the figures and tables that were asked for, beside the paper's")]
    sayings: Annotated[list[SayingJson], says("what the paper says of them in words, judged by these runs")]

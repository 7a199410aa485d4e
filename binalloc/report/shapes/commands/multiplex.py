"""This module has the shapes of `multiplex`."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import OnMachine, Versioned
from binalloc.report.shapes.parts.timelines import OfTimelines
from binalloc.report.shapes.parts.versions import VersionJson
from binalloc.report.shapes.says import says


class DividedVariableJson(TypedDict):
    """This object is a shared variable with private bytes."""

    name: Annotated[str, says("name of the variable in the binary")]
    private_bytes: Annotated[int, says("its first bytes that are private")]
    bytes: Annotated[int, says("bytes of the whole variable")]


class MultiplexedVersionJson(TypedDict):
    """This object is one version of a kernel, with access regions that were made shorter, or of a scheme."""

    scheme: Annotated[
        str,
        says(
            "`vtb`, `vtb-pipe`, `co-vtb`, `hw` or `co-hw`; `shorter` for shorter access regions alone, `own` for own "
            "words alone"
        ),
    ]
    merge: Annotated[int | None, says("blocks that are merged into one; null for other schemes")]
    barriers: Annotated[
        str | None,
        says("barriers that order merged blocks: `block`, of the merged block, or `named`; null for other schemes"),
    ]
    over: Annotated[
        int | None, says("most blocks an SM beyond those of static memory; null for no limit, and for other schemes")
    ]
    shorter_regions: Annotated[bool, says("whether access regions were made shorter first")]
    own_words: Annotated[bool, says("whether words of one thread went to its local memory first")]
    refused: Annotated[
        str | None, says("why there is no such version, or how its run ended, if not well; null for others")
    ]
    registers: NotRequired[Annotated[int, says("registers per thread; left out if it was refused, as below")]]
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
    cycles: NotRequired[Annotated[int, says("emulated cycles; left out with `--no-emulate`, as the next two")]]
    speedup: NotRequired[Annotated[float, says("the original's emulated cycles over these")]]
    same_results: NotRequired[Annotated[bool | None, says("whether it left the same as the original")]]
    proven: NotRequired[Annotated[bool, says("whether the checker has proven it, for all launches with such blocks")]]
    unproven: NotRequired[Annotated[str | None, says("why it is not proven; null if it is")]]


class SchemeJson(MultiplexedVersionJson):
    """This object is one version of a kernel whose shared memory is multiplexed."""

    regions: NotRequired[Annotated[int, says("access regions of the kernel; left out if it was refused, as below")]]
    private_bytes: NotRequired[
        Annotated[
            int,
            says(
                "bytes that each block has to itself, with those common to all blocks; of `co-vtb` bytes of which each "
                "virtual block has a copy; left out for `vtb` and `vtb-pipe`"
            ),
        ]
    ]
    public_bytes: NotRequired[Annotated[int, says("bytes that blocks use in turns; left out for `vtb` and `vtb-pipe`")]]
    divided: NotRequired[
        Annotated[list[DividedVariableJson], says("variables with private bytes; `co-vtb` and `co-hw` alone have them")]
    ]


class ChosenVersionJson(TypedDict):
    """This object is the fastest version that is proven and leaves the original's results."""

    scheme: Annotated[
        str, says("its scheme; `shorter` or `own` as above; `original` where no version is faster")
    ]
    merge: Annotated[int | None, says("blocks that are merged into one; null for other schemes")]
    barriers: Annotated[str | None, says("barriers that order merged blocks, as above; null for other schemes")]
    over: Annotated[int | None, says("most blocks an SM beyond those of static memory; null for no limit")]
    shorter_regions: Annotated[bool, says("whether access regions were made shorter")]
    own_words: NotRequired[Annotated[bool, says("true if words of one thread went to its local memory")]]
    speedup: Annotated[float, says("its emulated speedup; 1 for the original")]


class MultiplexedOriginalJson(TypedDict):
    """This object is the kernel as it is, in the fastest way to run it that was found."""

    version: Annotated[str, says("the original as it came, in another order, or allocated anew")]
    registers: Annotated[int, says("registers per thread")]
    shared_bytes: Annotated[int, says("bytes of shared memory of a block")]
    blocks_per_sm: Annotated[int, says("resident blocks per SM")]
    limits: Annotated[list[str], says("resources that keep an SM from holding more blocks")]
    cycles: Annotated[int | None, says("emulated cycles; null with `--no-emulate`")]


class TriedSchemesJson(TypedDict):
    """These fields are the versions of a kernel whose shared memory is multiplexed."""

    shorter: NotRequired[
        Annotated[
            MultiplexedVersionJson,
            says("shorter access regions alone, without any scheme; left out if none were asked for"),
        ]
    ]
    own: NotRequired[
        Annotated[
            MultiplexedVersionJson,
            says("likewise words of one thread in its local memory alone; left out if none were asked for"),
        ]
    ]
    schemes: Annotated[list[SchemeJson], says("the versions that were asked for")]


class MultiplexingJson(TriedSchemesJson):
    """These fields compare a kernel with versions whose shared memory is multiplexed."""

    original: Annotated[MultiplexedOriginalJson, says("the kernel as it is")]
    region_share: NotRequired[
        Annotated[
            float | None,
            says(
                "share of a block's life in access regions, averaged over blocks, with barriers at their bounds; left "
                "out without `--share`, null if it cannot be measured"
            ),
        ]
    ]
    region_share_refused: NotRequired[
        Annotated[str | None, says("why that cannot be measured; null if it can, and left out without `--share`")]
    ]
    chosen: NotRequired[Annotated[ChosenVersionJson, says("the choice of `--scheme auto`; left out for other schemes")]]
    output: Annotated[str | None, says("file that the version was written to; null if none was written")]


class AdaptedLaunchJson(TypedDict):
    """This object is the launch of a kernel of merged blocks."""

    grid: Annotated[list[int], says("blocks along x, y and z")]
    block: Annotated[list[int], says("threads of a block along x, y and z")]
    original_grid: Annotated[int, says("value of the last argument: the original grid's extent along the merged axis")]


class TurnsJson(TriedSchemesJson):
    """This object has the versions whose blocks use shared memory in turns, beside the policy's version."""

    among: Annotated[str, says("versions that were tried, as `--multiplex` names them: `today` or `any`")]
    chosen: Annotated[ChosenVersionJson | None, says("the version that was taken; null where the policy's was kept")]
    reason: Annotated[str, says("why it was taken, or why none was")]
    without: Annotated[VersionJson, says("the policy's version, whose blocks do not use shared memory in turns")]
    free: Annotated[
        float | None,
        says(
            "emulated speedup of the original's code if blocks needed no shared memory of the SM; null where a version "
            "was taken, and where there is no such run"
        ),
    ]
    launch: Annotated[
        AdaptedLaunchJson | None,
        says("launch of the version taken; null where it is the original's; the original's launch file is adapted"),
    ]


class WithTurns(TypedDict):
    """This field is what `--multiplex` adds."""

    turns: NotRequired[
        Annotated[
            TurnsJson, says("versions whose blocks use shared memory in turns; left out with `--multiplex off`")
        ]
    ]


class MultiplexJson(Versioned, OnMachine, MultiplexingJson, OfTimelines):
    """This object is what `multiplex` prints."""

    kernel: Annotated[str, says("name of the kernel")]
    launch_output: Annotated[
        str | None, says("file that the launch file, adapted to that version, was written to; null if none was written")
    ]


class ReproducedVersionJson(TypedDict):
    """This object is one version of a benchmark of the multiplex paper."""

    scheme: Annotated[str, says("`vtb`, `vtb-pipe`, `co-vtb`, `hw` or `co-hw`")]
    merge: Annotated[int | None, says("blocks that are merged into one; null for `hw` and `co-hw`")]
    barriers: Annotated[
        str | None,
        says("barriers that order merged blocks: `block`, of the merged block, or `named`; null for `hw` and `co-hw`"),
    ]
    split: Annotated[
        list[str] | None,
        says("variables with private bytes, as `--split` takes them, in bytes; null but for `co-vtb` and `co-hw`"),
    ]
    over: Annotated[
        int | None, says("most blocks an SM beyond those of static memory; null for no limit, and if blocks are merged")
    ]
    shorter_regions: Annotated[bool, says("whether access regions were made shorter first")]
    own_words: Annotated[bool, says("whether words of one thread went to its local memory first")]
    speedup: Annotated[
        float | None, says("the original's emulated cycles over this version's; null if there is no such version")
    ]
    blocks: Annotated[
        int | None, says("blocks of the original that an SM holds at once; null if there is no such version")
    ]
    cycles: Annotated[int | None, says("emulated cycles; null if there is no such version")]
    registers: Annotated[int | None, says("registers per thread; null if there is no such version")]
    shared_bytes: Annotated[
        int | None,
        says("bytes that a block, or merged block, has from its start to its end; null if there is no such version"),
    ]
    same_results: Annotated[
        bool | None, says("whether it left the original's results; null if there is no such version")
    ]
    proven: Annotated[bool | None, says("whether the checker has proven it; null if there is no such version")]
    stalls: Annotated[
        dict[str, float],
        says("the three reasons for which most issue slots were lost, with their shares of all issue slots"),
    ]
    reason: Annotated[str, says("why there is no such version, or no proof of it; empty elsewhere")]


class ChosenVersionsJson(TypedDict):
    """This object has the choices among the versions of a benchmark."""

    today: Annotated[ChosenVersionJson, says("among the versions without instructions that no GPU has")]
    any: Annotated[ChosenVersionJson, says("among all versions")]


class ReachedJson(TypedDict):
    """This object is the gain of choices, less 1, over that of blocks that need no shared memory, less 1."""

    today: Annotated[
        float | None, says("that of `auto.today`; null where `free` is below 1.02, or there is no figure")
    ]
    any: Annotated[float | None, says("that of `auto.any`; null as above")]


class MultiplexedKernelJson(TypedDict):
    """This object is a benchmark of the multiplex paper on a machine."""

    machine: Annotated[str, says("name of the machine")]
    kernel: Annotated[str, says("name of the benchmark, and of the kernel")]
    sample: Annotated[str, says("sample that stands in for the benchmark")]
    status: Annotated[str, says("`ok`, `refused`, `limit` or `fault`, as in a [row](SWEEP.md#columns) of a sweep")]
    reason: Annotated[str, says("a sentence that says why `status` is not `ok`; empty where it is")]
    version: Annotated[
        str | None,
        says(
            "the original over which speedups are: as it came, in another order, or allocated anew, at the number of "
            "blocks at which it is fastest; null if `status` is not `ok`, as all below"
        ),
    ]
    original_blocks: Annotated[int | None, says("resident blocks per SM of the original")]
    original_cycles: Annotated[int | None, says("emulated cycles of the original")]
    limits: Annotated[list[str], says("resources that keep an SM from holding more blocks of the original")]
    shared_bytes: Annotated[int | None, says("bytes of shared memory of a block of the original")]
    stalls: Annotated[
        dict[str, float],
        says("the three reasons for which most issue slots of the original were lost, with their shares"),
    ]
    region_share: Annotated[
        float | None, says("share of a block's life in access regions, averaged over blocks; null if there is none")
    ]
    shorter_region_share: Annotated[
        float | None, says("the same with access regions that were made shorter; null if they cannot be made")
    ]
    shorter: Annotated[
        float | None,
        says(
            "emulated speedup of shorter access regions alone, with no scheme; null if they cannot be made, are not "
            "proven or leave other results"
        ),
    ]
    own: Annotated[
        float | None, says("the same of words of one thread in its local memory alone, with no scheme; null likewise")
    ]
    free: Annotated[
        float | None,
        says(
            "emulated speedup of the original's code if blocks needed no shared memory of the SM: as many are "
            "resident as registers, warps and places of blocks allow"
        ),
    ]
    free_blocks: Annotated[int | None, says("resident blocks per SM in that case")]
    schemes: Annotated[list[ReproducedVersionJson], says("the versions of the schemes")]
    auto: Annotated[ChosenVersionsJson | None, says("the choices among all versions and the original")]
    reached: Annotated[ReachedJson, says("how much of the gain of `free` the choices reach")]


class MeanGainJson(TypedDict):
    """This object is the mean gain of one kind of version on a machine."""

    name: Annotated[
        str,
        says(
            "a scheme, with the best of its versions for each benchmark; `hw K+1` to `hw K+3` and `hw, no limit` for "
            "one number of blocks beyond static memory; `best` for the best software version; `shorter`, `today`, "
            "`any` and `free` as in `kernels`; or `vtb, named` for merged blocks that hand turns on at named barriers"
        ),
    ]
    here: Annotated[float | None, says("geometric mean of emulated speedups; null if there is no such version")]
    as_is: Annotated[
        float | None,
        says(
            "the same with access regions as they are alone; null for `shorter`, `today`, `any` and `free`, and if "
            "there is no such version"
        ),
    ]
    kernels: Annotated[int, says("benchmarks over which `here` is: those that have such a version")]
    paper: Annotated[float | None, says("mean that the paper states; null where it states none")]
    largest: Annotated[float | None, says("largest emulated speedup; null if there is no such version")]
    largest_kernel: Annotated[str | None, says("benchmark with the largest speedup; null if there is none")]
    paper_largest: Annotated[float | None, says("largest speedup that the paper states; null where it states none")]


class MultiplexedMachineJson(TypedDict):
    """This object has the means of a machine."""

    machine: Annotated[str, says("name of the machine")]
    region_share: Annotated[
        float | None, says("geometric mean of the shares of a block's life in access regions; null if there is none")
    ]
    shorter_region_share: Annotated[
        float | None, says("geometric mean of the shares with access regions that were made shorter; null if none is")
    ]
    paper_region_share: Annotated[float, says("the mean that the paper states, over ten benchmarks on one card")]
    means: Annotated[list[MeanGainJson], says("mean gains")]


class PaperOrderJson(TypedDict):
    """This object is a statement of the paper's text that one gain is larger than another."""

    order: Annotated[str, says("the statement")]
    holds: Annotated[bool | None, says("whether it holds here; null where what decides it was not run or is missing")]
    counters: Annotated[str, says("figures that it compares")]
    waits: Annotated[
        list[str],
        says(
            "for each kernel that it compares what issue slots waited for, in the original and in the versions, with "
            "resident blocks; empty unless it does not hold"
        ),
    ]


class CurvePointJson(TypedDict):
    """This object is one point of such a figure: a kernel with so much work on a card."""

    machine: Annotated[str, says("name of the machine")]
    extent: Annotated[int, says("rows or transforms of the whole launch")]
    sm_blocks: Annotated[int, says("blocks of it that one SM gets, and that were run")]
    status: Annotated[str, says("as in `kernels`")]
    reason: Annotated[str, says("why there are no figures; empty if there are")]
    original_cycles: Annotated[int | None, says("emulated cycles of the original; null if it did not run")]
    original_blocks: Annotated[int | None, says("resident blocks per SM of the original; null if it did not run")]
    speedup: Annotated[float | None, says("emulated speedup of the best proven `vtb-pipe`; null if there is none")]
    blocks: Annotated[int | None, says("blocks of the original that an SM holds of that; null if there is none")]
    shorter_regions: Annotated[bool | None, says("whether its access regions were made shorter; null if none is there")]
    throughput: Annotated[
        float | None, says("throughput of the original, over that of the original on `gtx480`; null if one did not run")
    ]
    pipe_throughput: Annotated[float | None, says("the same of `vtb-pipe`; null if there is none")]


class CurveJson(TypedDict):
    """This object is a figure of the multiplex paper in which the work grows."""

    figure: Annotated[int, says("number of the figure: 12 or 13")]
    kernel: Annotated[str, says("the paper's name of the benchmark")]
    work: Annotated[str, says("what there is more of: `rows` or `transforms`")]
    points: Annotated[list[CurvePointJson], says("its points, machine by machine")]
    gain: Annotated[float | None, says("geometric mean of the speedups on `gtx480`; null if there are none")]
    paper_gain: Annotated[float, says("mean that the paper states")]
    largest: Annotated[float | None, says("largest speedup on `gtx480`; null if there is none")]
    paper_largest: Annotated[float, says("largest speedup that the paper states")]
    small_over_large: Annotated[
        float | None,
        says(
            "geometric mean of the throughputs of `vtb-pipe` on `gtx480-16k`, over those of the original on `gtx480`; "
            "the paper says that they are similar for MV; null if there are none"
        ),
    ]


class MultiplexReproductionJson(TypedDict):
    """These fields have the multiplex paper's figures beside ours."""

    partial: Annotated[bool, says("whether Ctrl-C ended the command; `kernels` then has what was finished")]
    cache: Annotated[str, says("folder in which finished runs are kept")]
    done: Annotated[int, says("benchmarks on machines that this command ran itself")]
    cached: Annotated[int, says("benchmarks on machines that an earlier command had kept")]
    machines: Annotated[list[MultiplexedMachineJson], says("machines with their means")]
    orders: Annotated[
        list[PaperOrderJson],
        says("orders of schemes, machines and numbers of blocks; empty if none of the paper's machines was run"),
    ]
    kernels: Annotated[list[MultiplexedKernelJson], says("benchmarks on each machine")]
    curves: Annotated[list[CurveJson], says("Figures 12 and 13; empty without `--curves`")]


class ReproduceMultiplexJson(Versioned, MultiplexReproductionJson):
    """`reproduce multiplex` prints this object."""

    paper: Annotated[str, says("name of the paper: `multiplex`")]

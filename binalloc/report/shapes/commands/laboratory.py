"""This module has the shapes of `reproduce`, `smem-cost`, `share` and `batches`."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.batches import CandidateJson, DistanceJson, FormulaJson, PageCountsJson
from binalloc.report.shapes.parts.batching import BatchingReproductionJson
from binalloc.report.shapes.parts.common import OnMachine, Versioned
from binalloc.report.shapes.parts.sharing.paired import SharingReproductionJson
from binalloc.report.shapes.parts.sharing.shared import OverlayFields, SharedJson
from binalloc.report.shapes.says import says


class ReproducedMachine(TypedDict):
    """This object says how near the automatic choice comes to the best level on a machine."""

    machine: Annotated[str, says("name of the machine")]
    auto_over_best: Annotated[
        float | None,
        says(
            "speedup of the automatic choice over the best speedup, as a geometric mean over the kernels; null "
            "where none ran"
        ),
    ]
    least_auto_over_best: Annotated[
        float | None, says("smallest quotient of the two speedups among the kernels; null where none ran")
    ]


class PaperAndHere(TypedDict):
    """This object has a figure that the paper states, and the same figure here."""

    paper: Annotated[float, says("figure that the paper states")]
    here: Annotated[float | None, says("figure here; null where nothing ran")]


class FastestRegisters(TypedDict):
    """This object says at how many registers a curve of Fig. 1 is fastest."""

    paper: Annotated[
        int | None,
        says(
            "registers per thread at which the curve is fastest by the paper's text; null where the text does not say"
        ),
    ]
    here: Annotated[int | None, says("registers per thread at which the curve is fastest here; null where nothing ran")]


class CurvePoint(TypedDict):
    """This object is a point of a curve of Fig. 1."""

    registers_allowed: Annotated[int, says("registers per thread that allocator `local` may use")]
    milliseconds: Annotated[
        float | None, says("emulated cycles at the machine's clock, in milliseconds; null where it did not run")
    ]
    status: Annotated[
        str, says("`ok`, `infeasible`, `refused`, `limit` or `fault`, as in a [row](SWEEP.md#columns) of a sweep")
    ]
    reason: Annotated[str, says("a sentence that says why `status` is not `ok`; empty where it is")]
    registers: Annotated[int | None, says("registers per thread; null where there is no version")]
    local_bytes: Annotated[int | None, says("local memory per thread, in bytes; null where there is no version")]
    blocks_per_sm: Annotated[int | None, says("resident blocks per SM; null where there is no version")]
    occupancy: Annotated[
        float | None, says("resident warps as a share of the most that an SM holds; null where there is no version")
    ]
    cycles: Annotated[int | None, says("emulated cycles; null where it did not run")]
    same_results: Annotated[
        bool | None, says("whether the run left the results of the original; null where it did not run")
    ]


class Figure1Curve(TypedDict):
    """This object is a curve of the paper's Fig. 1."""

    machine: Annotated[str, says("name of the machine")]
    kernel: Annotated[str, says("name of the benchmark")]
    sample: Annotated[str, says("sample that stands in for the benchmark")]
    demand: Annotated[int, says("registers per thread of the input; the machine may allow fewer")]
    best_registers: Annotated[FastestRegisters, says("registers per thread at which the curve is fastest")]
    points: Annotated[list[CurvePoint], says("points of the curve")]


class ReadingChoice(TypedDict):
    """This object is the choice of the paper's search, by one reading of it."""

    blocks: Annotated[
        int | None,
        says("level that the search takes with the paper's allocator, in blocks per SM; null for the original"),
    ]
    speedup: Annotated[float | None, says("emulated speedup of that level; null where it did not run")]
    reason: Annotated[str, says("steps of the search's decision")]


class Table1Row(TypedDict):
    """This object is a row of the paper's Table 1."""

    register_demand: Annotated[PaperAndHere, says("registers per thread without spilling")]
    user_shared_bytes_per_thread: Annotated[
        PaperAndHere, says("shared memory that the program itself uses per thread of a block, in bytes")
    ]
    instruction_change: Annotated[
        PaperAndHere, says("instructions in the code of the automatic choice over the instructions of the original")
    ]
    miss_percent: Annotated[
        PaperAndHere,
        says(
            "cache misses per hundred accesses of the automatic choice with slots; here misses of L1 without textures"
        ),
    ]
    miss_percent_local_only: Annotated[
        PaperAndHere,
        says(
            "cache misses per hundred accesses at the level of the automatic choice with spills to local memory "
            "alone; here misses of L1 without textures"
        ),
    ]
    dispatch_interval: Annotated[float, says("mean static dispatch interval of the original, in cycles")]
    threads_per_block: Annotated[int, says("threads per block")]


class PaperClaim(TypedDict):
    """This object is a statement of the paper's text."""

    claim: Annotated[str, says("statement of the paper's text about the benchmark")]
    holds: Annotated[bool | None, says("whether the statement holds here; null where something did not run")]


class ReproducedLevel(TypedDict):
    """This object is a level of a benchmark by one allocator."""

    allocator: Annotated[str, says("name of the allocator; `original` for the input")]
    blocks: Annotated[int | None, says("level in blocks per SM; null for the input")]
    speedup: Annotated[float | None, says("emulated speedup over the original; null where it did not run")]
    status: Annotated[
        str, says("`ok`, `infeasible`, `refused`, `limit` or `fault`, as in a [row](SWEEP.md#columns) of a sweep")
    ]
    reason: Annotated[
        str,
        says(
            "a sentence that says why `status` is not `ok`, or why the original stands for the level; empty elsewhere"
        ),
    ]
    registers: Annotated[int | None, says("registers per thread; null where there is no version")]
    slots: Annotated[int | None, says("slots per thread; null where there is no version")]
    local_bytes: Annotated[int | None, says("local memory per thread, in bytes; null where there is no version")]
    blocks_per_sm: Annotated[int | None, says("resident blocks per SM; null where there is no version")]
    occupancy: Annotated[
        float | None, says("resident warps as a share of the most that an SM holds; null where there is no version")
    ]
    instructions: Annotated[
        int | None, says("instructions in the code of the kernel and its callees; null where there is no version")
    ]
    cycles: Annotated[int | None, says("emulated cycles; null where it did not run")]
    same_results: Annotated[
        bool | None, says("whether the run left the results of the original; null where it did not run")
    ]
    proven: Annotated[
        bool | None,
        says(
            "whether the checker proved the version equal to the original; null where there is no version, and "
            "for an original as it came"
        ),
    ]


class ReproducedKernel(TypedDict):
    """This object describes a benchmark on a machine."""

    machine: Annotated[str, says("name of the machine")]
    kernel: Annotated[str, says("name of the benchmark")]
    domain: Annotated[str, says("domain of the benchmark, as Table 1 names it")]
    sample: Annotated[str, says("sample that stands in for the benchmark on the machine")]
    block: Annotated[list[int], says("threads of a block in x, y and z")]
    block_is: Annotated[str, says("how the block size is known: `firm`, `inferred` or `chosen`")]
    original_blocks: Annotated[int | None, says("resident blocks per SM of the original; null where it did not run")]
    input_cycles: Annotated[int | None, says("emulated cycles of the input as it came; null where it did not run")]
    original_cycles: Annotated[
        int | None,
        says(
            "emulated cycles of the original, over which all speedups of this command are. It is the faster one of "
            "the input and the input as allocator `local` orders it for as many blocks; null where it did not run"
        ),
    ]
    auto: Annotated[
        float | None,
        says(
            "emulated speedup of the automatic choice, by policy `model` with allocator `best`; null where it "
            "did not run"
        ),
    ]
    auto_blocks: Annotated[
        int | None, says("level of the automatic choice, in blocks per SM; null where it keeps the original")
    ]
    auto_reason: Annotated[str, says("why the automatic choice was made, as `rewrite` says it")]
    best: Annotated[
        float | None, says("largest emulated speedup of all levels and allocators; null where it did not run")
    ]
    best_blocks: Annotated[int | None, says("level with the largest speedup, in blocks per SM; null for the original")]
    best_allocator: Annotated[str, says("allocator with the largest speedup; `original` for the input")]
    worst: Annotated[
        float | None, says("smallest emulated speedup of all levels and allocators; null where it did not run")
    ]
    worst_blocks: Annotated[
        int | None, says("level with the smallest speedup, in blocks per SM; null for the original")
    ]
    worst_allocator: Annotated[str, says("allocator with the smallest speedup; `original` for the input")]
    unified: Annotated[
        dict[str, ReadingChoice],
        says("choice of the paper's search with the paper's allocator, by reading of the paper"),
    ]
    table1: Annotated[Table1Row, says("the row of Table 1, from the paper and here")]
    stated: Annotated[list[PaperClaim], says("statements of the paper's text about the benchmark")]
    stalls: Annotated[
        dict[str, dict[str, float]],
        says(
            "the two reasons for which most issue slots were lost, with their shares of all issue slots, for "
            "`original`, `auto` and `best`"
        ),
    ]
    levels: Annotated[list[ReproducedLevel], says("every level by every allocator, the original first")]


class ReproductionJson(TypedDict):
    """These fields have the paper's figures beside ours."""

    partial: Annotated[
        bool, says("whether Ctrl-C ended the command; `kernels` and `figure1` then have what was finished")
    ]
    cache: Annotated[str, says("folder in which finished runs are kept")]
    done: Annotated[int, says("programs built, runs and comparisons that this command did itself")]
    cached: Annotated[int, says("programs built, runs and comparisons that an earlier command had kept")]
    machines: Annotated[
        list[ReproducedMachine], says("machines, and how near the automatic choice comes to the best level on each")
    ]
    figure1: Annotated[list[Figure1Curve], says("curves of Fig. 1")]
    kernels: Annotated[list[ReproducedKernel], says("benchmarks on each machine")]


class ReproduceJson(Versioned, ReproductionJson):
    """`reproduce unified` prints this object."""

    paper: Annotated[str, says("name of the paper: `unified`")]


class PassesPerLoad(TypedDict):
    """This object says how many passes a load of one congestion takes."""

    k: Annotated[int, says("congestion: most rows of one bank that a load asks for")]
    passes: Annotated[
        int,
        says(
            "passes that a load of this congestion takes: k with 32 banks, another number with fewer banks, "
            "which serve fewer lanes at a time"
        ),
    ]


class CostPart(TypedDict):
    """This object is the regression of one part of the cycles."""

    c1: Annotated[
        float | None,
        says(
            "cycles of this part per w * l * k, by least squares; the `c1` of all parts add up to that of the "
            "whole; null where all runs have one product"
        ),
    ]
    c2: Annotated[
        float | None,
        says(
            "cycles of this part at w * l * k = 0, by least squares; the `c2` of all parts add up to that of "
            "the whole; null where all runs have one product"
        ),
    ]


class SmemCostRow(TypedDict):
    """This object describes a run."""

    w: Annotated[int, says("warps of the block")]
    l: Annotated[int, says("loads of each warp")]  # noqa: E741  the paper's name
    k: Annotated[int, says("congestion of each load")]
    cycles: Annotated[
        int,
        says(
            "latest end minus earliest start minus `clock_cycles`; the sum of `passes`, `launch_skew`, `gaps`, "
            "`latency` and `drain`"
        ),
    ]
    passes: Annotated[int, says("cycles in which the banks served loads")]
    launch_skew: Annotated[int, says("cycles in which the banks waited for the last warp to begin")]
    gaps: Annotated[int, says("cycles in which the banks waited later, up to the last pass")]
    latency: Annotated[int, says("cycles of one load beyond its pass, measured in the run with w = l = k = 1")]
    drain: Annotated[int, says("the remaining cycles: from the last value to the latest read of the clock")]
    arrivals: Annotated[
        int, says("cycles from the first warp at the barrier to the last, before the earliest read of the clock")
    ]
    barrier: Annotated[int, says("cycles from the last warp at the barrier to the earliest read of the clock")]


class SmemCostPaper(TypedDict):
    """This object has the figures that the paper prints."""

    machine: Annotated[str, says("machine that the paper measured")]
    c1: Annotated[float, says("cycles per w * l * k that the paper found")]
    c2: Annotated[float, says("cycles at w * l * k = 0 that the paper found")]
    w: Annotated[int, says("warps of the run for which the paper prints cycles")]
    l: Annotated[int, says("loads of each warp in that run")]  # noqa: E741  the paper's name
    k: Annotated[int, says("congestion of each load in that run")]
    cycles: Annotated[float, says("cycles of that run, a mean of 100")]


class SmemCostFields(TypedDict):
    """These fields have the runs and their regression."""

    machine: Annotated[str, says("name of the machine")]
    engine: Annotated[str, says("engine of the emulator: `numba` or `python`")]
    scheduler: Annotated[str, says("warp scheduler, as `--scheduler` names it")]
    banks: Annotated[int, says("banks of the machine's shared memory")]
    bank_bytes: Annotated[int, says("bytes that a bank serves in a pass, and bytes of a load")]
    mode_bytes: Annotated[int, says("consecutive bytes in one bank: 4 or 8, for the 4-byte or the 8-byte mode")]
    clock_cycles: Annotated[
        int,
        says("cycles between two reads of the clock with nothing between, which are subtracted from every run"),
    ]
    c1: Annotated[
        float | None,
        says(
            "cycles per w * l * k, by least squares; null where all runs have one product. It is not the cost "
            "of a pass where a load takes another number of passes than k (`passes_per_load`)"
        ),
    ]
    c2: Annotated[float | None, says("cycles at w * l * k = 0, by least squares; null where all runs have one product")]
    r2: Annotated[
        float | None,
        says(
            "share of the variance that the regression explains; null where all runs have one product or equal cycles"
        ),
    ]
    passes_per_load: Annotated[list[PassesPerLoad], says("passes of a load by congestion")]
    parts: Annotated[
        dict[str, CostPart],
        says("regression of each part of the cycles, by part"),
    ]
    rows: Annotated[list[SmemCostRow], says("runs")]
    paper: Annotated[SmemCostPaper, says("figures that the paper prints")]


class SmemCostJson(Versioned, SmemCostFields):
    """`smem-cost` prints this object."""

    plot: Annotated[str | None, says("path of the figure; null without `--plot`")]


class ShareJson(Versioned, OnMachine, SharedJson):
    """This object is printed by `share`."""

    kernel: Annotated[str, says("name of the kernel")]


class OverlayJson(Versioned, OnMachine, OverlayFields):
    """This object is printed by `share --overlay`."""

    kernel: Annotated[str, says("name of the kernel")]


class ReproduceSharingJson(Versioned, SharingReproductionJson):
    """This object is printed by `reproduce sharing`."""

    paper: Annotated[str, says("`sharing`")]


class ReproduceBatchingJson(Versioned, BatchingReproductionJson):
    """This object is printed by `reproduce batching`."""

    paper: Annotated[str, says("`batching`")]


class BatchesJson(Versioned, OnMachine):
    """This object says which blocks of a kernel form batches, and which pages they touch."""

    kernel: Annotated[str, says("name of the kernel")]
    step: Annotated[int | None, says("number of the launch in a sequence; null for a single launch")]
    grid: Annotated[list[int], says("blocks of the grid along x, y and z")]
    blocks: Annotated[int, says("blocks of the grid")]
    page_bytes: Annotated[int, says("size of the pages for which batches were formed")]
    formula: Annotated[FormulaJson, says("formula of the batches")]
    reason: Annotated[
        str,
        says(
            "`alone`: blocks share few pages; `found`: the formula keeps shared pages within batches; `no_pages`: no "
            "page is touched; `all_global`: all pages are global; `scattered`: no formula keeps shared pages together"
        ),
    ]
    batches: Annotated[int, says("batches of the grid; without a formula each block is one")]
    inputs_alone: Annotated[
        bool,
        says(
            "whether other contents of memory may lead to other pages, so that the profile holds for these inputs "
            "alone. If false, it holds for this launch with any contents"
        ),
    ]
    left_out: Annotated[
        list[str], says("`texture` and `local`: memories that the kernel accesses, and that are not counted")
    ]
    touched_pages: Annotated[int, says("pages that the kernel touches")]
    global_pages: Annotated[int, says("pages that more than half of the blocks or batches touch")]
    global_share: Annotated[float, says("the same as a share of all pages")]
    sharing_by_distance: Annotated[
        list[DistanceJson], says("pages by distance, accumulated: 0, 1, 2, 4 and so on, as far as there are some")
    ]
    candidates: Annotated[
        list[CandidateJson],
        says("sharing under the formula, under strides that are powers of two, and under the width of the grid"),
    ]
    blocks_per_sm: Annotated[int, says("resident blocks of an SM")]
    sms: Annotated[int, says("SMs of the machine, to which blocks come in turn")]
    pages: Annotated[list[PageCountsJson], says("counts for pages of 4 KB, 64 KB and 2 MB")]

"""These are the shapes of `reproduce` and `smem-cost`."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import Versioned
from binalloc.report.shapes.says import says


class ReproducedMachine(TypedDict):
    """A machine, and how near the automatic choice comes to the best."""

    machine: Annotated[str, says("the machine's name")]
    auto_over_best: Annotated[
        float | None, says("what the automatic choice reaches of the best speedup: geometric mean over its kernels")
    ]
    least_auto_over_best: Annotated[float | None, says("the least of them")]


class PaperAndHere(TypedDict):
    """A figure that the paper states, and what it is here."""

    paper: Annotated[float, says("the paper's figure")]
    here: Annotated[float | None, says("the figure here; null where nothing ran")]


class FastestRegisters(TypedDict):
    """Where a curve of Fig. 1 is fastest."""

    paper: Annotated[int | None, says("where the paper's text says that it is fastest; null where it does not")]
    here: Annotated[int | None, says("where it is here; null where nothing ran")]


class CurvePoint(TypedDict):
    """A point of a curve of Fig. 1."""

    registers_allowed: Annotated[int, says("registers that allocator `local` may use")]
    milliseconds: Annotated[float | None, says("emulated cycles at the machine's clock; null where it did not run")]
    status: Annotated[str, says("this and all others as in a [row](SWEEP.md#columns) of a sweep")]
    reason: Annotated[str, says("as there")]
    registers: Annotated[int | None, says("as there")]
    local_bytes: Annotated[int | None, says("as there")]
    blocks_per_sm: Annotated[int | None, says("as there")]
    occupancy: Annotated[float | None, says("as there")]
    cycles: Annotated[int | None, says("as there")]
    same_results: Annotated[bool | None, says("as there")]


class Figure1Curve(TypedDict):
    """A curve of Fig. 1."""

    machine: Annotated[str, says("the machine's name; an entry for each curve of Fig. 1")]
    kernel: Annotated[str, says("the benchmark")]
    sample: Annotated[str, says("the sample that stands in for it")]
    demand: Annotated[int, says("registers per thread of the input, of which the machine may not let it have all")]
    best_registers: Annotated[FastestRegisters, says("registers at which it is fastest")]
    points: Annotated[list[CurvePoint], says("points of the curve")]


class ReadingChoice(TypedDict):
    """What the paper's search takes by one reading of it."""

    blocks: Annotated[
        int | None,
        says(
            "the level that the paper's search takes with the paper's allocator, by that reading of it; null for "
            "the original"
        ),
    ]
    speedup: Annotated[float | None, says("what that comes to")]
    reason: Annotated[str, says("its path of decisions")]


class Table1Row(TypedDict):
    """A row of the paper's Table 1."""

    register_demand: Annotated[PaperAndHere, says("registers per thread")]
    user_shared_bytes_per_thread: Annotated[PaperAndHere, says("the user's shared memory over the block's threads")]
    instruction_change: Annotated[PaperAndHere, says("static instructions over the original's")]
    miss_percent: Annotated[
        PaperAndHere,
        says("cache misses of a hundred accesses at the automatic choice with slots; here of L1, textures apart"),
    ]
    miss_percent_local_only: Annotated[PaperAndHere, says("the same with local memory alone")]
    dispatch_interval: Annotated[float, says("mean static dispatch interval of the original, in cycles")]
    threads_per_block: Annotated[int, says("threads per block")]


class PaperClaim(TypedDict):
    """A statement of the paper's text."""

    claim: Annotated[str, says("what the paper's text says of it")]
    holds: Annotated[bool | None, says("whether it is so here; null where something did not run")]


class ReproducedLevel(TypedDict):
    """A level of a benchmark by an allocator."""

    allocator: Annotated[str, says("by name; `original` for the input")]
    blocks: Annotated[int | None, says("the level; null for the input")]
    speedup: Annotated[float | None, says("over the original")]
    status: Annotated[str, says("this and all others as in a [row](SWEEP.md#columns) of a sweep")]
    reason: Annotated[str, says("as there")]
    registers: Annotated[int | None, says("as there")]
    slots: Annotated[int | None, says("as there")]
    local_bytes: Annotated[int | None, says("as there")]
    blocks_per_sm: Annotated[int | None, says("as there")]
    occupancy: Annotated[float | None, says("as there")]
    instructions: Annotated[int | None, says("as there")]
    cycles: Annotated[int | None, says("as there")]
    same_results: Annotated[bool | None, says("as there")]
    proven: Annotated[bool | None, says("as there")]


class ReproducedKernel(TypedDict):
    """A benchmark on a machine."""

    machine: Annotated[str, says("the machine's name; an entry for each machine and kernel")]
    kernel: Annotated[str, says("the benchmark")]
    domain: Annotated[str, says("its domain, as Table 1 has it")]
    sample: Annotated[str, says("the sample that stands in for it there")]
    block: Annotated[list[int], says("threads in x, y, z")]
    block_is: Annotated[str, says("how its size is known: `firm`, `inferred`, `chosen`")]
    original_blocks: Annotated[int | None, says("blocks per SM of the original")]
    input_cycles: Annotated[int | None, says("emulated, of the input as it came")]
    original_cycles: Annotated[
        int | None,
        says(
            "of the original: the input, or what allocator `local` orders for as many blocks, if that is faster; "
            "all speedups of this command are over it"
        ),
    ]
    auto: Annotated[float | None, says("speedup of what policy `model` takes with allocator `best`")]
    auto_blocks: Annotated[int | None, says("the level that it takes, or null where it leaves the original")]
    auto_reason: Annotated[str, says("why, as `rewrite` says it")]
    best: Annotated[float | None, says("the greatest speedup of all levels and allocators")]
    best_blocks: Annotated[int | None, says("its level")]
    best_allocator: Annotated[str, says("its allocator")]
    worst: Annotated[float | None, says("the least")]
    worst_blocks: Annotated[int | None, says("its level")]
    worst_allocator: Annotated[str, says("its allocator")]
    unified: Annotated[
        dict[str, ReadingChoice],
        says("what the paper's search takes with the paper's allocator, by the reading of it"),
    ]
    table1: Annotated[Table1Row, says("the paper's Table 1")]
    stated: Annotated[list[PaperClaim], says("what the paper's text says of it")]
    stalls: Annotated[
        dict[str, dict[str, float]],
        says(
            "of the original, of what auto takes and of the best: the two reasons that left most issue slots "
            "empty, and their shares of all"
        ),
    ]
    levels: Annotated[list[ReproducedLevel], says("levels by allocator")]


class ReproductionJson(TypedDict):
    """The fields of what `reproduce` prints."""

    partial: Annotated[bool, says("whether Ctrl-C ended it: `kernels` and `figure1` have what was known by then")]
    cache: Annotated[str, says("the folder that finished runs are kept in")]
    done: Annotated[int, says("programs built, runs and comparisons that this command did")]
    cached: Annotated[int, says("those that were kept from an earlier one")]
    machines: Annotated[list[ReproducedMachine], says("machines")]
    figure1: Annotated[list[Figure1Curve], says("curves of Fig. 1")]
    kernels: Annotated[list[ReproducedKernel], says("benchmarks on machines")]


class ReproduceJson(Versioned, ReproductionJson):
    """What `reproduce` prints."""

    paper: Annotated[str, says("`unified`")]


class PassesPerLoad(TypedDict):
    """How many passes a load of some congestion takes."""

    k: Annotated[int, says("a congestion")]
    passes: Annotated[
        int,
        says(
            "passes that a load of it takes: k where there are 32 banks; others where there are fewer, which "
            "serve fewer lanes at a time"
        ),
    ]


class CostPart(TypedDict):
    """The regression of one part of the cycles."""

    c1: Annotated[float | None, says("the same regression of each part of the cycles; they add up to `c1`")]
    c2: Annotated[float | None, says("likewise, to `c2`")]


class SmemCostRow(TypedDict):
    """A run."""

    w: Annotated[int, says("warps of a run")]
    l: Annotated[int, says("loads of each")]  # noqa: E741  the paper's name
    k: Annotated[int, says("congestion of a load")]
    cycles: Annotated[int, says("latest end minus earliest start minus `clock_cycles`; the sum of the next five")]
    passes: Annotated[int, says("cycles in which the banks served loads")]
    launch_skew: Annotated[int, says("cycles in which they waited for the last warp to begin")]
    gaps: Annotated[int, says("cycles in which they waited later, up to the last pass")]
    latency: Annotated[int, says("cycles of one load beyond its pass, as the run w = l = k = 1 has them")]
    drain: Annotated[int, says("the rest: from the last value to the latest read of the clock")]
    arrivals: Annotated[int, says("before all this: cycles from the first warp at the barrier to the last")]
    barrier: Annotated[int, says("cycles from then to the earliest read of the clock")]


class SmemCostPaper(TypedDict):
    """The paper's figures."""

    machine: Annotated[str, says("the machine that the paper measured")]
    c1: Annotated[float, says("its c1")]
    c2: Annotated[float, says("its c2")]
    w: Annotated[int, says("the run that it tells the cycles of")]
    l: Annotated[int, says("likewise")]  # noqa: E741  the paper's name
    k: Annotated[int, says("likewise")]
    cycles: Annotated[float, says("the cycles, a mean of 100")]


class SmemCostFields(TypedDict):
    """The fields of what `smem-cost` prints."""

    machine: Annotated[str, says("the machine's name")]
    engine: Annotated[str, says("`numba` or `python`")]
    scheduler: Annotated[str, says("the warp scheduler, as `--scheduler` names it")]
    banks: Annotated[int, says("banks of shared memory; this and the next two are the machine's")]
    bank_bytes: Annotated[int, says("bytes that a bank serves in a pass, and bytes of a load")]
    mode_bytes: Annotated[int, says("bytes that follow one another in a bank: 4 or 8 for the 4-byte or 8-byte mode")]
    clock_cycles: Annotated[
        int,
        says("cycles between two reads of the clock with nothing between; subtracted from every run"),
    ]
    c1: Annotated[
        float | None,
        says(
            "cycles per w * l * k, by least squares; null, as the next two, where all runs have one product. Not "
            "what a pass costs where `passes_per_load` says other numbers than k"
        ),
    ]
    c2: Annotated[float | None, says("the line's cycles at 0")]
    r2: Annotated[
        float | None,
        says("share of the variance that the line explains; null, too, where all runs took as long"),
    ]
    passes_per_load: Annotated[list[PassesPerLoad], says("passes by congestion")]
    parts: Annotated[
        dict[str, CostPart],
        says("the same regression of each part of the cycles; the parts add up to `c1` and `c2`"),
    ]
    rows: Annotated[list[SmemCostRow], says("runs")]
    paper: Annotated[SmemCostPaper, says("the paper's figures")]


class SmemCostJson(Versioned, SmemCostFields):
    """What `smem-cost` prints."""

    plot: Annotated[str | None, says("path of the figure, or null")]

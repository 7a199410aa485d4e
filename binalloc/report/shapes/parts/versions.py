"""These are the shapes of versions of a kernel and levels."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.says import says


class SampledJson(TypedDict):
    """What cycles are estimated from."""

    blocks: Annotated[
        int | None,
        says(
            "where its cycles are estimated (`recommend`), so many blocks were run; null, like the next two, "
            "where all were, and without runs"
        ),
    ]
    grid: Annotated[int | None, says("of so many")]
    error: Annotated[
        float | None,
        says(
            "how far the estimates of the grid's beginning, middle and end are apart: half the range, as a share "
            "of the estimate"
        ),
    ]


class VersionJson(TypedDict):
    """A version of a kernel."""

    registers: Annotated[int, says("per thread")]
    slots: Annotated[int, says("shared-memory slots per thread")]
    idle_slots: Annotated[
        int,
        says("further slots per thread that nothing uses: they hold the number of resident blocks down"),
    ]
    local_bytes: Annotated[int, says("local memory per thread")]
    shared_bytes: Annotated[int, says("shared memory per block, slots included")]
    blocks_per_sm: Annotated[int, says("resident blocks")]
    occupancy: Annotated[float, says("resident warps over the most an SM holds")]
    limiters: Annotated[list[str], says("resources that bind")]
    instructions: Annotated[int, says("static, over the call graph")]
    copies: Annotated[
        int,
        says("those between registers that the rewrite added, exchanges as the instructions they are made of"),
    ]
    cycles: Annotated[int | None, says("null where it was not run")]
    cycles_range: Annotated[list[int] | None, says("the fewest and the most cycles of it with `--skews`; null without")]
    sampled: Annotated[SampledJson, says("what cycles are estimated from (`recommend`)")]
    allocated: Annotated[str | None, says("the allocator where `original` cannot run as it came; null elsewhere")]


class LevelJson(TypedDict):
    """A level that a search has looked at."""

    blocks: Annotated[int, says("blocks aimed at")]
    registers: Annotated[int, says("registers it may use")]
    slots: Annotated[int, says("slots it may use")]
    allocator: Annotated[
        str | None,
        says("by which it was made; null where there is no version, and where that is the original"),
    ]
    registers_used: Annotated[
        int | None,
        says("registers it does use; null where there is no version, as the next four"),
    ]
    slots_used: Annotated[int | None, says("slots it does use")]
    blocks_per_sm: Annotated[int | None, says("resident blocks")]
    cycles: Annotated[int | None, says("its cycles")]
    cycles_range: Annotated[list[int] | None, says("as in a [version](#version)")]
    sampled: Annotated[SampledJson, says("as in a [version](#version)")]
    local_bytes: Annotated[int | None, says("its local memory per thread")]
    expected_speedup: Annotated[
        float | None,
        says(
            "how many times as fast as the original it should be, by what policy `model` goes by; null where that "
            "was not asked"
        ),
    ]
    reason: Annotated[str, says("why there is no version, or what is special about it")]


class DirectiveJson(TypedDict):
    """A directive."""

    text: Annotated[str, says("a directive")]
    registers: Annotated[int | None, says("it leaves at most so many registers per thread; null where it bounds none")]
    blocks: Annotated[int | None, says("it wants at least so many blocks per SM; null likewise")]
    note: Annotated[str, says("what was used instead of what it says, and why; empty if just that")]
    overridden_by: Annotated[str | None, says("what was asked for in its place, `registers` or `blocks`; null without")]


class DirectiveCost(TypedDict):
    """What keeping to the directives costs by an allocator."""

    allocator: Annotated[
        str,
        says(
            "the allocator with which the other four were found: `local`, which spills to local memory alone; "
            "with the pragma `ptxas-smem`; and the one asked for. Empty where the input keeps to them as it is"
        ),
    ]
    registers: Annotated[int, says("registers per thread")]
    slots: Annotated[int, says("slots per thread")]
    spill_bytes: Annotated[int, says("bytes of local memory per thread that spills take")]
    blocks_per_sm: Annotated[int, says("resident blocks")]


class DirectivesJson(TypedDict):
    """What the author's directives leave a kernel, and what keeping to them costs."""

    demand: Annotated[int, says("registers per thread of the input")]
    registers: Annotated[int | None, says("the most per thread that those which are obeyed leave; null without such")]
    blocks: Annotated[int | None, says("the least per SM likewise")]
    smem_spilling: Annotated[bool, says('whether `.pragma "enable_smem_spilling"` is there')]
    said: Annotated[list[DirectiveJson], says("the directives")]
    costs: Annotated[
        list[DirectiveCost],
        says("what keeping to them costs, by allocator; empty where the input keeps to them as it is"),
    ]


class OccupancyJson(TypedDict):
    """How many blocks an SM holds at once, and why not more."""

    rule: Annotated[str, says("whose rule gave the answer")]
    cc: Annotated[str, says("compute capability")]
    registers: Annotated[int, says("registers per thread asked about")]
    shared_bytes: Annotated[int, says("shared memory per block asked about")]
    threads: Annotated[int, says("threads per block asked about")]
    cache_config: Annotated[str, says("preference asked about")]
    carveout: Annotated[int | None, says("carve-out asked about")]
    blocks_per_sm: Annotated[int, says("the answer")]
    limits: Annotated[dict[str, int | None], says("blocks that each resource allows; null where it does not bind")]
    limiters: Annotated[list[str], says("the resources that bind")]
    limit_mask: Annotated[int, says("the same as bits, as NVIDIA's calculator has them")]
    registers_per_block: Annotated[int, says("registers a block is given")]
    shared_per_block: Annotated[int, says("shared memory a block is given")]
    warps_per_block: Annotated[int, says("warps a block is given")]
    active_warps: Annotated[int, says("resident warps")]
    active_threads: Annotated[int, says("resident threads")]
    max_warps: Annotated[int, says("most warps an SM holds")]
    occupancy: Annotated[float, says("the one over the other")]


class SpeedupParts(TypedDict):
    """The factors of a speedup; their product is it."""

    occupancy: NotRequired[
        Annotated[
            float,
            says("factor of `speedup`: more blocks resident, as if registers were free"),
        ]
    ]
    local_traffic: NotRequired[Annotated[float, says("factor: what spilling to local memory alone costs of that")]]
    slots: NotRequired[Annotated[float, says("factor: what slots win back")]]
    spills: NotRequired[
        Annotated[
            float,
            says("factor in place of `local_traffic` and `slots`: what all spills cost, where `local` is null"),
        ]
    ]

"""This module has the shapes of versions of a kernel and of levels."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.says import says

_CYCLES_RANGE = says(
    "least and most cycles of its runs with and without delays of blocks (`--skews`); null without `--skews`"
)
_SAMPLED = says("blocks that were run where the cycles are estimated from parts of the grid")


class SampledJson(TypedDict):
    """This object says from which part of the grid cycles are estimated."""

    blocks: Annotated[
        int | None,
        says("blocks that were run; null where all blocks were run, and without runs"),
    ]
    grid: Annotated[int | None, says("blocks of the grid; null where all blocks were run, and without runs")]
    error: Annotated[
        float | None,
        says(
            "half the spread of the estimates from the beginning, the middle and the end of the grid, as a share of "
            "the estimate; null where all blocks were run, and without runs"
        ),
    ]


class VersionJson(TypedDict):
    """A version of a kernel is the original or a rewrite of it."""

    registers: Annotated[int, says("registers per thread")]
    slots: Annotated[int, says("shared-memory slots per thread")]
    idle_slots: Annotated[
        int,
        says("further slots per thread that hold no value: they only keep the number of resident blocks down"),
    ]
    local_bytes: Annotated[int, says("local memory per thread, in bytes")]
    shared_bytes: Annotated[int, says("shared memory per block in bytes, slots included")]
    blocks_per_sm: Annotated[int, says("resident blocks per SM")]
    occupancy: Annotated[float, says("resident warps as a share of the most that an SM holds")]
    limiters: Annotated[list[str], says("resources that limit the number of resident blocks")]
    instructions: Annotated[int, says("instructions in the code of the kernel and its callees")]
    copies: Annotated[
        int,
        says("copies between registers that the rewrite added; an exchange counts as the instructions it consists of"),
    ]
    cycles: Annotated[int | None, says("emulated cycles; null where the version was not run")]
    cycles_range: Annotated[list[int] | None, _CYCLES_RANGE]
    sampled: Annotated[SampledJson, _SAMPLED]
    allocated: Annotated[
        str | None,
        says(
            "allocator of `original` where the input asks for more registers than the machine or its directives leave; "
            "null elsewhere"
        ),
    ]


class LevelJson(TypedDict):
    """A level is a number of resident blocks, with the registers and slots per thread that it leaves."""

    blocks: Annotated[int, says("resident blocks per SM that the level aims at")]
    registers: Annotated[int, says("registers per thread that the level allows")]
    slots: Annotated[int, says("slots per thread that the level allows")]
    allocator: Annotated[
        str | None,
        says("allocator that made the version; null where there is no version, and where it is the original"),
    ]
    registers_used: Annotated[
        int | None,
        says("registers per thread that the version takes; null where there is no version"),
    ]
    slots_used: Annotated[int | None, says("slots per thread that the version takes; null where there is no version")]
    blocks_per_sm: Annotated[int | None, says("resident blocks per SM; null where there is no version")]
    cycles: Annotated[int | None, says("emulated cycles; null where there is no version, and where it was not run")]
    cycles_range: Annotated[list[int] | None, _CYCLES_RANGE]
    sampled: Annotated[SampledJson, _SAMPLED]
    local_bytes: Annotated[
        int | None,
        says("local memory of the version per thread, in bytes; null where there is no version"),
    ]
    expected_speedup: Annotated[
        float | None,
        says("speedup over the original that policy `model` expects; null where the model was not asked"),
    ]
    reason: Annotated[
        str,
        says("why there is no version, or what is special about it; empty where nothing is"),
    ]


class DirectiveJson(TypedDict):
    """This object describes a directive of the kernel's author."""

    text: Annotated[str, says("the directive, as PTX writes it")]
    registers: Annotated[
        int | None,
        says("most registers per thread that the directive allows; null where it limits none"),
    ]
    blocks: Annotated[
        int | None,
        says("fewest resident blocks per SM that the directive asks for; null where it asks for none"),
    ]
    note: Annotated[
        str,
        says("value that is used in place of the stated one, and why; empty where the stated one is used"),
    ]
    overridden_by: Annotated[
        str | None,
        says("option that overrides the directive: `registers` or `blocks`; null where none does"),
    ]


class DirectiveCost(TypedDict):
    """This object says what obeying the directives costs with one allocator."""

    allocator: Annotated[
        str,
        says(
            "the allocator: `local`, which spills to local memory alone; `ptxas-smem`, where the pragma is there; and "
            "the one asked for. Empty where the input itself obeys the directives"
        ),
    ]
    registers: Annotated[int, says("registers per thread")]
    slots: Annotated[int, says("slots per thread")]
    spill_bytes: Annotated[int, says("local memory per thread that spills take, in bytes")]
    blocks_per_sm: Annotated[int, says("resident blocks per SM")]


class DirectivesJson(TypedDict):
    """This object says what the author's directives leave a kernel, and what obeying them costs."""

    demand: Annotated[int, says("registers per thread of the input")]
    registers: Annotated[
        int | None,
        says("most registers per thread that the obeyed directives allow; null where none limits registers"),
    ]
    blocks: Annotated[
        int | None,
        says("fewest resident blocks per SM that the obeyed directives ask for; null where none asks for blocks"),
    ]
    smem_spilling: Annotated[bool, says('whether the kernel has `.pragma "enable_smem_spilling"`')]
    said: Annotated[list[DirectiveJson], says("directives of the kernel")]
    costs: Annotated[
        list[DirectiveCost],
        says("what obeying the directives costs, one entry per allocator; empty where no directive limits registers"),
    ]


class OccupancyJson(TypedDict):
    """This object says how many blocks an SM holds at once, and what limits them."""

    rule: Annotated[str, says("rule that gave the answer, by its author")]
    cc: Annotated[str, says("compute capability")]
    registers: Annotated[int, says("registers per thread that were asked for")]
    shared_bytes: Annotated[int, says("shared memory per block that was asked for, in bytes")]
    threads: Annotated[int, says("threads per block that were asked for")]
    cache_config: Annotated[str, says("preferred division between L1 and shared memory that was asked for")]
    carveout: Annotated[
        int | None,
        says("carve-out for shared memory that was asked for, in per cent; null where none was"),
    ]
    blocks_per_sm: Annotated[int, says("resident blocks per SM: the answer")]
    limits: Annotated[
        dict[str, int | None],
        says("resident blocks that each resource allows, by resource; null where the resource sets no limit"),
    ]
    limiters: Annotated[list[str], says("resources with the lowest limit")]
    limit_mask: Annotated[int, says("the resources of `limiters` as bits, in the encoding of NVIDIA's calculator")]
    registers_per_block: Annotated[int, says("registers that a block is given")]
    shared_per_block: Annotated[int, says("shared memory that a block is given, in bytes")]
    warps_per_block: Annotated[int, says("warps that a block is given")]
    active_warps: Annotated[int, says("resident warps per SM")]
    active_threads: Annotated[int, says("resident threads per SM")]
    max_warps: Annotated[int, says("most warps that an SM holds")]
    occupancy: Annotated[float, says("`active_warps` over `max_warps`")]


class SpeedupParts(TypedDict):
    """This object has the factors of a speedup; their product is the speedup."""

    occupancy: NotRequired[
        Annotated[
            float,
            says(
                "factor by which more resident blocks would speed the original up if registers were free; left out "
                "without runs, and where the original was kept"
            ),
        ]
    ]
    local_traffic: NotRequired[
        Annotated[
            float,
            says(
                "factor by which spilling to local memory alone changes the gain of `occupancy`; left out without "
                "runs, and where `local` is null"
            ),
        ]
    ]
    slots: NotRequired[
        Annotated[
            float,
            says("factor by which values in slots win time back; left out without runs, and where `local` is null"),
        ]
    ]
    spills: NotRequired[
        Annotated[
            float,
            says(
                "factor by which all spills change the gain of `occupancy`, in place of `local_traffic` and "
                "`slots`; left out without runs, and where `local` is not null"
            ),
        ]
    ]
    allocation: NotRequired[
        Annotated[
            float,
            says(
                "speedup of the version without; in place of all others where a version was taken whose blocks use "
                "shared memory in turns, share it two by two, or work in another order"
            ),
        ]
    ]
    turns: NotRequired[
        Annotated[float, says("speedup of that version over the policy's; left out where blocks use none in turns")]
    ]
    scheduler: NotRequired[
        Annotated[
            float,
            says(
                "speedup of the version without pairs under their scheduler over the same under the original's; left "
                "out where blocks share nothing"
            ),
        ]
    ]
    pairs: NotRequired[
        Annotated[float, says("speedup of pairs under their scheduler; left out where blocks share nothing")]
    ]
    block_order: NotRequired[
        Annotated[float, says("speedup of the order of blocks; left out where blocks work in the order as it is")]
    ]

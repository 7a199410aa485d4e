"""These are the shapes of `sweep`."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import Versioned
from binalloc.report.shapes.says import says


class SweepRowJson(TypedDict):
    """A row of a sweep, by column."""

    schema_version: Annotated[int, says("1, of this table: columns are only ever added under one version")]
    file: Annotated[str, says("the binary, as on the command line")]
    kernel: Annotated[str, says("its kernel")]
    machine: Annotated[str, says("the machine's name")]
    scheduler: Annotated[str, says("the emulated warp scheduler")]
    allocator: Annotated[str, says("by name; `original` in the row of the original")]
    size: Annotated[str, says("which of the launch file's sizes; empty for its own numbers")]
    blocks: Annotated[int | None, says("the level: blocks per SM aimed at; nothing in the row of the original")]
    registers_allowed: Annotated[
        int | None,
        says(
            "registers per thread that the level leaves; nothing in the row of the original, and where the "
            "machine cannot hold so many blocks"
        ),
    ]
    slots_allowed: Annotated[int | None, says("slots per thread that it leaves, likewise")]
    status: Annotated[
        str,
        says(
            "`ok`; `infeasible`: the budget cannot be kept; `refused`: the kernel cannot be rewritten, or does "
            "not run on the machine; `limit`: of cycles, of memory, or of what the checker follows; `fault`: the "
            "emulated kernel's"
        ),
    ]
    reason: Annotated[
        str,
        says(
            "why, in a sentence, where it is not `ok`; why the original is all there is, where no allocator can "
            "rewrite the kernel"
        ),
    ]
    program: Annotated[
        str | None,
        says(
            "`original`, or the first 12 digits of the SHA-256 of the rewritten binary; nothing, here and in what "
            "follows, where there is none"
        ),
    ]
    registers: Annotated[int | None, says("registers per thread")]
    slots: Annotated[int | None, says("slots per thread")]
    blocks_per_sm: Annotated[int | None, says("blocks resident at once")]
    occupancy: Annotated[float | None, says("their warps over the most that an SM holds")]
    local_bytes: Annotated[int | None, says("local memory per thread")]
    instructions: Annotated[int | None, says("static, over the call graph")]
    instruction_change: Annotated[
        float | None,
        says("static instructions over the original's: the unified paper's InstChange"),
    ]
    dispatch_interval: Annotated[float | None, says("mean static dispatch interval, in cycles")]
    proven: Annotated[bool | None, says("whether the checker proved it; nothing for an original that is as it came")]
    same_results: Annotated[
        bool | None,
        says("whether the run left the original's results; nothing, here and in what follows, where a run did not end"),
    ]
    cycles: Annotated[int | None, says("emulated")]
    original_cycles: Annotated[int | None, says("the original's, under the same scheduler")]
    speedup: Annotated[
        float | None,
        says(
            "the quotient; what order alone gains is in it, which the row of `local` at the original's own number "
            "of blocks tells by itself"
        ),
    ]
    spill_accesses: Annotated[
        int | None,
        says("accesses of spill code that were executed, to slots and local memory, by warp"),
    ]
    local_accesses: Annotated[int | None, says("accesses to local memory that were executed, the input's own included")]
    slot_accesses: Annotated[int | None, says("accesses to slots that were executed")]
    l1_accesses: Annotated[
        int | None,
        says("lines that L1 was asked for, of global memory (where L1 caches it) and local memory, textures apart"),
    ]
    l1_misses: Annotated[int | None, says("of these those that it did not have")]
    stall_no_warp: Annotated[
        float | None,
        says(
            "share of all issue slots that stayed empty for this reason; likewise all that follow, see "
            "[TIMING.md](../emulator/TIMING.md)"
        ),
    ]
    stall_stall_count: Annotated[float | None, says("likewise")]
    stall_branch: Annotated[float | None, says("likewise")]
    stall_scoreboard: Annotated[float | None, says("likewise")]
    stall_port_busy: Annotated[float | None, says("likewise")]
    stall_barrier: Annotated[float | None, says("likewise")]
    stall_block_drain: Annotated[float | None, says("likewise")]
    stall_no_pair: Annotated[float | None, says("likewise")]
    stall_pending: Annotated[float | None, says("likewise")]
    stall_register_bank: Annotated[float | None, says("likewise")]
    stall_instruction_fetch: Annotated[float | None, says("likewise")]
    stall_constant: Annotated[float | None, says("likewise")]


class SweptKernel(TypedDict):
    """A kernel on a machine."""

    file: Annotated[str, says("a file that is swept")]
    kernel: Annotated[str, says("its kernel")]
    machine: Annotated[str, says("a machine that it is swept on")]
    machine_from: Annotated[
        str,
        says("why it is that machine: `asked for`, the target of PTX, the binary's own, or the default"),
    ]


class SweepFields(TypedDict):
    """The fields of what `sweep` prints."""

    partial: Annotated[
        bool,
        says("whether Ctrl-C ended it: `rows` has what was known by then, in front of the first row that was not"),
    ]
    cache: Annotated[str, says("the folder that finished runs are kept in")]
    output: Annotated[str | None, says("path of the table, or null")]
    done: Annotated[
        int,
        says("programs built, runs and comparisons that this command did; with `cached` the same for the same sweep"),
    ]
    cached: Annotated[int, says("those that were kept from an earlier one")]
    counts: Annotated[dict[str, int], says("how many rows ended so, by status")]
    rows: Annotated[list[SweepRowJson], says("a [row](SWEEP.md#columns) of the table")]


class SweepJson(Versioned, SweepFields):
    """What `sweep` prints."""

    machines: Annotated[list[SweptKernel], says("each kernel on each machine")]

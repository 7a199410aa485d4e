"""This module has the shapes of `sweep`."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import OnMachine, Versioned
from binalloc.report.shapes.says import says


class SweepRowJson(TypedDict):
    """A row of a sweep is one version of a kernel, by column."""

    schema_version: Annotated[int, says("1; under one number columns are only added")]
    file: Annotated[str, says("path of the binary, as on the command line")]
    kernel: Annotated[str, says("name of the kernel")]
    machine: Annotated[str, says("name of the machine")]
    scheduler: Annotated[str, says("emulated warp scheduler")]
    allocator: Annotated[
        str,
        says(
            "name of the allocator; `original` in the row of the original, and where pairs of blocks have its registers"
        ),
    ]
    size: Annotated[str, says("size of the launch, as the launch file names it; empty for its own numbers")]
    blocks: Annotated[
        int | None,
        says(
            "resident blocks per SM that the level aims at; null in the row of the original, and where `scheme` is not "
            "null: such a version has the number that suits it best"
        ),
    ]
    registers_allowed: Annotated[
        int | None,
        says(
            "registers per thread that the level allows; null where `blocks` is, and where the machine cannot hold so "
            "many blocks"
        ),
    ]
    slots_allowed: Annotated[
        int | None,
        says(
            "slots per thread that the level allows; null where `blocks` is, and where the machine cannot hold so many "
            "blocks"
        ),
    ]
    scheme: Annotated[
        str | None,
        says(
            "`vtb` and others, as `multiplex --scheme` names them, of a version whose blocks use shared memory in "
            "turns; `shorter` or `own` for shorter access regions or own words alone; null in other rows"
        ),
    ]
    merge: Annotated[int | None, says("blocks that are merged into one; null where none are")]
    barriers: Annotated[
        str | None,
        says("barriers at which merged blocks take turns, as `multiplex --barriers` names them; null where none are"),
    ]
    shorter_regions: Annotated[
        bool | None, says("whether access regions were made shorter first; null where `scheme` is")
    ]
    own_words: Annotated[
        bool | None, says("whether words of one thread went to its local memory first; null where `scheme` is")
    ]
    sharing: Annotated[
        str | None,
        says(
            "how blocks share memory two by two, as `--sharing` says it: `auto`, a threshold, or pairs and private "
            "bytes; null in rows whose blocks share nothing"
        ),
    ]
    pairs: Annotated[int | None, says("pairs of blocks on an SM; null where `sharing` is, or there is no program")]
    private_bytes: Annotated[
        int | None,
        says("bytes of a block of a pair that only it uses, those of its slots included; null as `pairs`"),
    ]
    status: Annotated[
        str,
        says(
            "`ok`; `infeasible` where the budget is too small; `refused` where the kernel cannot be rewritten "
            "or does not run on the machine; `limit` where cycles, memory or the checker's limit ran out; "
            "`fault` where the emulated kernel had one"
        ),
    ]
    reason: Annotated[
        str,
        says(
            "a sentence that says why `status` is not `ok`, why the original stands for the level because no allocator "
            "can rewrite the kernel, or what of a version with a `scheme` could not be proven; empty elsewhere"
        ),
    ]
    program: Annotated[
        str | None,
        says(
            "`original`, or the first 12 digits of the SHA-256 of the rewritten binary; null where there is no program"
        ),
    ]
    registers: Annotated[int | None, says("registers per thread; null where there is no program")]
    slots: Annotated[int | None, says("slots per thread; null where there is no program")]
    blocks_per_sm: Annotated[int | None, says("resident blocks per SM; null where there is no program")]
    occupancy: Annotated[
        float | None, says("resident warps as a share of the most that an SM holds; null where there is no program")
    ]
    local_bytes: Annotated[int | None, says("local memory per thread, in bytes; null where there is no program")]
    instructions: Annotated[
        int | None, says("instructions in the code of the kernel and its callees; null where there is no program")
    ]
    instruction_change: Annotated[
        float | None,
        says(
            "`instructions` over the instructions of the original: the unified paper's InstChange; null where "
            "there is no program"
        ),
    ]
    dispatch_interval: Annotated[
        float | None, says("mean static dispatch interval, in cycles; null where there is no program")
    ]
    proven: Annotated[
        bool | None,
        says(
            "whether the checker proved the program equal to the original; null where there is no program, and "
            "for an original as it came"
        ),
    ]
    same_results: Annotated[
        bool | None,
        says("whether the run left the results of the original; null where no run ended"),
    ]
    cycles: Annotated[int | None, says("emulated cycles; null where no run ended")]
    original_cycles: Annotated[
        int | None, says("emulated cycles of the original, under the same scheduler; null where its run did not end")
    ]
    speedup: Annotated[
        float | None,
        says(
            "`original_cycles` over `cycles`. It includes the gain of another order of the instructions, which "
            "the row of `local` at the original's own number of blocks shows by itself; null where no run ended"
        ),
    ]
    spill_accesses: Annotated[
        int | None,
        says("accesses by spill code to slots and local memory that warps executed; null where no run ended"),
    ]
    local_accesses: Annotated[
        int | None,
        says("accesses to local memory that warps executed, accesses of the input included; null where no run ended"),
    ]
    slot_accesses: Annotated[int | None, says("accesses to slots that warps executed; null where no run ended")]
    l1_accesses: Annotated[
        int | None,
        says(
            "lines that L1 was asked for, of local memory and, where L1 caches it, of global memory, without "
            "textures; null where no run ended"
        ),
    ]
    l1_misses: Annotated[int | None, says("part of `l1_accesses` that L1 did not have; null where no run ended")]
    stall_no_warp: Annotated[
        float | None,
        says(
            "share of all issue slots lost because no warp was resident on the scheduler "
            "([TIMING.md](../emulator/TIMING.md#schedulers)); null where no run ended"
        ),
    ]
    stall_stall_count: Annotated[
        float | None,
        says(
            "share of all issue slots lost because the nearest warp waited for the stall count of its last "
            "instruction; null where no run ended"
        ),
    ]
    stall_branch: Annotated[
        float | None,
        says("share of all issue slots lost because the nearest warp waited for its branch; null where no run ended"),
    ]
    stall_scoreboard: Annotated[
        float | None,
        says(
            "share of all issue slots lost because the nearest warp waited for results of variable latency, "
            "such as loads; null where no run ended"
        ),
    ]
    stall_port_busy: Annotated[
        float | None,
        says(
            "share of all issue slots lost because the unit of a ready warp took no instruction in that cycle; "
            "null where no run ended"
        ),
    ]
    stall_barrier: Annotated[
        float | None,
        says("share of all issue slots lost because every warp waited at a barrier; null where no run ended"),
    ]
    stall_block_drain: Annotated[
        float | None,
        says(
            "share of all issue slots lost because every warp had exited and its block had not; null where no run ended"
        ),
    ]
    stall_no_pair: Annotated[
        float | None,
        says(
            "share of all issue slots lost because no second instruction could issue with the first; null where "
            "no run ended"
        ),
    ]
    stall_pending: Annotated[
        float | None,
        says(
            "share of all issue slots lost because the scheduler's policy let no ready warp issue; null where "
            "no run ended"
        ),
    ]
    stall_register_bank: Annotated[
        float | None,
        says(
            "share of all issue slots lost because the last instruction waited for the banks of its registers; "
            "null where no run ended"
        ),
    ]
    stall_shared_full: Annotated[
        float | None,
        says(
            "share of all issue slots lost because the nearest warp's block waited for shared memory that other blocks "
            "held; null where no run ended"
        ),
    ]
    stall_instruction_fetch: Annotated[
        float | None,
        says(
            "share of all issue slots lost because the nearest warp waited for its instruction from the "
            "instruction cache; null where no run ended"
        ),
    ]
    stall_constant: Annotated[
        float | None,
        says(
            "share of all issue slots lost because the nearest warp waited for a constant from the constant "
            "cache; null where no run ended"
        ),
    ]
    stall_shared_lock: Annotated[
        float | None,
        says(
            "share of all issue slots lost because the nearest warp waited for shared memory that its block shares "
            "with another, which had it; null where no run ended"
        ),
    ]


class SweptKernel(OnMachine):
    """This object says which machine a kernel is swept on, and why."""

    file: Annotated[str, says("path of the binary")]
    kernel: Annotated[str, says("name of the kernel")]


class SweepFields(TypedDict):
    """These fields are the table of a sweep and what it took."""

    partial: Annotated[
        bool,
        says("whether Ctrl-C ended the command; `rows` then ends before the first row that was not finished"),
    ]
    cache: Annotated[str, says("folder in which finished runs are kept")]
    output: Annotated[str | None, says("path of the table; null where none was written")]
    done: Annotated[
        int,
        says(
            "programs built, runs and comparisons that this command did itself; `done` and `cached` add up to "
            "the same number for the same sweep"
        ),
    ]
    cached: Annotated[int, says("programs built, runs and comparisons that an earlier command had kept")]
    counts: Annotated[dict[str, int], says("number of rows by `status`")]
    rows: Annotated[list[SweepRowJson], says("rows of the table; SWEEP.md describes its [columns](SWEEP.md#columns)")]


class SweepJson(Versioned, SweepFields):
    """`sweep` prints this object."""

    machines: Annotated[list[SweptKernel], says("machine of each kernel, and why it is that machine")]

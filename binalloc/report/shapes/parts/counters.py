"""These are the shapes of the counters of a run."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.says import says


class QueueCounters(TypedDict):
    """A queue of the memory system, all of its kind together."""

    queues: Annotated[
        int,
        says(
            "how many of the queue there are: `l1_mshrs` holds loads and atomics under way from an SM, "
            "`store_places` its stores and write-backs, `l2_mshrs` fetches under way to lines of a slice of L2, "
            "`dram_queue` requests that wait at a channel of DRAM"
        ),
    ]
    places: Annotated[int, says("what one of them can hold")]
    entry_cycles: Annotated[int, says("what they held at the end of each cycle, summed over cycles and queues")]
    full_cycles: Annotated[int, says("cycles at whose end one of them had no place left, summed over queues")]
    most: Annotated[
        int,
        says(
            "the most that one of them held at any moment; more than `places` in a `dram_queue` behind an L2 that "
            "holds textures alone, where what atomics write needs no place"
        ),
    ]
    average: Annotated[float, says("`entry_cycles` per cycle and queue")]
    full: Annotated[float, says("`full_cycles` per cycle and queue: the share of time for which it was full")]


class CountersJson(TypedDict):
    """The counters of a run."""

    cycles: Annotated[int, says("as above")]
    warp_instructions: Annotated[int, says("instructions issued")]
    thread_instructions: Annotated[int, says("the same by active lane")]
    issue_slots: Annotated[int, says("issue slots used")]
    dual_issues: Annotated[int, says("instructions issued as second of a pair")]
    ipc: Annotated[float, says("warp instructions per cycle and SM")]
    shared_passes_per_access: Annotated[
        float | None,
        says(
            "`shared_passes` over `shared_accesses`, the degree of bank conflicts; this and the other quotients "
            "are null where there is nothing to divide by"
        ),
    ]
    sectors_per_global_load: Annotated[float | None, says("`global_load_sectors` over `user_global_loads`")]
    sectors_per_global_store: Annotated[float | None, says("`global_store_sectors` over `user_global_stores`")]
    achieved_occupancy: Annotated[float, says("as above")]
    user_global_loads: Annotated[int, says("loads from global memory by user code")]
    user_global_load_bytes: Annotated[int, says("bytes of their lanes")]
    user_global_stores: Annotated[int, says("stores to global memory by user code")]
    user_global_store_bytes: Annotated[int, says("bytes of their lanes")]
    user_global_atomics: Annotated[int, says("atomics on global memory by user code")]
    user_global_atomic_bytes: Annotated[int, says("bytes of their lanes")]
    user_shared_loads: Annotated[int, says("loads from shared memory by user code")]
    user_shared_load_bytes: Annotated[int, says("bytes of their lanes")]
    user_shared_stores: Annotated[int, says("stores to shared memory by user code")]
    user_shared_store_bytes: Annotated[int, says("bytes of their lanes")]
    user_shared_atomics: Annotated[int, says("atomics on shared memory by user code")]
    user_shared_atomic_bytes: Annotated[int, says("bytes of their lanes")]
    user_local_loads: Annotated[int, says("loads from local memory by user code")]
    user_local_load_bytes: Annotated[int, says("bytes of their lanes")]
    user_local_stores: Annotated[int, says("stores to local memory by user code")]
    user_local_store_bytes: Annotated[int, says("bytes of their lanes")]
    spill_shared_loads: Annotated[int, says("loads from shared memory by spill code")]
    spill_shared_load_bytes: Annotated[int, says("bytes of their lanes")]
    spill_shared_stores: Annotated[int, says("stores to shared memory by spill code")]
    spill_shared_store_bytes: Annotated[int, says("bytes of their lanes")]
    spill_local_loads: Annotated[int, says("loads from local memory by spill code")]
    spill_local_load_bytes: Annotated[int, says("bytes of their lanes")]
    spill_local_stores: Annotated[int, says("stores to local memory by spill code")]
    spill_local_store_bytes: Annotated[int, says("bytes of their lanes")]
    const_loads: Annotated[int, says("loads from constant banks")]
    const_load_bytes: Annotated[int, says("bytes of their lanes")]
    texture_fetches: Annotated[int, says("texture instructions")]
    spill_accesses: Annotated[int, says("all accesses by spill code")]
    spill_bytes: Annotated[int, says("bytes of their lanes")]
    global_load_sectors: Annotated[int, says("sectors that global loads asked for")]
    global_store_sectors: Annotated[int, says("sectors that global stores wrote")]
    global_atomic_sectors: Annotated[int, says("sectors that global atomics touched")]
    local_fill_sectors: Annotated[int, says("sectors that loads from local memory asked L2 for")]
    local_writeback_sectors: Annotated[int, says("sectors of local memory written to L2")]
    global_fill_sectors: Annotated[int, says("sectors that global loads asked L2 for")]
    texture_fill_sectors: Annotated[int, says("sectors that texture fetches asked L2 for")]
    local_bytes_moved: Annotated[int, says("bytes of local memory between the SMs and L2")]
    shared_accesses: Annotated[int, says("shared-memory instructions that reached the banks")]
    shared_passes: Annotated[int, says("passes they took")]
    bank_conflict_cycles: Annotated[int, says("passes beyond those that no layout could save")]
    l1_local_hits: Annotated[int, says("lines of local accesses found in the L1")]
    l1_local_misses: Annotated[int, says("lines not found")]
    l1_spill_hits: Annotated[
        int,
        says("those of `l1_local_hits` for spilled values; the rest is local memory that the program has itself"),
    ]
    l1_spill_misses: Annotated[int, says("those of `l1_local_misses`, likewise")]
    l1_global_hits: Annotated[int, says("lines of global loads found in the L1")]
    l1_global_misses: Annotated[int, says("lines not found")]
    l1_texture_hits: Annotated[int, says("lines of texture fetches found in the L1")]
    l1_texture_misses: Annotated[int, says("lines not found")]
    l1_merges: Annotated[int, says("misses that met a fetch on its way")]
    l1_evictions: Annotated[int, says("lines evicted")]
    instruction_hits: Annotated[
        int,
        says(
            "instructions whose word the instruction cache had when their warp first looked for it; this and the "
            "next six are 0 where the machine has no such cache, or has it switched off"
        ),
    ]
    instruction_misses: Annotated[int, says("those whose word it lacked")]
    instruction_prefetches: Annotated[int, says("lines that it asked L2 for before anybody looked for them")]
    instruction_fill_sectors: Annotated[int, says("sectors that it asked L2 for, those of prefetches among them")]
    constant_hits: Annotated[
        int,
        says("constant operands of instructions, and lines of LDCs, that the constant cache had"),
    ]
    constant_misses: Annotated[int, says("those that it lacked")]
    constant_fill_sectors: Annotated[int, says("sectors that it asked L2 for")]
    request_bytes: Annotated[int, says("bytes that the SMs sent to L2; a packet counts when all of it has come")]
    response_bytes: Annotated[int, says("bytes that L2 sent back, likewise")]
    request_utilisation: Annotated[
        float,
        says("`request_bytes` over what the SMs' links could have carried in the run's cycles"),
    ]
    response_utilisation: Annotated[float, says("`response_bytes` over that")]
    answers: Annotated[int, says("packets with them; a store's says only that it has arrived")]
    answer_sectors: Annotated[int, says("sectors that they carried")]
    l2_hits: Annotated[int, says("loads and atomics whose words L2 had when their turn came")]
    l2_misses: Annotated[int, says("those that had to wait for DRAM")]
    l2_local_hits: Annotated[int, says("those of `l2_hits` for local memory")]
    l2_local_misses: Annotated[int, says("those of `l2_misses` for local memory")]
    l2_spill_hits: Annotated[int, says("those of `l2_local_hits` for spilled values")]
    l2_spill_misses: Annotated[int, says("those of `l2_local_misses` for spilled values")]
    l2_texture_hits: Annotated[int, says("those of `l2_hits` for texture fetches")]
    l2_texture_misses: Annotated[int, says("those of `l2_misses` for texture fetches")]
    l2_instruction_hits: Annotated[int, says("those of `l2_hits` for code")]
    l2_instruction_misses: Annotated[int, says("those of `l2_misses` for code")]
    l2_constant_hits: Annotated[int, says("those of `l2_hits` for constants; what is left is for global memory")]
    l2_constant_misses: Annotated[int, says("those of `l2_misses` for constants")]
    l2_merges: Annotated[int, says("misses all of whose sectors were on their way")]
    l2_stores: Annotated[int, says("stores and write-backs that reached L2")]
    l2_atomics: Annotated[int, says("atomics that reached L2, a line each")]
    l2_load_sectors: Annotated[int, says("sectors that loads wanted of L2")]
    l2_store_sectors: Annotated[int, says("sectors that stores and write-backs brought")]
    l2_atomic_sectors: Annotated[int, says("sectors that atomics touched")]
    l2_evictions: Annotated[int, says("lines that made room for others")]
    l2_fills: Annotated[int, says("fetches from DRAM")]
    l2_fill_sectors: Annotated[int, says("sectors of them")]
    l2_writebacks: Annotated[int, says("lines written to DRAM when they made room")]
    l2_writeback_sectors: Annotated[int, says("sectors of them")]
    l2_stalled: Annotated[int, says("requests that a slice could not take when they arrived")]
    dram_requests: Annotated[int, says("fetches and write-backs that DRAM served")]
    dram_row_hits: Annotated[int, says("those that found their row open")]
    dram_reads: Annotated[int, says("read commands, a burst each")]
    dram_writes: Annotated[int, says("write commands, a burst each")]
    dram_activations: Annotated[int, says("rows opened")]
    dram_precharges: Annotated[int, says("rows closed")]
    dram_refreshes: Annotated[
        int,
        says("refreshes of channels, each of all its banks; 0 where the machine file has none"),
    ]
    dram_bytes: Annotated[int, says("bytes of all bursts")]
    dram_busy_ticks: Annotated[
        int,
        says(
            "ticks of DRAM's clock in which some bank of a channel carries out a command, summed over channels: a "
            "precharge for `dram.rp`, an activation for `dram.rcd`, a read or write until its data has passed"
        ),
    ]
    dram_bank_ticks: Annotated[int, says("ticks in which a bank carries out commands, summed over banks")]
    dram_banks_busy: Annotated[
        float | None,
        says(
            "`dram_bank_ticks` over `dram_busy_ticks`: banks busy on average while one of their channel is, the "
            "bank-level parallelism"
        ),
    ]
    dram_row_hit_rate: Annotated[float | None, says("`dram_row_hits` over `dram_requests`")]
    dram_utilisation: Annotated[
        float,
        says("`dram_bytes` over what DRAM, or the SMs' share of it, could have moved in the run's cycles"),
    ]
    queues: Annotated[
        dict[str, QueueCounters],
        says(
            "queues by name: `l1_mshrs` holds loads and atomics under way from an SM, `store_places` its stores "
            "and write-backs, `l2_mshrs` fetches under way to lines of a slice of L2, `dram_queue` requests that "
            "wait at a channel of DRAM"
        ),
    ]
    register_conflicts: Annotated[
        int,
        says(
            "instructions that waited for the banks of their registers, on machines that name banks, see "
            "[TIMING.md](../emulator/TIMING.md#registers)"
        ),
    ]
    register_wait_cycles: Annotated[int, says("the cycles that they waited")]
    operand_cache_hits: Annotated[int, says("registers that were in the operand cache, and not read")]
    branches: Annotated[int, says("branches executed")]
    divergent_branches: Annotated[int, says("those that split a warp")]
    barriers: Annotated[int, says("barriers reached by warps")]
    blocks_dispatched: Annotated[int, says("blocks started")]
    blocks_retired: Annotated[int, says("blocks ended")]
    warp_cycles: Annotated[int, says("cycles of residence, summed over warps")]
    stalls: Annotated[
        dict[str, int],
        says(
            "issue slots lost, by reason ([TIMING.md](../emulator/TIMING.md#schedulers)); with `issue_slots` they "
            "are all there are"
        ),
    ]
    units: Annotated[dict[str, int], says("warp instructions by unit")]

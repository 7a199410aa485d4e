"""This module has the shapes of the counters of a run."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.memory.dram import DramJson
from binalloc.report.shapes.says import says

_NO_CODE_CACHE = "0 where the machine has no instruction cache, or has it switched off"
_NO_CONSTANT_CACHE = "0 where the machine has no constant cache, or has it switched off"


class QueueCounters(TypedDict):
    """This object describes a kind of queue of the memory system, all queues of the kind together."""

    queues: Annotated[int, says("number of queues of this kind")]
    places: Annotated[int, says("entries that one queue can hold")]
    entry_cycles: Annotated[int, says("entries at the end of each cycle, summed over all cycles and queues")]
    full_cycles: Annotated[int, says("cycles at whose end a queue was full, summed over all queues")]
    most: Annotated[
        int,
        says(
            "most entries that one queue held at any moment. It exceeds `places` in a `dram_queue` behind an L2 that "
            "holds textures alone, because writes of atomics need no entry there"
        ),
    ]
    average: Annotated[float, says("`entry_cycles` per cycle and queue: entries of a queue on average")]
    full: Annotated[float, says("`full_cycles` per cycle and queue: share of time for which a queue was full")]


class CountersJson(DramJson):
    """This object has the counters of a run."""

    cycles: Annotated[int, says("cycles of the run, from the first dispatch to the last retirement")]
    warp_instructions: Annotated[int, says("instructions issued by warps")]
    thread_instructions: Annotated[int, says("instructions issued by warps, each counted once for every active lane")]
    issue_slots: Annotated[int, says("issue slots in which an instruction issued")]
    dual_issues: Annotated[int, says("instructions issued as the second of a pair")]
    ipc: Annotated[float, says("warp instructions per cycle and SM")]
    shared_passes_per_access: Annotated[
        float | None,
        says("`shared_passes` over `shared_accesses`, the degree of bank conflicts; null without accesses"),
    ]
    sectors_per_global_load: Annotated[
        float | None,
        says("`global_load_sectors` over `user_global_loads`; null without loads"),
    ]
    sectors_per_global_store: Annotated[
        float | None,
        says("`global_store_sectors` over `user_global_stores`; null without stores"),
    ]
    achieved_occupancy: Annotated[
        float,
        says("resident warps, on average over the run, as a share of the most that an SM holds"),
    ]
    user_global_loads: Annotated[int, says("loads from global memory by user code")]
    user_global_load_bytes: Annotated[int, says("bytes that the lanes of `user_global_loads` read")]
    user_global_stores: Annotated[int, says("stores to global memory by user code")]
    user_global_store_bytes: Annotated[int, says("bytes that the lanes of `user_global_stores` wrote")]
    user_global_atomics: Annotated[int, says("atomics on global memory by user code")]
    user_global_atomic_bytes: Annotated[int, says("bytes that the lanes of `user_global_atomics` accessed")]
    user_shared_loads: Annotated[int, says("loads from shared memory by user code")]
    user_shared_load_bytes: Annotated[int, says("bytes that the lanes of `user_shared_loads` read")]
    user_shared_stores: Annotated[int, says("stores to shared memory by user code")]
    user_shared_store_bytes: Annotated[int, says("bytes that the lanes of `user_shared_stores` wrote")]
    user_shared_atomics: Annotated[int, says("atomics on shared memory by user code")]
    user_shared_atomic_bytes: Annotated[int, says("bytes that the lanes of `user_shared_atomics` accessed")]
    user_local_loads: Annotated[int, says("loads from local memory by user code")]
    user_local_load_bytes: Annotated[int, says("bytes that the lanes of `user_local_loads` read")]
    user_local_stores: Annotated[int, says("stores to local memory by user code")]
    user_local_store_bytes: Annotated[int, says("bytes that the lanes of `user_local_stores` wrote")]
    spill_shared_loads: Annotated[int, says("loads from shared memory (slots) by spill code")]
    spill_shared_load_bytes: Annotated[int, says("bytes that the lanes of `spill_shared_loads` read")]
    spill_shared_stores: Annotated[int, says("stores to shared memory (slots) by spill code")]
    spill_shared_store_bytes: Annotated[int, says("bytes that the lanes of `spill_shared_stores` wrote")]
    spill_local_loads: Annotated[int, says("loads from local memory by spill code")]
    spill_local_load_bytes: Annotated[int, says("bytes that the lanes of `spill_local_loads` read")]
    spill_local_stores: Annotated[int, says("stores to local memory by spill code")]
    spill_local_store_bytes: Annotated[int, says("bytes that the lanes of `spill_local_stores` wrote")]
    const_loads: Annotated[int, says("load instructions that read constant banks")]
    const_load_bytes: Annotated[int, says("bytes that the lanes of `const_loads` read")]
    texture_fetches: Annotated[int, says("texture instructions")]
    spill_accesses: Annotated[int, says("all accesses by spill code, to slots and local memory")]
    spill_bytes: Annotated[int, says("bytes that the lanes of `spill_accesses` read and wrote")]
    global_load_sectors: Annotated[int, says("sectors that global loads asked for")]
    global_store_sectors: Annotated[int, says("sectors that global stores wrote")]
    global_atomic_sectors: Annotated[int, says("sectors that global atomics touched")]
    local_fill_sectors: Annotated[int, says("sectors that loads from local memory requested from L2")]
    local_writeback_sectors: Annotated[int, says("sectors of local memory that the SMs wrote to L2")]
    global_fill_sectors: Annotated[int, says("sectors that global loads requested from L2")]
    texture_fill_sectors: Annotated[int, says("sectors that texture fetches requested from L2")]
    local_bytes_moved: Annotated[int, says("bytes of local memory moved between the SMs and L2, both ways")]
    shared_accesses: Annotated[int, says("instructions that accessed the banks of shared memory")]
    shared_passes: Annotated[int, says("passes through the banks that `shared_accesses` took")]
    bank_conflict_cycles: Annotated[
        int,
        says("passes beyond the fewest that any layout of the same data would need: the cost of bank conflicts"),
    ]
    l1_local_hits: Annotated[int, says("lines of local memory that accesses found in L1")]
    l1_local_misses: Annotated[int, says("lines of local memory that accesses did not find in L1")]
    l1_spill_hits: Annotated[
        int,
        says("part of `l1_local_hits` for spilled values; the rest is for local memory of the program itself"),
    ]
    l1_spill_misses: Annotated[
        int,
        says("part of `l1_local_misses` for spilled values; the rest is for local memory of the program itself"),
    ]
    l1_global_hits: Annotated[int, says("lines of global memory that loads found in L1")]
    l1_global_misses: Annotated[int, says("lines of global memory that loads did not find in L1")]
    l1_texture_hits: Annotated[int, says("lines that texture fetches found in L1")]
    l1_texture_misses: Annotated[int, says("lines that texture fetches did not find in L1")]
    l1_merges: Annotated[int, says("misses of L1 whose line another access had already requested")]
    l1_evictions: Annotated[int, says("lines evicted from L1")]
    instruction_hits: Annotated[
        int,
        says(f"instructions that the instruction cache had when their warp first looked for them; {_NO_CODE_CACHE}"),
    ]
    instruction_misses: Annotated[
        int,
        says(f"instructions that the instruction cache lacked when their warp first looked for them; {_NO_CODE_CACHE}"),
    ]
    instruction_prefetches: Annotated[
        int,
        says(f"lines that the instruction cache requested from L2 before a warp looked for them; {_NO_CODE_CACHE}"),
    ]
    instruction_fill_sectors: Annotated[
        int,
        says(f"sectors that the instruction cache requested from L2, prefetches included; {_NO_CODE_CACHE}"),
    ]
    constant_hits: Annotated[
        int,
        says(
            "constant operands of instructions, and lines of constant loads (`LDC`), that the constant cache had; "
            f"{_NO_CONSTANT_CACHE}"
        ),
    ]
    constant_misses: Annotated[
        int,
        says(
            "constant operands of instructions, and lines of constant loads (`LDC`), that the constant cache lacked; "
            f"{_NO_CONSTANT_CACHE}"
        ),
    ]
    constant_fill_sectors: Annotated[
        int,
        says(f"sectors that the constant cache requested from L2; {_NO_CONSTANT_CACHE}"),
    ]
    request_bytes: Annotated[
        int,
        says("bytes that the SMs sent to L2; a packet counts when all of it has arrived"),
    ]
    response_wait_cycles: Annotated[
        int, says("cycles that answers of L2 waited for the link to their SM, summed over answers")
    ]
    response_bytes: Annotated[
        int,
        says("bytes that L2 sent to the SMs; a packet counts when all of it has arrived"),
    ]
    request_utilisation: Annotated[
        float,
        says("`request_bytes` over the bytes that the links of the SMs to L2 could carry in the run's cycles"),
    ]
    response_utilisation: Annotated[
        float,
        says("`response_bytes` over the bytes that the links of the SMs from L2 could carry in the run's cycles"),
    ]
    answers: Annotated[
        int,
        says("packets that L2 sent to the SMs; the packet for a store says only that the store has arrived"),
    ]
    answer_sectors: Annotated[int, says("sectors of data in the packets of `answers`")]
    l2_hits: Annotated[int, says("loads and atomics whose words L2 had when it served them")]
    l2_misses: Annotated[int, says("loads and atomics that waited for DRAM")]
    l2_local_hits: Annotated[int, says("part of `l2_hits` for local memory")]
    l2_local_misses: Annotated[int, says("part of `l2_misses` for local memory")]
    l2_spill_hits: Annotated[int, says("part of `l2_local_hits` for spilled values")]
    l2_spill_misses: Annotated[int, says("part of `l2_local_misses` for spilled values")]
    l2_texture_hits: Annotated[int, says("part of `l2_hits` for texture fetches")]
    l2_texture_misses: Annotated[int, says("part of `l2_misses` for texture fetches")]
    l2_instruction_hits: Annotated[int, says("part of `l2_hits` for instructions")]
    l2_instruction_misses: Annotated[int, says("part of `l2_misses` for instructions")]
    l2_constant_hits: Annotated[
        int,
        says(
            "part of `l2_hits` for constants; hits for neither local memory, textures, instructions nor constants are "
            "for global memory"
        ),
    ]
    l2_constant_misses: Annotated[
        int,
        says(
            "part of `l2_misses` for constants; misses for neither local memory, textures, instructions nor constants "
            "are for global memory"
        ),
    ]
    l2_merges: Annotated[int, says("misses of L2 whose sectors had all been requested from DRAM already")]
    l2_stores: Annotated[int, says("stores and write-backs that L2 received")]
    l2_atomics: Annotated[int, says("atomics that L2 received, one for each line")]
    l2_load_sectors: Annotated[int, says("sectors that loads asked L2 for")]
    l2_store_sectors: Annotated[int, says("sectors that stores and write-backs brought to L2")]
    l2_atomic_sectors: Annotated[int, says("sectors that atomics touched in L2")]
    l2_evictions: Annotated[int, says("lines evicted from L2")]
    l2_fills: Annotated[int, says("fetches of L2 from DRAM, without prefetches")]
    l2_fill_sectors: Annotated[int, says("sectors that these fetched")]
    l2_writebacks: Annotated[int, says("lines that L2 wrote to DRAM when it evicted them")]
    l2_writeback_sectors: Annotated[int, says("sectors that L2 wrote to DRAM when it evicted their lines")]
    l2_prefetches: Annotated[
        int,
        says(
            "lines that L2 fetched from open rows of DRAM before anybody asked for them; 0 but for scheduler `owl` "
            "([TIMING.md](../emulator/TIMING.md#prefetches-from-open-rows))"
        ),
    ]
    l2_prefetches_used: Annotated[
        int, says("part of `l2_prefetches` whose line a load or an atomic asked for before L2 evicted it")
    ]
    l2_prefetches_evicted: Annotated[
        int, says("part of `l2_prefetches` whose line L2 evicted before; what is neither was in L2 at the end, unused")
    ]
    l2_stalled: Annotated[int, says("requests that a slice of L2 could not accept when they arrived")]
    owned_requests: Annotated[
        int,
        says("requests of SMs to L2 for pages that lie in banks of an SM ([TIMING.md](../emulator/TIMING.md#pages))"),
    ]
    local_requests: Annotated[int, says("part of `owned_requests` for pages in banks of the SM that asks")]
    batch_cycles: Annotated[
        int, says("cycles for which batches of blocks had a resident block in an SM, summed over batches and SMs")
    ]
    batches_resident: Annotated[float, says("`batch_cycles` over cycles and SMs; without batches, resident blocks")]
    local_ratio: Annotated[
        float | None, says("`local_requests` over `owned_requests`; null where no page lies in banks of an SM")
    ]
    far_dram: NotRequired[
        Annotated[
            DramJson,
            says(
                "the far memory (`far_dram` of the machine file), whose counters have the names of the near one's; "
                "left out for runs that do not use one"
            ),
        ]
    ]
    queues: Annotated[
        dict[str, QueueCounters],
        says(
            "queues by kind. An entry of `l1_mshrs` is a load or atomic of an SM under way, an entry of `store_places` "
            "a store or write-back of an SM. An entry of `l2_mshrs` is a fetch to a line of a slice of L2, an entry of "
            "`dram_queue` a request that waits at a DRAM channel. An entry of `far_dram_queue` is one that waits at a "
            "channel of the far memory"
        ),
    ]
    register_conflicts: Annotated[
        int,
        says(
            "instructions that waited for the banks of their registers; 0 on machines without named register banks "
            "([TIMING.md](../emulator/TIMING.md#registers))"
        ),
    ]
    register_wait_cycles: Annotated[int, says("cycles that the instructions of `register_conflicts` waited")]
    operand_cache_hits: Annotated[
        int,
        says("registers that instructions took from the operand cache instead of a bank"),
    ]
    shared_allocations: Annotated[
        int,
        says(
            "regions of shared memory that blocks got by BAR.ALLOC "
            "([TIMING.md](../emulator/TIMING.md#shared-memory-that-blocks-get-as-they-run))"
        ),
    ]
    shared_waits: Annotated[int, says("times that a block had to wait for such a region")]
    shared_wait_cycles: Annotated[int, says("cycles of these waits that have ended, summed over blocks")]
    locks_taken: Annotated[
        int,
        says(
            "times that a block got what it shares with its partner "
            "([TIMING.md](../emulator/TIMING.md#shared-memory-that-two-blocks-share))"
        ),
    ]
    lock_waits: Annotated[int, says("times that a warp had to wait for that")]
    lock_wait_cycles: Annotated[int, says("cycles of these waits that have ended, summed over warps")]
    cycles_before_lock: Annotated[
        int, says("cycles of blocks with a partner until they got what they share, summed over blocks that have ended")
    ]
    cycles_with_lock: Annotated[int, says("likewise, cycles for which they had it")]
    cycles_behind_lock: Annotated[int, says("likewise, cycles after they had given it back")]
    branches: Annotated[int, says("branches executed by warps")]
    divergent_branches: Annotated[int, says("part of `branches` that split a warp")]
    barriers: Annotated[int, says("arrivals of warps at barriers")]
    idle_sm_cycles: Annotated[
        int, says("cycles of SMs between the end of their last block and the end of the run, summed over SMs")
    ]
    blocks_dispatched: Annotated[int, says("blocks that began")]
    blocks_retired: Annotated[int, says("blocks that ended")]
    warp_cycles: Annotated[int, says("cycles for which warps were resident, summed over warps")]
    stalls: Annotated[
        dict[str, int],
        says(
            "lost issue slots by reason ([TIMING.md](../emulator/TIMING.md#schedulers)); with `issue_slots` they add "
            "up to all issue slots of the run"
        ),
    ]
    units: Annotated[dict[str, int], says("warp instructions by execution unit")]

"""This module numbers the counters of an SM and the reasons for empty issue slots. The numbers index the SM's
record."""

from __future__ import annotations

from binalloc.emulator.state.codes import Codes
from binalloc.emulator.state.layout import GATES_AT_MOST


class Stall(Codes):
    """An issue slot stays empty for one of these reasons. GATE and the numbers behind it are one reason for each gate,
    see `policies.gates.table.STALL_NAMES`."""

    NO_WARP: int
    STALL_COUNT: int
    BRANCH: int
    SCOREBOARD: int
    PORT_BUSY: int
    BARRIER: int
    BLOCK_DRAIN: int
    NO_PAIR: int
    PENDING: int
    REGISTER_BANK: int
    SHARED_FULL: int
    GATE: int


REASONS = Stall.GATE + GATES_AT_MOST  # all reasons, with room for as many gates as the states of warps have


class Stat(Codes):
    """An SM has these counters. Results call each by its name in `names`."""

    WARP_INSTRUCTIONS: int
    THREAD_INSTRUCTIONS: int
    ISSUE_SLOTS: int
    DUAL_ISSUES: int
    USER_GLOBAL_LOADS: int
    USER_GLOBAL_STORES: int
    USER_GLOBAL_ATOMICS: int
    USER_SHARED_LOADS: int
    USER_SHARED_STORES: int
    USER_SHARED_ATOMICS: int
    USER_LOCAL_LOADS: int
    USER_LOCAL_STORES: int
    CONST_LOADS: int
    SPILL_SHARED_LOADS: int
    SPILL_SHARED_STORES: int
    SPILL_LOCAL_LOADS: int
    SPILL_LOCAL_STORES: int
    USER_GLOBAL_LOAD_BYTES: int
    USER_GLOBAL_STORE_BYTES: int
    USER_GLOBAL_ATOMIC_BYTES: int
    USER_SHARED_LOAD_BYTES: int
    USER_SHARED_STORE_BYTES: int
    USER_SHARED_ATOMIC_BYTES: int
    USER_LOCAL_LOAD_BYTES: int
    USER_LOCAL_STORE_BYTES: int
    CONST_LOAD_BYTES: int
    SPILL_SHARED_LOAD_BYTES: int
    SPILL_SHARED_STORE_BYTES: int
    SPILL_LOCAL_LOAD_BYTES: int
    SPILL_LOCAL_STORE_BYTES: int
    GLOBAL_LOAD_SECTORS: int
    GLOBAL_STORE_SECTORS: int
    GLOBAL_ATOMIC_SECTORS: int
    LOCAL_FILL_SECTORS: int
    LOCAL_WRITEBACK_SECTORS: int
    GLOBAL_FILL_SECTORS: int
    TEXTURE_FILL_SECTORS: int
    SHARED_PASSES: int
    SHARED_ACCESSES: int
    BANK_CONFLICT_CYCLES: int
    L1_LOCAL_HITS: int
    L1_LOCAL_MISSES: int
    L1_SPILL_HITS: int
    L1_SPILL_MISSES: int
    L1_GLOBAL_HITS: int
    L1_GLOBAL_MISSES: int
    L1_TEXTURE_HITS: int
    L1_TEXTURE_MISSES: int
    L1_MERGES: int
    L1_EVICTIONS: int
    BRANCHES: int
    DIVERGENT_BRANCHES: int
    BARRIERS: int
    BLOCKS_DISPATCHED: int
    BLOCKS_RETIRED: int
    WARP_CYCLES: int
    TEXTURE_FETCHES: int
    REGISTER_CONFLICTS: int
    REGISTER_WAIT_CYCLES: int
    OPERAND_CACHE_HITS: int
    SHARED_ALLOCATIONS: int
    SHARED_WAITS: int
    SHARED_WAIT_CYCLES: int
    LOCKS_TAKEN: int
    LOCK_WAITS: int
    LOCK_WAIT_CYCLES: int
    CYCLES_BEFORE_LOCK: int
    CYCLES_WITH_LOCK: int
    CYCLES_BEHIND_LOCK: int


S_BYTES_FROM_COUNT = Stat.USER_GLOBAL_LOAD_BYTES - Stat.USER_GLOBAL_LOADS
"""The counters of bytes follow those of accesses in the same order."""
STATS = len(Stat.names)

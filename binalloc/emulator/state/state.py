"""The emulator's state: two structured records and the memory arrays beside them.

`g` is what the whole device shares (clock, fault, launch shape, machine figures), `s` is one SM. Both are records with
nested fixed-shape arrays, because Numba compiles and runs one record argument far faster than many arrays. The `numba`
engine holds them as NumPy structured arrays, the `python` engine as plain objects with the same attribute names: a
scalar is an int, a one-dimensional array a list, a larger array a NumPy array. Device code cannot tell the difference.

All fields are 64-bit signed; times are in core cycles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from binalloc.emulator.state.layout import (
    ASIDE,
    BARRIERS,
    CALENDAR,
    LANES,
    MAX_BANKS,
    MAX_BLOCKS,
    MAX_BUFFERS,
    MAX_CACHE_LINES,
    MAX_CACHE_SETS,
    MAX_GROUPS,
    MAX_PORTS,
    MAX_SCHEDULERS,
    MAX_TEXTURES,
    MAX_WARPS,
    NODES_PER_WARP,
    REASONS,
    ROWS,
    STACK_DEPTH,
    STATS,
    TX_COLUMNS,
    UNITS,
    WARP_STATES,
    WHEEL,
)

Array = np.ndarray[Any, np.dtype[Any]]

_GLOBAL_SCALARS = (
    # clock and end of run
    "cycle",
    "done",
    "reference",
    "steps",
    # the first fault: code, SM, warp slot, word address, lane, details
    "fault",
    "fault_sm",
    "fault_warp",
    "fault_pc",
    "fault_lane",
    "fault_a",
    "fault_b",
    "fault_c",
    # switches
    "hazards",
    "check",
    "race",
    "race_shift",
    # launch
    "ntid_x",
    "ntid_y",
    "ntid_z",
    "nctaid_x",
    "nctaid_y",
    "nctaid_z",
    "threads",
    "warps_per_block",
    "blocks",
    "next_block",
    "retired",
    "entry",
    "code_words",
    "registers",
    "static_shared",
    "dynamic_shared",
    "user_shared",
    "slot_base",
    "slot_bytes",
    "shared_total",
    "local_user",
    "local_total",
    "local_stack",
    # machine
    "lanes",
    "sms",
    "nsm_reported",
    "schedulers",
    "issue_width",
    "policy",
    "resident_limit",
    "warp_limit",
    "shared_latency",
    "shared_atomic_latency",
    "shared_banks",
    "l1_latency",
    "l1_sets",
    "l1_ways",
    "l1_local",
    "l1_global",
    "memory_latency",
    "memory_atomic_latency",
    "const_latency",
    "sector_bytes",
    "sector_cost",
    "line_bytes",
    "sector_shift",
    "line_shift",
    "line_sectors",
    # bandwidth model: next free time of the memory bus, in 2^-FRACTION cycles
    "memory_free",
    "memory_sectors",
    "last_progress",
    "buffers",
    # address of the first word of the array that holds global memory
    "global_base",
    "textures",
)
_GLOBAL_ARRAYS: dict[str, tuple[int, ...]] = {
    "unit_ports": (UNITS,),
    "unit_interval": (UNITS,),
    "unit_latency": (UNITS,),
    "unit_group": (UNITS,),
    "group_ports": (MAX_GROUPS,),
    "buffer_start": (MAX_BUFFERS,),
    "buffer_end": (MAX_BUFFERS,),
    "const_start": (32,),
    "const_size": (32,),
    "texture": (MAX_TEXTURES, TX_COLUMNS),
    "clear_read": (64,),
}

_SM_SCALARS = (
    "id", "warp_base", "block_base", "next_time", "last_time", "resident", "live_warps", "stamp", "wheel_used",
    # results of the instruction being executed: LSU passes, time its result is there, time its sources are read
    "passes", "done_at", "waits",
    # poison of the sources and of the guard of the instruction being executed
    "taint", "taint_guard",
)  # fmt: skip
_SM_ARRAYS: dict[str, tuple[int, ...]] = {
    # staged operands (low and high words), results, memory addresses
    "a": (LANES,),
    "ah": (LANES,),
    "b": (LANES,),
    "bh": (LANES,),
    "c": (LANES,),
    "ch": (LANES,),
    "d": (LANES,),
    "dh": (LANES,),
    "addr": (LANES,),
    "seen": (LANES,),
    "seen_count": (LANES,),
    "bank_count": (MAX_BANKS,),
    "bank_words": (MAX_BANKS, LANES),
    # warps; `at` is the word of the instruction that the warp issued last
    "state": (MAX_WARPS,),
    "at": (MAX_WARPS,),
    "sp": (MAX_WARPS,),
    "stack": (MAX_WARPS, STACK_DEPTH, 4),
    "live": (MAX_WARPS,),
    "pred": (MAX_WARPS, 8),
    "vclock": (MAX_WARPS,),
    "ready_at": (MAX_WARPS,),
    "ready_unit": (MAX_WARPS,),
    "wait_mask": (MAX_WARPS,),
    "block_of": (MAX_WARPS,),
    "in_block": (MAX_WARPS,),
    "gone": (MAX_WARPS,),
    "warp_issued": (MAX_WARPS,),
    "bar_id": (MAX_WARPS,),
    "bar_pc": (MAX_WARPS,),
    "bar_lanes": (MAX_WARPS,),
    # scoreboards: busy bits, and when the last of the counted results arrives
    "busy": (MAX_WARPS,),
    "board_time": (MAX_WARPS, 8),
    # pending lists of the hazard table
    "var_count": (MAX_WARPS,),
    "var_list": (MAX_WARPS, ROWS),
    "read_count": (MAX_WARPS,),
    "read_list": (MAX_WARPS, ROWS),
    "read_any": (MAX_WARPS,),
    "var_any": (MAX_WARPS,),
    "aside_count": (MAX_WARPS,),
    "aside": (MAX_WARPS, ASIDE, 4),
    # poison: lanes per register and predicate; vector clocks of warps and barriers (race mode)
    "poison": (MAX_WARPS, ROWS),
    "clock": (MAX_WARPS, LANES),
    "bar_clock": (MAX_BLOCKS, BARRIERS, LANES),
    # blocks
    "block_active": (MAX_BLOCKS,),
    "block_id": (MAX_BLOCKS,),
    "block_warps": (MAX_BLOCKS,),
    "bar_arrived": (MAX_BLOCKS, BARRIERS),
    "bar_expected": (MAX_BLOCKS, BARRIERS),
    "bar_kind": (MAX_BLOCKS, BARRIERS),
    "bar_popc": (MAX_BLOCKS, BARRIERS),
    "bar_and": (MAX_BLOCKS, BARRIERS),
    "bar_or": (MAX_BLOCKS, BARRIERS),
    # schedulers
    "ready": (MAX_SCHEDULERS, UNITS),
    "ready_units": (MAX_SCHEDULERS,),
    "census": (MAX_SCHEDULERS, WARP_STATES),
    "last": (MAX_SCHEDULERS,),
    "wheel": (WHEEL, MAX_SCHEDULERS),
    # ports of units, then of groups: free from, ends of long occupations and their latest, starts this cycle
    "port_free": (UNITS + MAX_GROUPS,),
    "port_until": (UNITS + MAX_GROUPS, MAX_PORTS),
    "port_long": (UNITS + MAX_GROUPS,),
    "port_count": (UNITS + MAX_GROUPS,),
    "port_cycle": (UNITS + MAX_GROUPS,),
    # calendar queue
    "bucket": (CALENDAR,),
    "bucket_used": (CALENDAR // 32,),
    "node_next": (MAX_WARPS * NODES_PER_WARP,),
    "node_time": (MAX_WARPS * NODES_PER_WARP,),
    "node_armed": (MAX_WARPS * NODES_PER_WARP,),
    # L1: tag (line number + 1, 0 = empty), age, dirty, valid words, time the line arrives
    "l1_tag": (MAX_CACHE_LINES,),
    "l1_age": (MAX_CACHE_LINES,),
    "l1_dirty": (MAX_CACHE_LINES,),
    "l1_valid": (MAX_CACHE_LINES,),
    "l1_arrives": (MAX_CACHE_LINES,),
    # statistics
    "stat": (STATS,),
    "stall": (REASONS,),
    "unit_issued": (UNITS,),
}
assert MAX_CACHE_SETS <= MAX_CACHE_LINES


def _record(scalars: tuple[str, ...], arrays: dict[str, tuple[int, ...]]) -> np.dtype[Any]:
    fields: list[Any] = [(name, np.int64) for name in scalars]
    fields += [(name, np.int64, shape) for name, shape in arrays.items()]
    return np.dtype(fields, align=True)


GLOBAL_DTYPE = _record(_GLOBAL_SCALARS, _GLOBAL_ARRAYS)
SM_DTYPE = _record(_SM_SCALARS, _SM_ARRAYS)


class Plain:
    """A record as the `python` engine sees it: ints, lists and NumPy arrays under the record's field names."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        for name in dtype.names or ():
            kind = dtype[name]
            if kind.shape == ():
                setattr(self, name, 0)
            elif len(kind.shape) == 1:
                setattr(self, name, [0] * kind.shape[0])
            else:
                setattr(self, name, np.zeros(kind.shape, np.int64))


class Memories:
    """The arrays beside the records, indexed by SM-wide slots (`warp` counts through all SMs simulated).

    program: int64 [word, column]. regs: uint32 [warp, register, lane]. hazard: int64 [warp, row, 8]. global_: uint32
    words from `global_base`: VARIABLE_BASE where the module has variables, else GLOBAL_BASE. shared: uint32 [block
    slot, word]. local: uint32 [warp, word, lane]. const: uint32 words. counts: int64 [word], warp instructions
    executed. Check mode: shadow int64 [block slot, word], 1 = poisoned; shadow_local int64 [warp, word], poisoned
    lanes. Race mode: races int64 [block slot, place, 40], see `races.py`.
    """

    def __init__(self, program: Array) -> None:
        self.program = program
        self.regs: Array = np.zeros((1, 256, LANES), np.uint32)
        self.hazard: Array = np.zeros((1, ROWS, 8), np.int64)
        self.global_: Array = np.zeros(1, np.uint32)
        self.shared: Array = np.zeros((1, 1), np.uint32)
        self.local: Array = np.zeros((1, 1, LANES), np.uint32)
        self.const: Array = np.zeros(1, np.uint32)
        self.counts: Array = np.zeros(len(program), np.int64)
        self.shadow: Array = np.zeros((1, 1), np.int64)
        self.shadow_local: Array = np.zeros((1, 1), np.int64)
        self.races: Array = np.zeros((1, 1, 1), np.int64)

    def arguments(self) -> tuple[Array, ...]:
        """In the order in which device functions take them."""
        return (
            self.program, self.regs, self.hazard, self.global_, self.shared, self.local, self.const, self.counts,
            self.shadow, self.shadow_local, self.races,
        )  # fmt: skip


def get(record: Any, name: str) -> Any:
    """Field of a record of either engine: an int, or a NumPy array (a copy for the `python` engine's lists)."""
    value = getattr(record, name)
    if isinstance(value, np.ndarray):
        return value
    return np.array(value, np.int64) if isinstance(value, list) else int(value)

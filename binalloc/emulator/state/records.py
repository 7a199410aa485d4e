"""The emulator's records, each written once: the class that device code is checked against, the NumPy record of the
`numba` engine and the plain object of the `python` engine all follow from its annotations.

`Gpu` (in device code `g`) is what the whole device shares: clock, fault, launch shape, machine figures.
`Sm` (`s`) is one SM. The `numba` engine holds them as records with nested fixed-shape arrays, because Numba
compiles and runs one record argument far faster than many arrays; the `python` engine as objects with the same
attributes: a scalar is an int, a one-dimensional array a list, a larger array a NumPy array. Device code cannot tell
the difference.

All fields are 64-bit signed; times are in core cycles.
"""

from __future__ import annotations

from typing import Annotated, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from binalloc.emulator.state.arrays import Cube, Grid, Words
from binalloc.emulator.state.counters import REASONS, STATS
from binalloc.emulator.state.layout import (
    ASIDE,
    ASIDE_COLUMNS,
    BARRIERS,
    BOARD_NUMBERS,
    BOARD_SETS,
    CALENDAR,
    CONST_BANKS,
    FIXED_COLUMNS,
    LANES,
    LUT_BITS,
    MAX_BANKS,
    MAX_BLOCK_WARPS,
    MAX_BLOCKS,
    MAX_BUFFERS,
    MAX_PORTS,
    MAX_SCHEDULERS,
    MAX_TEXTURES,
    MAX_WARPS,
    NODES_PER_WARP,
    NOTES,
    PORT_SETS,
    PREDICATES,
    ROWS,
    STACK_COLUMNS,
    STACK_ROWS,
    TEXTURE_COLUMNS,
    UNITS,
    USED_BITS,
    WARP_STATES,
    WHEEL,
)
from binalloc.emulator.state.parts.dispatcher import DispatchRecord
from binalloc.emulator.state.parts.l1 import L1Record
from binalloc.emulator.state.parts.log import LogRecord
from binalloc.emulator.state.parts.memory import MemoryRecord
from binalloc.emulator.state.parts.queue import QueueRecord
from binalloc.emulator.state.parts.regions import RegionRecord
from binalloc.emulator.state.parts.register_file import RegisterFileFigures, RegisterFileRecord
from binalloc.emulator.state.parts.scheduler import SchedulerRecord
from binalloc.emulator.state.parts.tagged import TaggedFigures, TaggedRecord


class Record:
    """A record as the `python` engine has it. Subclasses annotate the fields: ints first, then arrays with shapes."""

    def __init__(self) -> None:
        for name, shape in shapes(type(self)).items():
            setattr(self, name, 0 if shape == () else _array(shape))


MANY = 4096  # entries of an array of which a run uses few


class Sparse(dict[int, int]):
    """An array of one dimension of which only what is not 0 is kept."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length

    def __missing__(self, i: int) -> int:
        return 0

    def __len__(self) -> int:
        return self.length

    def __array__(self, dtype: object = None, copy: object = None) -> NDArray[np.int64]:
        whole = np.zeros(self.length, np.int64)
        whole[list(self.keys())] = list(self.values())
        return whole


def _array(shape: tuple[int, ...]) -> object:
    """An array of zeros as the `python` engine has it."""
    if len(shape) > 1:
        return np.zeros(shape, np.int64)
    return [0] * shape[0] if shape[0] < MANY else Sparse(shape[0])


_SHAPES: dict[type[Record], dict[str, tuple[int, ...]]] = {}


def shapes(kind: type[Record]) -> dict[str, tuple[int, ...]]:
    """The fields of a record and their shapes, () for an int."""
    if kind not in _SHAPES:
        hints = get_type_hints(kind, include_extras=True)
        _SHAPES[kind] = {name: get_args(hint)[1:] for name, hint in hints.items()}
    return _SHAPES[kind]


def dtype_of(kind: type[Record]) -> np.dtype[np.void]:
    """A record as the `numba` engine has it."""
    return np.dtype([(name, np.int64, shape) for name, shape in shapes(kind).items()], align=True)


class Gpu(DispatchRecord, MemoryRecord, QueueRecord, TaggedFigures, LogRecord, RegisterFileFigures, Record):
    """What the whole device shares."""

    # clock and end of run
    cycle: int
    reference: int
    # seed of the skew, 0 for none
    skew: int
    # the first fault: code, SM, warp slot, word address, lane, details
    fault: int
    fault_sm: int
    fault_warp: int
    fault_pc: int
    fault_lane: int
    fault_a: int
    fault_b: int
    fault_c: int
    # switches
    hazards: int
    check: int
    race: int
    race_shift: int
    profile: int
    # launch
    ntid_x: int
    ntid_y: int
    ntid_z: int
    nctaid_x: int
    nctaid_y: int
    nctaid_z: int
    threads: int
    warps_per_block: int
    entry: int
    code_words: int
    registers: int
    dynamic_shared: int
    user_shared: int
    slot_base: int
    slot_bytes: int
    shared_total: int
    # words of shared memory that a block is handed, and that an SM has
    block_words: int
    shared_words: int
    local_user: int
    local_total: int
    local_stack: int
    stack_entries: int
    # machine
    lanes: int
    sms: int
    nsm_reported: int
    core_khz: int
    schedulers: int
    issue_width: int
    # what users choose: warp scheduler, placement of shared memory, page policy, by their numbers in the tables; gates
    # and listeners, as bits; whether L1 notes what it gives up
    policy: int
    placement: int
    pages: int
    gates: int
    listening: int
    notes_evictions: int
    resident_limit: int
    warp_limit: int
    shared_latency: int
    shared_atomic_latency: int
    # banks; the powers of two of the words that follow one another in a bank, and in all banks' row
    shared_banks: int
    shared_bank_shift: int
    shared_row_shift: int
    l1_latency: int
    l1_sets: int
    l1_ways: int
    l1_local: int
    l1_global: int
    # words that a miss fetches beside those it wants, 0 for none; whether stores change what L1 holds; loads and stores
    # that may be under way
    l1_fill_words: int
    l1_updates: int
    l1_mshrs: int
    store_places: int
    const_latency: int
    buffers: int
    # the heap of the device runtime, which is one of them, and its map: addresses, 0 where there is none
    heap_start: int
    heap_map: int
    # address of the first word of the array that holds global memory
    global_base: int
    textures: int

    # units: 1 where each scheduler has ports of its own; the port set of the unit's group
    unit_own: Annotated[Words, UNITS]
    unit_interval: Annotated[Words, UNITS]
    unit_latency: Annotated[Words, UNITS]
    unit_group: Annotated[Words, UNITS]
    # port sets, of units and then of groups: ports of one owner, units that need one of them
    set_ports: Annotated[Words, PORT_SETS]
    set_units: Annotated[Words, PORT_SETS]
    buffer_start: Annotated[Words, MAX_BUFFERS]
    buffer_end: Annotated[Words, MAX_BUFFERS]
    const_start: Annotated[Words, CONST_BANKS]
    const_size: Annotated[Words, CONST_BANKS]
    texture: Annotated[Grid, MAX_TEXTURES, TEXTURE_COLUMNS]
    clear_read: Annotated[Words, BOARD_SETS]
    # of a warp slot: its scheduler, and its bit in that scheduler's masks
    scheduler_of: Annotated[Words, MAX_WARPS]
    bit_of: Annotated[Words, MAX_WARPS]
    # every table of LOP3 as words of equal bits
    lut_masks: Annotated[Grid, 1 << LUT_BITS, LUT_BITS]


class Sm(RegionRecord, L1Record, TaggedRecord, QueueRecord, SchedulerRecord, RegisterFileRecord, Record):
    """One SM."""

    id: int
    # its first warp among all of the device; the row of that warp's first register
    warp_base: int
    row_base: int
    launch_free: int
    next_time: int
    last_time: int
    resident: int
    live_warps: int
    stamp: int
    wheel_used: int
    # the warp slot that issues now, -1 for none; the scheduler whose turn it is in this cycle, 0 between cycles; the
    # cycle in which a warp that has just issued waits for its turn again
    turn: int
    turned: int
    ready_from: int
    # results of the instruction being executed: LSU passes, time its result is there, time its sources are read
    passes: int
    done_at: int
    waits: int
    # poison of the sources and of the guard of the instruction being executed
    taint: int
    taint_guard: int
    # addresses of the running memory instruction, see `execute.addresses`
    inside: int
    even: int
    origin: int
    step: int

    # until when a warp that finds a gate closed waits there; whether a policy has called warps that wait at one
    closed_until: int
    called: int

    # for listeners that keep little
    notes: Annotated[Words, NOTES]
    # staged operands (low and high words), results, memory addresses
    a: Annotated[Words, LANES]
    ah: Annotated[Words, LANES]
    b: Annotated[Words, LANES]
    bh: Annotated[Words, LANES]
    c: Annotated[Words, LANES]
    ch: Annotated[Words, LANES]
    d: Annotated[Words, LANES]
    dh: Annotated[Words, LANES]
    addr: Annotated[Words, LANES]
    seen: Annotated[Words, LANES]
    bank_count: Annotated[Words, MAX_BANKS]
    bank_words: Annotated[Grid, MAX_BANKS, LANES]
    # warps; `at` is the word of the instruction that the warp issued last
    state: Annotated[Words, MAX_WARPS]
    at: Annotated[Words, MAX_WARPS]
    sp: Annotated[Words, MAX_WARPS]
    stack: Annotated[Cube, MAX_WARPS, STACK_ROWS, STACK_COLUMNS]
    live: Annotated[Words, MAX_WARPS]
    pred: Annotated[Grid, MAX_WARPS, PREDICATES]
    vclock: Annotated[Words, MAX_WARPS]
    ready_at: Annotated[Words, MAX_WARPS]
    block_of: Annotated[Words, MAX_WARPS]
    in_block: Annotated[Words, MAX_WARPS]
    gone: Annotated[Words, MAX_WARPS]
    warp_issued: Annotated[Words, MAX_WARPS]
    bar_id: Annotated[Words, MAX_WARPS]
    bar_pc: Annotated[Words, MAX_WARPS]
    bar_lanes: Annotated[Words, MAX_WARPS]
    # scoreboards: busy bits, and when the last of the counted results arrives
    busy: Annotated[Words, MAX_WARPS]
    board_time: Annotated[Grid, MAX_WARPS, BOARD_NUMBERS]
    board_open: Annotated[Grid, MAX_WARPS, BOARD_NUMBERS]
    # hazard table: fixed results in flight; lists of the rows that have others pending
    fixed: Annotated[Cube, MAX_WARPS, ROWS, FIXED_COLUMNS]
    var_count: Annotated[Words, MAX_WARPS]
    var_list: Annotated[Grid, MAX_WARPS, ROWS]
    read_count: Annotated[Words, MAX_WARPS]
    read_list: Annotated[Grid, MAX_WARPS, ROWS]
    read_any: Annotated[Words, MAX_WARPS]
    var_any: Annotated[Words, MAX_WARPS]
    aside_count: Annotated[Words, MAX_WARPS]
    aside: Annotated[Cube, MAX_WARPS, ASIDE, ASIDE_COLUMNS]
    # poison: lanes per register and predicate; vector clocks of warps and barriers (race mode)
    poison: Annotated[Grid, MAX_WARPS, ROWS]
    clock: Annotated[Grid, MAX_WARPS, MAX_BLOCK_WARPS]
    bar_clock: Annotated[Cube, MAX_BLOCKS, BARRIERS, MAX_BLOCK_WARPS]
    # blocks
    block_active: Annotated[Words, MAX_BLOCKS]
    block_id: Annotated[Words, MAX_BLOCKS]
    block_warps: Annotated[Words, MAX_BLOCKS]
    bar_arrived: Annotated[Grid, MAX_BLOCKS, BARRIERS]
    bar_expected: Annotated[Grid, MAX_BLOCKS, BARRIERS]
    bar_kind: Annotated[Grid, MAX_BLOCKS, BARRIERS]
    bar_popc: Annotated[Grid, MAX_BLOCKS, BARRIERS]
    bar_and: Annotated[Grid, MAX_BLOCKS, BARRIERS]
    bar_or: Annotated[Grid, MAX_BLOCKS, BARRIERS]
    # schedulers
    ready: Annotated[Grid, MAX_SCHEDULERS, UNITS]
    ready_units: Annotated[Words, MAX_SCHEDULERS]
    census: Annotated[Grid, MAX_SCHEDULERS, WARP_STATES]
    # the last cycle of which a scheduler's slots have been entered
    entered: Annotated[Words, MAX_SCHEDULERS]
    wheel: Annotated[Grid, WHEEL, MAX_SCHEDULERS]
    # ports, by owner (the SM, then its schedulers): mask of the units whose ports are taken
    units_busy: Annotated[Words, 1 + MAX_SCHEDULERS]
    # and of an owner's sets: free from, latest end of long occupations, cycle and starts in it; of a set's ports, the
    # owners' one behind the other: ends of long occupations
    port_free: Annotated[Words, (1 + MAX_SCHEDULERS) * PORT_SETS]
    port_long: Annotated[Words, (1 + MAX_SCHEDULERS) * PORT_SETS]
    port_used: Annotated[Words, (1 + MAX_SCHEDULERS) * PORT_SETS]
    port_until: Annotated[Grid, PORT_SETS, MAX_PORTS]
    # calendar queue
    bucket: Annotated[Words, CALENDAR]
    bucket_used: Annotated[Words, CALENDAR // USED_BITS]
    node_next: Annotated[Words, MAX_WARPS * NODES_PER_WARP]
    node_time: Annotated[Words, MAX_WARPS * NODES_PER_WARP]
    node_armed: Annotated[Words, MAX_WARPS * NODES_PER_WARP]
    # statistics
    stat: Annotated[Words, STATS]
    stall: Annotated[Words, REASONS]
    unit_issued: Annotated[Words, UNITS]
    # of `stat` what has been entered at instructions, in profiled runs
    settled: Annotated[Words, STATS]

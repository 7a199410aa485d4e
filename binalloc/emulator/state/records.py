"""This module defines the emulator's records, each of them once. The class that device code is checked against, the
NumPy record of the `numba` engine and the plain object of the `python` engine all follow from its annotations.

`Gpu` (in device code `g`) is what the whole device shares: clock, fault, launch shape and machine figures. `Sm` (`s`)
is one SM. The `numba` engine has them as records with nested arrays of fixed shape, because Numba compiles and runs one
record argument far faster than many arrays. The `python` engine has them as objects with the same attributes: a scalar
is an int, a one-dimensional array a list, a larger array a NumPy array. Device code cannot see the difference.

All fields are 64-bit signed integers. Times are in core cycles.
"""

from __future__ import annotations

import math
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
    MAX_WARPS,
    NODES_PER_WARP,
    NOTES,
    PORT_SETS,
    PREDICATES,
    ROWS,
    STACK_COLUMNS,
    STACK_ROWS,
    UNITS,
    USED_BITS,
    WARP_STATES,
    WHEEL,
)
from binalloc.emulator.state.parts.cpu import CpuRecord
from binalloc.emulator.state.parts.dispatcher import DispatchRecord
from binalloc.emulator.state.parts.l1 import L1Record
from binalloc.emulator.state.parts.log import LogRecord
from binalloc.emulator.state.parts.memory import MemoryRecord
from binalloc.emulator.state.parts.pages import PageRecord
from binalloc.emulator.state.parts.pairs import PairFigures, PairRecord
from binalloc.emulator.state.parts.prefetch import PrefetchRecord
from binalloc.emulator.state.parts.queue import QueueRecord
from binalloc.emulator.state.parts.regions import RegionFigures, RegionRecord
from binalloc.emulator.state.parts.register_file import RegisterFileFigures, RegisterFileRecord
from binalloc.emulator.state.parts.scheduler import LOAD_WORDS, SchedulerRecord
from binalloc.emulator.state.parts.tagged import TaggedFigures, TaggedRecord
from binalloc.emulator.state.texture_layout import MAX_TEXTURES, TEXTURE_COLUMNS


class Record:
    """A record is a plain object in the `python` engine. Subclasses annotate the fields: ints first, then arrays with
    shapes."""

    def __init__(self) -> None:
        for name, shape in shapes(type(self)).items():
            setattr(self, name, 0 if shape == () else _array(shape))


MANY = 4096
"""An array of this length or more is a `Sparse`, as a run uses few of its entries. Chosen by hand."""


class Sparse(dict[int, int]):
    """A sparse array has one dimension, and keeps only its nonzero entries."""

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
    """Make an array of zeros as the `python` engine has it."""
    if len(shape) > 1:
        return np.zeros(shape, np.int64)
    return [0] * shape[0] if shape[0] < MANY else Sparse(shape[0])


_SHAPES: dict[type[Record], dict[str, tuple[int, ...]]] = {}


def shapes(kind: type[Record]) -> dict[str, tuple[int, ...]]:
    """Return the fields of a record and their shapes, () for an int."""
    if kind not in _SHAPES:
        hints = get_type_hints(kind, include_extras=True)
        _SHAPES[kind] = {name: get_args(hint)[1:] for name, hint in hints.items()}
    return _SHAPES[kind]


PAGE, LINE = 4096, 64
"""Bytes of a page of the host's memory, and of a line of its caches."""
_LARGE = 64  # words of an array that is kept apart from others; a smaller one is a few lines


def dtype_of(kind: type[Record]) -> np.dtype[np.void]:
    """Return the dtype of a record of the `numba` engine.

    Arrays of one length begin in different lines of their pages, with gaps where needed. Most lengths are powers of
    two: side by side, all that belongs to one warp, line or request would have one place in its pages. The host has
    such words in one set of its cache, and takes a load of one for dependent on a store to another.
    """
    offsets, end = [], 0
    taken: set[tuple[int, int]] = set()
    for shape in shapes(kind).values():
        words = math.prod(shape)
        if words >= _LARGE:
            places = range(end, end + PAGE, LINE)
            end = next((at for at in places if (shape[0], at % PAGE // LINE) not in taken), end)
        if shape:
            taken.add((shape[0], end % PAGE // LINE))
        offsets.append(end)
        end += words * np.dtype(np.int64).itemsize
    formats = [(np.int64, shape) for shape in shapes(kind).values()]
    return np.dtype({"names": list(shapes(kind)), "formats": formats, "offsets": offsets, "itemsize": end}, align=True)


class Gpu(
    DispatchRecord, MemoryRecord, QueueRecord, TaggedFigures, LogRecord, RegisterFileFigures, RegionFigures,
    PairFigures, PageRecord, CpuRecord, PrefetchRecord, Record,
):  # fmt: skip
    """`Gpu` is what the whole device shares."""

    # clock and end of run
    cycle: int
    reference: int  #: 1 where the plain per-cycle bookkeeping runs (`sm.reference`)
    skew: int  #: seed of the skew + 1, 0 for none
    fault: int  #: code of the first fault, 0 while there is none
    fault_sm: int  #: SM
    fault_warp: int  #: warp slot
    fault_pc: int  #: code word
    fault_lane: int  #: lane, or -1
    fault_a: int  #: the three details depend on the code (`stops.faults`)
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
    block_words: int  #: words of shared memory that a block gets
    shared_words: int  #: words of shared memory of an SM
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
    # what users choose
    policy: int  #: number of the warp scheduler in its table
    placement: int  #: number of the placement of shared memory
    pages: int  #: number of the page policy
    gates: int  #: a bit for each gate in force
    listening: int  #: a bit for each listener
    notes_evictions: int  #: whether L1 notes the lines that it gives up
    notes_sought: int  #: whether L1 notes the lines that loads have not found, and those that have been stored to
    notes_lines: int  #: whether it notes any of both
    # parameters of policies
    base_score: int  #: ccws
    throttle: int  #: ccws
    enough: int  #: tbas
    successor: int  #: tbas
    group_warps: int  #: owl
    group_round: int  #: owl
    group_same: int  #: owl
    group_alone: int  #: owl
    resident_limit: int
    warp_limit: int
    shared_latency: int
    shared_atomic_latency: int
    shared_banks: int  #: number of banks
    shared_bank_shift: int  #: log2 of the words that follow one another in a bank
    shared_row_shift: int  #: log2 of the words in the row of all banks
    l1_latency: int
    l1_sets: int
    l1_ways: int
    l1_local: int
    l1_global: int
    l1_fill_words: int  #: words that a miss fetches beside those that it wants, 0 for none
    l1_updates: int  #: whether stores change what L1 holds
    l1_mshrs: int  #: loads and atomics that may be under way
    store_places: int  #: stores that may be under way
    const_latency: int
    buffers: int
    heap_start: int  #: address of the device runtime's heap, which is one of the buffers; 0 for none
    heap_map: int  #: address of the heap's map, 0 for none
    global_base: int  #: address of the first word of the array of global memory
    textures: int

    unit_own: Annotated[Words, UNITS]  #: 1 where each scheduler has ports of its own
    unit_interval: Annotated[Words, UNITS]
    unit_latency: Annotated[Words, UNITS]
    unit_group: Annotated[Words, UNITS]  #: the port set of the unit's group
    # port sets, of units and then of groups
    set_ports: Annotated[Words, PORT_SETS]  #: ports of one owner
    set_units: Annotated[Words, PORT_SETS]  #: mask of the units that need a port of the set
    #: a bit for each code word that loads from off-chip memory, where the scheduler asks for them
    load_bits: Annotated[Words, LOAD_WORDS]
    buffer_start: Annotated[Words, MAX_BUFFERS]
    buffer_end: Annotated[Words, MAX_BUFFERS]
    const_start: Annotated[Words, CONST_BANKS]
    const_size: Annotated[Words, CONST_BANKS]
    texture: Annotated[Grid, MAX_TEXTURES, TEXTURE_COLUMNS]
    clear_read: Annotated[Words, BOARD_SETS]
    scheduler_of: Annotated[Words, MAX_WARPS]  #: scheduler of a warp slot
    bit_of: Annotated[Words, MAX_WARPS]  #: bit of a warp slot in its scheduler's masks
    lut_masks: Annotated[Grid, 1 << LUT_BITS, LUT_BITS]  #: every table of LOP3 as words of equal bits


class Sm(
    RegionRecord, PairRecord, L1Record, TaggedRecord, QueueRecord, SchedulerRecord, RegisterFileRecord, Record
):  # fmt: skip
    """`Sm` is the state of one SM."""

    id: int
    warp_base: int  #: its first warp among all warps of the device
    row_base: int  #: the row of that warp's first register
    launch_free: int
    next_time: int
    last_time: int
    resident: int
    live_warps: int
    stamp: int
    wheel_used: int
    turn: int  #: the warp slot that issues now, -1 for none
    turned: int  #: the scheduler whose turn it is in this cycle, 0 between cycles
    ready_from: int  #: cycle in which a warp that has just issued waits for its turn again
    # the instruction being executed
    passes: int  #: LSU passes
    done_at: int  #: time at which its result is there
    waits: int  #: whether the warp waits at a barrier
    taint: int  #: poison of the sources
    taint_guard: int  #: poison of the guard
    to_shared: int  #: lanes whose access is to shared memory
    # addresses of the running memory instruction, see `execute.addresses`
    inside: int
    even: int
    origin: int
    step: int
    closed_until: int  #: time until which a warp waits that has found a gate closed
    called: int  #: whether a policy has called warps that wait at a gate

    notes: Annotated[Words, NOTES]  #: for listeners that keep little
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
    # warps
    state: Annotated[Words, MAX_WARPS]
    at: Annotated[Words, MAX_WARPS]  #: word of the instruction that the warp issued last
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
    busy: Annotated[Words, MAX_WARPS]  #: scoreboards that are busy, as bits
    board_time: Annotated[Grid, MAX_WARPS, BOARD_NUMBERS]  #: time at which the last of the counted results arrives
    board_open: Annotated[Grid, MAX_WARPS, BOARD_NUMBERS]  #: counted results that arrive at an unknown time
    # hazard table
    fixed: Annotated[Cube, MAX_WARPS, ROWS, FIXED_COLUMNS]  #: fixed results in flight
    # lists of the rows that have variable results or late readers pending
    var_count: Annotated[Words, MAX_WARPS]
    var_list: Annotated[Grid, MAX_WARPS, ROWS]
    read_count: Annotated[Words, MAX_WARPS]
    read_list: Annotated[Grid, MAX_WARPS, ROWS]
    read_any: Annotated[Words, MAX_WARPS]
    var_any: Annotated[Words, MAX_WARPS]
    aside_count: Annotated[Words, MAX_WARPS]
    aside: Annotated[Cube, MAX_WARPS, ASIDE, ASIDE_COLUMNS]
    poison: Annotated[Grid, MAX_WARPS, ROWS]  #: poisoned lanes of registers and predicates
    clock: Annotated[Grid, MAX_WARPS, MAX_BLOCK_WARPS]  #: race mode: vector clocks of warps
    bar_clock: Annotated[Cube, MAX_BLOCKS, BARRIERS, MAX_BLOCK_WARPS]  #: race mode: vector clocks of barriers
    # blocks
    block_active: Annotated[Words, MAX_BLOCKS]
    block_id: Annotated[Words, MAX_BLOCKS]
    block_warps: Annotated[Words, MAX_BLOCKS]
    bar_arrived: Annotated[Grid, MAX_BLOCKS, BARRIERS]
    bar_expected: Annotated[Grid, MAX_BLOCKS, BARRIERS]
    bar_kind: Annotated[Grid, MAX_BLOCKS, BARRIERS]
    bar_votes: Annotated[Cube, MAX_BLOCKS, BARRIERS, 2]  #: lanes that came with a false predicate, and with a true one
    # schedulers
    ready: Annotated[Grid, MAX_SCHEDULERS, UNITS]
    ready_units: Annotated[Words, MAX_SCHEDULERS]
    census: Annotated[Grid, MAX_SCHEDULERS, WARP_STATES]
    entered: Annotated[Words, MAX_SCHEDULERS]  #: the last cycle whose slots have been accounted for
    wheel: Annotated[Grid, WHEEL, MAX_SCHEDULERS]
    # ports, by owner: the SM, then its schedulers
    units_busy: Annotated[Words, 1 + MAX_SCHEDULERS]  #: mask of the units whose ports are taken
    port_free: Annotated[Words, (1 + MAX_SCHEDULERS) * PORT_SETS]  #: time from which a set is free
    port_long: Annotated[Words, (1 + MAX_SCHEDULERS) * PORT_SETS]  #: latest end of a set's long occupations
    port_used: Annotated[Words, (1 + MAX_SCHEDULERS) * PORT_SETS]  #: a cycle and the set's starts in it
    port_until: Annotated[Grid, PORT_SETS, MAX_PORTS]  #: ends of the ports' long occupations, owner after owner
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
    settled: Annotated[Words, STATS]  #: the part of `stat` that has been entered at instructions, in profiled runs

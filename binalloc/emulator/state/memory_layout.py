"""Shapes of the memory system's records, and the codes that its parts share."""

from __future__ import annotations

from binalloc.emulator.state.codes import Codes
from binalloc.emulator.state.layout import BOARD_NUMBERS, MAX_WARPS

MAX_CHANNELS = 128
MAX_BANKS_OF_DRAM = 32  # dram.BANK_BITS
FAW_ACTIVATES = 4  # tFAW counts this many activations
MAX_REQUESTS = 1 << 18
APART = 8  # rows more than in use: or all that a record's arrays say of one row would share a set of the host's cache
REQUEST_ROWS = MAX_REQUESTS + APART
DRAM_BANKS = MAX_CHANNELS * MAX_BANKS_OF_DRAM
BANK_ROWS = DRAM_BANKS + APART
MEMORY_CALENDAR = 4096

DATA_FRACTION = 16  # bits of a tick in times of a channel's data bus

NEVER = 1 << 60
"""A time that does not come."""

IDLE = NEVER >> 1  # when a bank of DRAM without requests is ready
REFRESHING = -1  # in place of a bank's number: what comes next is for all of the channel



class Command(Codes):
    """What a channel is told; first those that move data."""

    READ: int
    WRITE: int
    ACTIVATE: int
    PRECHARGE: int
    PRECHARGE_ALL: int
    REFRESH: int


MAX_SMS = 192
MAX_SLICES = 256
MAX_L2_LINES = 1 << 20
L2_ROWS = MAX_L2_LINES + APART
LINE_BYTES = 128
LINE_SHIFT = 7
LINE_WORDS = 32
SECTOR_BYTES = 32


class Kind(Codes):
    """What a request asks for. Loads, stores and atomics come from an SM; a slice of L2 makes the others."""

    LOAD: int
    STORE: int
    ATOMIC: int
    FILL: int
    EVICTION: int


class Stage(Codes):
    """What happens to a request at its next event, or what it waits for."""

    REACHES_SLICE: int
    WAITS_FOR_LINE: int
    LEAVES_SLICE: int
    REACHES_SM: int
    FILLS_LINE: int


class MemoryStat(Codes):
    """Counters of what all SMs share; `names` is what results call them."""

    L2_HITS: int
    L2_MISSES: int
    L2_MERGES: int
    L2_LOCAL_HITS: int
    L2_LOCAL_MISSES: int
    L2_SPILL_HITS: int
    L2_SPILL_MISSES: int
    L2_TEXTURE_HITS: int
    L2_TEXTURE_MISSES: int
    L2_INSTRUCTION_HITS: int
    L2_INSTRUCTION_MISSES: int
    L2_CONSTANT_HITS: int
    L2_CONSTANT_MISSES: int
    L2_STORES: int
    L2_ATOMICS: int
    L2_EVICTIONS: int
    L2_FILLS: int
    L2_FILL_SECTORS: int
    L2_WRITEBACKS: int
    L2_WRITEBACK_SECTORS: int
    L2_STALLED: int
    L2_LOAD_SECTORS: int
    L2_STORE_SECTORS: int
    L2_ATOMIC_SECTORS: int
    ANSWERS: int
    ANSWER_SECTORS: int
    REQUEST_BYTES: int
    RESPONSE_BYTES: int
    DRAM_REQUESTS: int
    DRAM_ROW_HITS: int
    DRAM_READS: int
    DRAM_WRITES: int
    DRAM_ACTIVATIONS: int
    DRAM_PRECHARGES: int
    DRAM_REFRESHES: int
    DRAM_BUSY_TICKS: int
    DRAM_BANK_TICKS: int


class Queue(Codes):
    """What holds requests and can be full: loads and atomics under way from an SM; stores under way from it; fetches
    under way to a slice of L2; requests that wait at a channel of DRAM. `names` is what results call them."""

    L1_MSHRS: int
    STORE_PLACES: int
    L2_MSHRS: int
    DRAM_QUEUE: int


MAX_L1_LINES = 8192
L1_ROWS = MAX_L1_LINES + APART
MAX_MSHRS = 1024
MAX_WAITERS = 4096
# each access has a load or an atomic under way, waits for a line, is held, or is a fence: one per warp and scoreboard
MAX_ACCESSES = MAX_MSHRS + MAX_WAITERS + 1 + MAX_WARPS * BOARD_NUMBERS
ACCESS_ROWS = MAX_ACCESSES + APART
WAITER_ROWS = MAX_WAITERS + APART
MAX_LINES_OF_ACCESS = 256  # 32 lanes with eight texels each
LINE_LISTS = 64  # lists of an access's lines, by hash
LISTS_SHIFT = LINE_LISTS.bit_length() - 1
CACHED = 1 << 24  # beside the index of a line of L1: what a load's answer is for
TEXEL = 1 << 25  # beside either: the load is a texture fetch's
CODE_ROW = 1 << 26  # beside a row of the instruction cache, CONSTANT_ROW of the constant cache: a load for it
CONSTANT_ROW = 1 << 27
SERIAL_SHIFT = 32  # above an atomic's access: how many of its lanes meet at one address

FIRST_LOCAL_LINE = 1 << 40
"""Number of the first line of local memory, behind all that addresses reach."""
FIRST_CODE_LINE = 1 << 41
"""Of the module's code, word after word of 16 bytes, behind all local memory that there can be."""
FIRST_CONSTANT_LINE = 1 << 42
"""Of the constant banks, 64 KB for each."""
BANK_SHIFT = 16
CODE_WORD_SHIFT = 4


class Tagged(Codes):
    """The small caches of an SM that are optional: which of the two."""

    CODE: int
    CONSTANTS: int


CONSTANTS_BIT = 1 << Tagged.CONSTANTS  # in `Gpu.tagged`: the machine has a constant cache
MAX_TAGGED_LINES = 8192  # of either: 256 KB of the shortest lines
TAGGED_ROWS = MAX_TAGGED_LINES * len(Tagged.names) + APART


class TaggedStat(Codes):
    """Counters of an SM's instruction cache and of its constant cache; `names` is what results call them."""

    INSTRUCTION_HITS: int
    INSTRUCTION_MISSES: int
    INSTRUCTION_FILL_SECTORS: int
    CONSTANT_HITS: int
    CONSTANT_MISSES: int
    CONSTANT_FILL_SECTORS: int
    INSTRUCTION_PREFETCHES: int


class LinePolicy(Codes):
    """What happens to the lines of an access."""

    LOAD: int
    LOAD_PAST: int
    LOCAL_LOAD: int
    LOCAL_LOAD_PAST: int
    TEXTURE: int
    STORE: int
    LOCAL_STORE: int
    STORE_PAST: int
    ATOMIC: int
    CONSTANT: int

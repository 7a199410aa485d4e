"""This module has the shapes of the memory system's records, and the codes that its parts share."""

from __future__ import annotations

from binalloc.emulator.state.codes import Codes
from binalloc.emulator.state.layout import BOARD_NUMBERS, MAX_WARPS

MAX_CHANNELS = 128  # machine files have up to 120 channels
MAX_BANKS_OF_DRAM = 32  # 1 << `memory.dram.BANK_BITS`; machine files have up to 16 banks
FAW_ACTIVATES = 4  # tFAW counts this many activations
MAX_REQUESTS = 1 << 18  # More than any machine file may have under way at once (`most_requests`).
DRAM_BANKS = MAX_CHANNELS * MAX_BANKS_OF_DRAM
MAX_PAGES = 1 << 21
"""Places of the table of pages, a power of two: three times the pages of 4 KB in all memory that a launch may have, so
that a search in it is short."""
MEMORY_CALENDAR = 4096
"""Cycles, a power of two; an event that is due later than one lap is entered again. Chosen by hand."""

DATA_FRACTION = 16  # bits behind the point in times of a channel's data bus, which count ticks

NEVER = 1 << 60
"""A time that never comes. It is above every cycle (`layout.CLOCK_END`), and sums with it stay within 64 bits."""

IDLE = NEVER >> 1  # the time at which a bank of DRAM without requests is ready
REFRESHING = -1  # takes the place of a bank's number where the next command is for the whole channel


class Command(Codes):
    """A DRAM channel executes these commands. The commands that move data come first."""

    READ: int
    WRITE: int
    ACTIVATE: int
    PRECHARGE: int
    PRECHARGE_ALL: int
    REFRESH: int


class LogWord(Codes):
    """A command in the log of DRAM has these words. From LINE on they are about the request for which it is, and mean
    nothing where it is for none."""

    CHANNEL: int
    TICK: int
    COMMAND: int
    BANK: int  #: number in the channel
    ROW: int
    LINE: int  #: the request's line in L2 and DRAM
    WORDS: int  #: mask of its words
    LEFT: int  #: its bursts still to go, this one included
    ASKED: int  #: core cycle in which it came to the channel
    AGE: int  #: grows from request to request


DRAM_LOG_WORDS = len(LogWord.names)


MAX_SMS = 192  # machine files have up to 170 SMs
MAX_SLICES = 256  # machine files have up to 240 slices
MAX_L2_LINES = 1 << 20  # machine files have up to 1,044,480 lines
LINE_BYTES = 128  # lines of all machines have this size (TIMING.md, "Lines, words, sectors")
LINE_SHIFT = 7
LINE_WORDS = 32
SECTOR_BYTES = 32  # sectors, too


class RequestKind(Codes):
    """A request asks for one of these. Loads, stores and atomics come from an SM. A slice of L2 makes the next two."""

    LOAD: int
    STORE: int
    ATOMIC: int
    FILL: int
    EVICTION: int
    CPU_LOAD: int  #: of a CPU program, past the GPU's links and L2
    PREFETCH: int


class Stage(Codes):
    """A request waits for one of these events."""

    REACHES_SLICE: int  #: the request arrives at its slice of L2
    WAITS_FOR_LINE: int  #: no event: the request waits for words that are on their way to L2
    LEAVES_SLICE: int  #: the answer leaves the slice
    REACHES_SM: int  #: the answer arrives at the SM
    FILLS_LINE: int  #: the data of a fetch arrives in L2
    CPU_MISSES: int  #: a chain of a CPU program misses its next line
    CPU_HAS_DATA: int  #: the data of that miss is back


class MemoryStat(Codes):
    """The part of the memory system that all SMs share has these counters. Results call each by its name in `names`."""

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
    L2_PREFETCHES: int
    L2_PREFETCHES_USED: int
    L2_PREFETCHES_EVICTED: int
    L2_STALLED: int
    L2_LOAD_SECTORS: int
    L2_STORE_SECTORS: int
    L2_ATOMIC_SECTORS: int
    ANSWERS: int
    ANSWER_SECTORS: int
    REQUEST_BYTES: int
    RESPONSE_BYTES: int
    RESPONSE_WAIT_CYCLES: int
    OWNED_REQUESTS: int
    LOCAL_REQUESTS: int


class Memory(Codes):
    """A machine has one or two off-chip memories."""

    NEAR: int  #: section `dram` of the machine file
    FAR: int  #: section `far_dram`, if the machine has it and the run uses it


MEMORIES = len(Memory.names)
FAR_LINE = 1 << 50
"""Number of the first physical line of the far memory, beyond the lines of all near pages."""


class DramStat(Codes):
    """Each off-chip memory has these counters. Results call those of the near memory by their names in `names`, and
    those of the far one by "far_" and the name."""

    DRAM_REQUESTS: int
    DRAM_WRITE_REQUESTS: int
    DRAM_READ_DELAY: int
    DRAM_WRITE_DELAY: int
    DRAM_ROW_HITS: int
    DRAM_READS: int
    DRAM_WRITES: int
    DRAM_ACTIVATIONS: int
    DRAM_PRECHARGES: int
    DRAM_REFRESHES: int
    DRAM_BUSY_TICKS: int
    DRAM_BANK_TICKS: int
    DRAM_CPU_REQUESTS: int
    DRAM_CPU_ROW_HITS: int
    DRAM_CPU_DELAY: int


DRAM_STATS = len(DramStat.names)


class Queue(Codes):
    """A queue is a place that holds requests and can be full. Results call each by its name in `names`."""

    L1_MSHRS: int  #: loads and atomics under way from an SM
    STORE_PLACES: int  #: stores under way from an SM
    L2_MSHRS: int  #: fetches under way to a slice of L2
    DRAM_QUEUE: int  #: requests that wait at a channel of DRAM
    FAR_DRAM_QUEUE: int  #: requests that wait at a channel of the far memory


MAX_L1_LINES = 8192  # 1 MB of L1, more than any machine file has
MAX_MSHRS = 1024  # machine files have up to 512
MAX_WAITERS = 4096  # loads that may wait for lines under way in one SM; the next access is held. Chosen by hand
# each access has a load or an atomic under way, waits for a line, is held, or is a fence (one per warp and scoreboard)
MAX_ACCESSES = MAX_MSHRS + MAX_WAITERS + 1 + MAX_WARPS * BOARD_NUMBERS
MAX_LINES_OF_ACCESS = 256  # 32 lanes with eight texels each
LINE_LISTS = 64
"""Hash lists that find an access's earlier entry of a line. Fewer lists are longer ones; chosen by hand."""
LISTS_SHIFT = LINE_LISTS.bit_length() - 1
CACHED = 1 << 24  # bit beside the index of a line of L1: the answer of the load fills that line
TEXEL = 1 << 25  # bit beside either of them: the load is a texture fetch's
CODE_ROW = 1 << 26  # bit beside a row of the instruction cache: the load fills that row
CONSTANT_ROW = 1 << 27  # bit beside a row of the constant cache: the load fills that row
SERIAL_SHIFT = 32  # above an atomic's access stands how many of its lanes meet at one address

FIRST_LOCAL_LINE = 1 << 40
"""Number of the first line of local memory, beyond the line of every address."""
FIRST_CODE_LINE = 1 << 41
"""Number of the first line of the module's code, in words of 16 bytes, beyond all local memory."""
FIRST_CONSTANT_LINE = 1 << 42
"""Number of the first line of the constant banks, which have 64 KB each."""
FIRST_CPU_LINE = 1 << 43
"""Number of the first line of CPU programs, beyond all of the GPU."""
MAX_CPUS, MAX_CHAINS = 8, 256  # CPU programs and their misses in flight: those of a file (`models.dram.traffic`)
CPU_FRACTION = 16  # fraction bits of times between the misses of a CPU program, so that rates are exact
CPU_SHARE = 20  # log2 of the whole of which the share of misses to the next line is stated
BANK_SHIFT = 16  # log2 of the bytes of a constant bank
CODE_WORD_SHIFT = 4  # log2 of the bytes of a code word


class Tagged(Codes):
    """An SM has two small caches. Both are optional."""

    CODE: int
    CONSTANTS: int


CONSTANTS_BIT = 1 << Tagged.CONSTANTS  # bit of `Gpu.tagged` that says that the machine has a constant cache
MAX_TAGGED_LINES = 8192  # lines of either cache: 256 KB of the shortest lines
TAGGED_ROWS = MAX_TAGGED_LINES * len(Tagged.names)


class TaggedStat(Codes):
    """The instruction cache and the constant cache of an SM have these counters. Results call each by its name in
    `names`."""

    INSTRUCTION_HITS: int
    INSTRUCTION_MISSES: int
    INSTRUCTION_FILL_SECTORS: int
    CONSTANT_HITS: int
    CONSTANT_MISSES: int
    CONSTANT_FILL_SECTORS: int
    INSTRUCTION_PREFETCHES: int


class LinePolicy(Codes):
    """The lines of an access are treated in one of these ways."""

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

"""This module has the constants that device code and staging share: program columns, opcodes, states, faults and sizes.

Device code sees module-level integers as compile-time constants, so all is plain ints. Figures that differ between
machines are data in the state. Sizes here are shapes of the records' arrays; `LaunchedDevice` refuses larger machines.
"""

from __future__ import annotations

from binalloc.emulator.state.codes import Codes
from binalloc.isa import instruction as isa
from binalloc.isa import runtime, timing
from binalloc.isa.interface.places import DEEP_STACK_ENTRIES, PRED_BASE
from binalloc.isa.table import fields
from binalloc.isa.table.opcodes import MODIFIERS

LANES = isa.LANES
LANES_SHIFT = LANES.bit_length() - 1
WORD = isa.WORD
SLOT_ROW = isa.SLOT_ROW
FULL = 0xFFFFFFFF
RZ = fields.RZ
NO_BARRIER = fields.NO_BARRIER
PT = fields.PT
REGISTERS = RZ + 1  # rows of a register file, RZ included
REGISTER_ROWS = REGISTERS + 1  # rows of a warp; an odd number spreads them over the sets of the host's caches
# rows in front of the warps': operands with sign modifiers and a result, two rows each, then values, the first one 0
SIGNED_ROWS_A, SIGNED_ROWS_B, SIGNED_ROWS_C, RESULT_ROW, VALUE_ROWS = range(0, 10, 2)
PREDICATES = PT + 1
CONST_BANKS = fields.FIELDS["cbank"].maximum + 1

# -- shapes of the SM record, with room beyond the largest machine file
MAX_WARPS = 128  # machine files have up to 96 warps per SM
MAX_BLOCKS = 128  # machine files have up to 32 blocks per SM
MAX_BLOCK_WARPS = 32  # CUDA's limit of 1024 threads
MAX_SCHEDULERS = 16  # machine files have up to 4
MAX_WARPS_OF_SCHEDULER = 61  # a mask of warps stays non-negative in 64 bits when it is shifted by two
UNIT_NAMES = timing.UNIT_CLASSES
UNITS = len(UNIT_NAMES)
UNIT_LSU = UNIT_NAMES.index("lsu")
UNIT_TEX = UNIT_NAMES.index("tex")
MAX_GROUPS = 16  # more than the port groups of any machine file; the reader of machine files has the same limit
PORT_SETS = UNITS + MAX_GROUPS  # port sets of one owner, which is the SM or a scheduler
MAX_PORTS = 64  # at most `sm.ports.USES`, as the ports that start in a cycle are counted in a byte
STACK_ROWS = DEEP_STACK_ENTRIES + 1  # one row more than entries, for the reason of REGISTER_ROWS
BARRIERS = 16  # barriers of a block, as in PTX
SCOREBOARDS = timing.SCOREBOARDS
BOARD_NUMBERS = NO_BARRIER + 1  # values that a scoreboard field can have
BOARD_SETS = 1 << SCOREBOARDS
WHEEL = 32  # cycles; the slots in use are bits of one integer (`Sm.wheel_used`). Chosen by hand
CALENDAR = 2048  # cycles, a power of two; a node that is due later than one lap is entered again. Chosen by hand
USED_SHIFT = 5  # log2 of USED_BITS
USED_BITS = 1 << USED_SHIFT  # buckets of the calendar per word of its bit map of used buckets
NODES_PER_WARP = 8  # calendar nodes of a warp: one for each scoreboard, and WAKE_NODE for a late wake-up
WAKE_NODE = 7  # the last of these
MAX_REGISTER_BANKS = 8  # machine files have up to 2
OPERANDS = 3  # operands A, B and C, each with a reuse flag
OPERAND_WORDS = 2  # most registers that one of them has where the latency is fixed
READ_BITS = 4  # bits of column READS for each bank: an instruction reads at most 6 registers
REGISTER_BITS = 8  # bits of column OPERANDS for each register, whose number is at most RZ, 255
CODE_WORDS = 1 << 20  # code words that a module may have (ISA.md); `host.staging` holds it against the limit
MAX_BUFFERS = 4096  # buffers and variables of a launch; their bounds are arrays of the record. Chosen by hand
MAX_BANKS = 32  # machine files have up to 32 shared-memory banks
LUT_BITS = fields.FIELDS["lut"].width

# -- rows of the hazard table: registers 0..254 (255 is RZ), then predicates
PRED_ROW = PRED_BASE
ROWS = PRED_ROW + PREDICATES


class Fixed(Codes):
    """The part of the hazard table that every instruction looks at has these columns, see `checks.hazards`."""

    SOON: int  #: virtual time until which a fixed result is in flight, and PENDING
    WHOSE: int  #: lanes and code word of the instruction of that result


FIXED_COLUMNS = len(Fixed.names)
PENDING = 1 << 62  # bit of SOON, beyond all times: a variable result or a late reader is in flight


class HazardColumn(Codes):
    """The table of variable results and late readers in flight has these columns, see `checks.hazards`."""

    VAR: int  #: scoreboards of the variable results
    READ: int  #: pairs of scoreboards of the late readers
    VAR_MASK: int  #: lanes of the variable results
    VAR_PC: int  #: instruction that writes them
    READ_PC: int  #: instruction that reads late


class Aside(Codes):
    """The list of results that are set aside has these columns, see `checks.hazards`."""

    ROW: int  #: register or predicate of the result
    TIME: int  #: virtual time at which it is there
    MASK: int  #: lanes that it is for
    PC: int  #: instruction that writes it


HAZARD_COLUMNS = len(HazardColumn.names)
ASIDE_COLUMNS = len(Aside.names)
ASIDE = 128  # results set aside per warp; when all are taken, the lanes share the later time. Chosen by hand

# -- address map
GLOBAL_BASE = 0x10000000  # address of the first buffer; `host.memory.placing` holds it against the launch's
VARIABLE_BASE = isa.GLOBAL_VARIABLES
SHARED_WINDOW = isa.SHARED_WINDOW
LOCAL_WINDOW = isa.LOCAL_WINDOW
WINDOW_SIZE = isa.WINDOW_SIZE
GRANULE_SHIFT = runtime.GRANULE.bit_length() - 1  # log2 of the heap's granule in bytes
MAP_SHIFT = 5  # a word of the heap's map has 32 bits

MOST_SEED = 1 << 20  # seeds are below it, so the hash of a seed (`sm.dispatch.start_delay`) stays within 64 bits
SKEW_CYCLES = 64  # with skew, blocks start up to 63 cycles later, as TIMING.md specifies

# -- the last cycle of the clock: times up to it stay below `memory.replacement.BUSY`, a bit above every age
CLOCK_END = 1 << 44


# -- the reconvergence stack
class StackColumn(Codes):
    """An entry of the reconvergence stack has these columns."""

    KIND: int
    PC: int  #: word that the lanes execute next
    RPC: int  #: word at which the entry is popped, -1 for none
    MASK: int  #: active lanes


class EntryKind(Codes):
    """An entry of the reconvergence stack is of one of these kinds."""

    PLAIN: int
    CALL: int


STACK_COLUMNS = len(StackColumn.names)


# -- what a warp is doing
class Warp(Codes):
    """A warp is in one of these states. They are the columns of the census of each scheduler, too."""

    NONE: int
    READY: int
    STALL: int
    BRANCH: int
    SCOREBOARD: int
    BARRIER: int
    DONE: int
    SHARED: int  #: its block waits for shared memory
    GATE: int  #: this and the states behind it are for warps that wait at a gate


NOTES = 16  # words of an SM's record for listeners that keep little. Chosen by hand
GATES_AT_MOST = 8  # most gates in front of issue: a state of warps and a stall reason each. Chosen by hand
WARP_STATES = Warp.GATE + GATES_AT_MOST


# -- faults
class Fault(Codes):
    """A run stops for one of these reasons; NONE is 0."""

    NONE: int
    GLOBAL: int
    SHARED: int
    LOCAL: int
    CONST: int
    MISALIGNED: int
    SPILL: int
    STACK: int
    NO_RECONV: int
    RETURN: int
    PC: int
    DEADLOCK: int
    RAW: int
    WAW: int
    WAR: int
    BAR_DIVERGED: int
    BAR_COUNT: int
    WARPSYNC: int
    POISON: int
    RACE: int
    CALL_TARGET: int
    BAR_MODE: int
    TEXTURE: int
    SURFACE: int
    LOCAL_ATOMIC: int
    ATOMIC: int
    HEAP: int
    MATRIX: int
    BREAK: int
    ALLOC_SIZE: int
    ALLOC_NESTED: int
    ALLOC_ROOM: int
    FREE_BASE: int
    RELEASED: int
    VARIABLE: int


# -- memory accesses, as the table of opcodes names them
class SpaceCode(Codes):
    """A memory instruction accesses one of these memories."""

    GLOBAL: int
    SHARED: int
    LOCAL: int
    CONST: int
    GENERIC: int


class AccessCode(Codes):
    """A memory instruction does one of these things to the memory."""

    LOAD: int
    STORE: int
    ATOMIC: int


# -- what a code word is and who executes it
class ExecGroup(Codes):
    """An opcode is executed by the exec_* function of its group. `execute.table` has the opcodes of each."""

    INT: int
    F32: int
    F64: int
    HALF: int
    CONV: int
    PRED: int
    WARP: int
    MEM: int
    CONTROL: int
    SPECIAL: int
    NOP: int
    TEX: int
    OUTSIDE: int


class CodeKind(Codes):
    """A code word is of one of these kinds. Calls enter FUNCTION; direct calls also enter REWRITTEN. Both are first
    words of a function."""

    NONE: int
    CODE: int
    FUNCTION: int
    REWRITTEN: int


NO_CONTROL = 0  # value of column CONTROL; the numbers of the kinds (`sm.control`) follow it


class Taint(Codes):
    """Taint says which sources' poison the results of an instruction get."""

    ANY: int  #: the poison of any source
    CHOICE: int  #: the poison of the choice and of the chosen side
    LANE: int  #: the poison of the lane that is read
    ALL: int  #: the poison of any lane
    TARGET: int  #: the sources say where control goes, or what a block asks for, and poison is a fault


# -- program columns: staged ones, then encoding fields unchanged, then the lists of rows read and written
class Staged(Codes):
    """Staging makes these columns of an instruction. Columns that most instructions look at are adjacent, in front."""

    OP: int
    GROUP: int
    UNIT: int
    VALID: int
    GUARD: int
    GUARDN: int
    WAIT: int
    STALL: int
    LATENCY: int
    CONTROL: int
    EASY: int
    PLAIN: int
    RESULT: int
    N_USES: int
    READ_1: int
    READ_2: int
    READ_3: int
    READ_4: int
    A_ROW: int
    A_OWN: int
    B_ROW: int
    B_OWN: int
    C_ROW: int
    C_OWN: int
    SIGNS: int
    DETOUR: int
    RD: int
    RD_UNITS: int
    VARIABLE: int
    WBAR: int
    RBAR: int
    N_DEFS: int
    A_UNITS: int
    A_REG: int
    A_AND: int
    A_XOR: int
    B_UNITS: int
    B_REG: int
    B_LO: int
    B_HI: int
    B_AND: int
    B_XOR: int
    C_UNITS: int
    C_REG: int
    C_LO: int
    C_HI: int
    C_AND: int
    C_XOR: int
    SPACE: int
    ACCESS: int
    SIZE: int
    SIGNED: int
    LATE: int
    N_LATE: int
    OFFSET: int
    DATA: int
    PS0_XOR: int
    PS1_XOR: int
    PS2_XOR: int
    SPILL: int
    TARGET: int
    RECONV: int
    TAINT: int
    PAST: int
    BREAK: int
    READS: int
    OPERANDS: int
    REUSE: int
    CONSTANT: int
    MATRICES: int
    TOUCHES: int


READ_COLUMNS = (Staged.READ_1, Staged.READ_2, Staged.READ_3, Staged.READ_4)
"""The first rows that an instruction reads. Missing ones are the row of PT, which never has anything in flight."""
NO_RESULT, RESULTS = -1, -2
"""Values of column RESULT for an instruction that leaves nothing in flight, and for one that leaves more than a single
row of fixed latency. Otherwise RESULT is that row."""
MAX_LISTED = 16  # most 32-bit units and predicates that one instruction reads, or writes; staging asserts it
_STAGED_FIELDS = {"width", "spill", "cache", "tchan", "mats"}  # modifiers that staging turns into other columns
_PLAIN_FIELDS = (
    "shift", "lut", "lut_b", "lut2", "pmask", "nega", "negb", "negc", "barid", "diverges", "sreg", "cbank",
    "pd0", "pd1", "ps0", "ps1", "ps2",
)  # fmt: skip
FIELD_COLUMNS: dict[str, int] = {
    name: len(Staged.names) + i
    for i, name in enumerate([*(name for name in MODIFIERS if name not in _STAGED_FIELDS), *_PLAIN_FIELDS])
}


class Column(Staged, numbers=FIELD_COLUMNS):
    """Device code names these columns: all staged ones, and these of the encoding fields. Rows of `execute.table` name
    the other fields."""

    AOP: int
    ATYP: int
    BAR: int
    BARID: int
    BOP: int
    CBANK: int
    DIVERGES: int
    LUT2: int
    LUT_B: int
    M64: int
    MATCH: int
    MFORM: int
    PD0: int
    PD1: int
    PMASK: int
    PS0: int
    PS1: int
    PS2: int
    SBOUND: int
    SCOPE: int
    SHFL: int
    SREG: int
    SRW: int
    SSIZE: int
    SUNIT: int
    TCOORD: int
    TDIM: int
    TGATH: int
    TLAY: int
    TLOD: int
    TOFF: int
    TQUERY: int
    VOTE: int


ROW_COLUMNS = {
    "a": (Column.A_ROW, Column.A_OWN),
    "b": (Column.B_ROW, Column.B_OWN),
    "c": (Column.C_ROW, Column.C_OWN),
}
"""For each operand, the column of its row and the column that says whether the row counts from the warp's first row
(-1) or not (0)."""
FIRST_USE = len(Staged.names) + len(FIELD_COLUMNS)
FIRST_DEF = FIRST_USE + MAX_LISTED
COLUMNS = FIRST_DEF + MAX_LISTED

"""Constants that device code and staging share: program columns, opcodes, states, faults, sizes.

Device code sees module-level integers as compile-time constants, so everything here is a plain int. Figures that differ
between machines are data in the state; the sizes here are only the shapes of the records' arrays.
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
REGISTERS = RZ + 1  # of the register file, the row of RZ among them
REGISTER_ROWS = REGISTERS + 1  # of a warp; an odd number spreads the warps' rows over the sets of the host's caches
# rows of words in front of the warps': operands with sign modifiers, a result (pairs each), then values, first of all 0
SIGNED_ROWS_A, SIGNED_ROWS_B, SIGNED_ROWS_C, RESULT_ROW, VALUE_ROWS = range(0, 10, 2)
PREDICATES = PT + 1
CONST_BANKS = fields.FIELDS["cbank"].maximum + 1

# -- shapes of the SM record
MAX_WARPS = 128
MAX_BLOCKS = 128
MAX_BLOCK_WARPS = 32  # 1024 threads
MAX_SCHEDULERS = 16
MAX_WARPS_OF_SCHEDULER = 61  # bits of a mask that may be shifted by two
UNIT_NAMES = timing.UNIT_CLASSES
UNITS = len(UNIT_NAMES)
UNIT_LSU = UNIT_NAMES.index("lsu")
UNIT_TEX = UNIT_NAMES.index("tex")
MAX_GROUPS = 16
PORT_SETS = UNITS + MAX_GROUPS  # of one owner: the SM, or a scheduler
MAX_PORTS = 64
STACK_ROWS = DEEP_STACK_ENTRIES + 1  # as for REGISTER_ROWS
BARRIERS = 16
SCOREBOARDS = timing.SCOREBOARDS
BOARD_NUMBERS = NO_BARRIER + 1  # what a scoreboard field can say
BOARD_SETS = 1 << SCOREBOARDS
WHEEL = 32
CALENDAR = 2048
USED_SHIFT = 5
USED_BITS = 1 << USED_SHIFT  # buckets of the calendar that a word of its used bits tells of
NODES_PER_WARP = 8  # calendar nodes of a warp: one per scoreboard, the seventh for a late wake-up
WAKE_NODE = 7
MAX_REGISTER_BANKS = 8
OPERANDS = 3  # A, B and C, each with a reuse flag
OPERAND_WORDS = 2  # registers of one of them at most, where the latency is fixed
READ_BITS = 4  # of a bank's share of column READS
REGISTER_BITS = 8  # of a register's share of column OPERANDS
MAX_BUFFERS = 4096
MAX_BANKS = 32
LUT_BITS = fields.FIELDS["lut"].width

# -- rows of the hazard table: registers 0..254 (255 is RZ), then predicates
PRED_ROW = PRED_BASE
ROWS = PRED_ROW + PREDICATES


class Fixed(Codes):
    """What a row says that every instruction looks at, see `checks.hazards`."""

    SOON: int
    WHOSE: int


FIXED_COLUMNS = len(Fixed.names)
PENDING = 1 << 62  # in SOON: beyond all times


class Hazard(Codes):
    """What a row says of variable results and late readers in flight, see `checks.hazards`."""

    VAR: int
    READ: int
    VAR_MASK: int
    VAR_PC: int
    READ_PC: int


class Aside(Codes):
    """What a result set aside says."""

    ROW: int
    TIME: int
    MASK: int
    PC: int


HAZARD_COLUMNS = len(Hazard.names)
ASIDE_COLUMNS = len(Aside.names)
ASIDE = 128  # results set aside that a warp has room for

# -- address map
GLOBAL_BASE = 0x10000000
VARIABLE_BASE = isa.GLOBAL_VARIABLES
SHARED_WINDOW = isa.SHARED_WINDOW
LOCAL_WINDOW = isa.LOCAL_WINDOW
WINDOW_SIZE = isa.WINDOW_SIZE
GRANULE_SHIFT = runtime.GRANULE.bit_length() - 1  # of the heap
MAP_SHIFT = 5  # bits of a word of the heap's map

# -- textures: columns of their table, channel kinds, address modes
MAX_TEXTURES = 64


class TextureColumn(Codes):
    """A texture or a surface; a mode and a length for each axis stand side by side. LAYERS: how the last axis counts
    layers, as the modifier of TEX says it, 0 where it is an axis like the others. BIAS, LEAST, MOST: f32 patterns."""

    START: int
    DIMENSIONS: int
    WIDTH: int
    HEIGHT: int
    DEPTH: int
    CHANNELS: int
    BYTES: int
    KIND: int
    FLOAT: int
    LINEAR: int
    NORMALIZED: int
    LAYERS: int
    MODE_X: int
    MODE_Y: int
    MODE_Z: int
    LEVELS: int
    BLENDED: int
    BIAS: int
    LEAST: int
    MOST: int
    OF: int
    TYPE: int
    ORDER: int


class Handle(Codes):
    """What a handle names."""

    NOTHING: int
    TEXTURE: int
    SURFACE: int


HANDLE_BITS = 20  # of a handle under .AOFFI; four bits for each axis stand above them
TEXTURE_COLUMNS = len(TextureColumn.names)
TEXEL_KINDS = ("u", "i", "f")
TEXEL_SIGNED = TEXEL_KINDS.index("i")


class Outside(Codes):
    """What stands for texels outside of a texture: the address modes of launch files."""

    CLAMP: int
    BORDER: int
    WRAP: int
    MIRROR: int


MOST_SEED = 1 << 20
SKEW_CYCLES = 64  # with skew, blocks start up to so many cycles later

# -- the last cycle of the clock
CLOCK_END = 1 << 44


# -- the reconvergence stack
class StackColumn(Codes):
    """An entry."""

    KIND: int
    PC: int
    RPC: int
    MASK: int


class EntryKind(Codes):
    """What an entry is."""

    PLAIN: int
    CALL: int


STACK_COLUMNS = len(StackColumn.names)


# -- what a warp is doing
class Warp(Codes):
    """Also the columns of the census that every scheduler keeps."""

    NONE: int
    READY: int
    STALL: int
    BRANCH: int
    SCOREBOARD: int
    BARRIER: int
    DONE: int
    GATE: int


NOTES = 16
"""Words of an SM for listeners that keep little."""
GATES_AT_MOST = 8
"""Gates in front of issue; `Warp.GATE` and the states behind it are those of warps that wait in front of them."""
WARP_STATES = Warp.GATE + GATES_AT_MOST


# -- faults
class Fault(Codes):
    """What stopped a run, 0 if nothing has."""

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
    NOT_EXECUTED: int
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


# -- memory accesses, as the table of opcodes names them
class Space(Codes):
    """Where a memory instruction goes."""

    GLOBAL: int
    SHARED: int
    LOCAL: int
    CONST: int
    GENERIC: int


class AccessCode(Codes):
    """What it does there."""

    LOAD: int
    STORE: int
    ATOMIC: int


# -- what a code word is and who executes it
class ExecGroup(Codes):
    """Which exec_* function serves an opcode; `execute.table` says which opcode is in which."""

    INT: int
    F32: int
    F64: int
    HALF: int
    CONV: int
    PRED: int
    WARP: int
    MEM: int
    CONTROL: int
    NOT_EXECUTED: int
    SPECIAL: int
    NOP: int
    TEX: int
    OUTSIDE: int


class CodeWord(Codes):
    """Calls enter FUNCTION, direct ones also REWRITTEN, which are first words."""

    NONE: int
    CODE: int
    FUNCTION: int
    REWRITTEN: int


NO_CONTROL = 0  # in column CONTROL; the kinds are numbered behind it, in `sm.control`


class Taint(Codes):
    """Which sources' poison reaches the results: any; the choice and the chosen side; the lane read; any lane's.
    TARGET: no results; poison is a fault, as it says where control goes."""

    ANY: int
    CHOICE: int
    LANE: int
    ALL: int
    TARGET: int


# -- program columns: staged ones, then encoding fields as they stand, then the lists of rows read and written
class Staged(Codes):
    """What staging makes of an instruction. Those that most instructions look at stand together, in front."""

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


READ_COLUMNS = (Staged.READ_1, Staged.READ_2, Staged.READ_3, Staged.READ_4)
"""The first rows that an instruction reads; where there are fewer, that of PT, on which nothing is ever in flight."""
NO_RESULT, RESULTS = -1, -2
"""In column RESULT, which else names the only row that an instruction writes, in a fixed time: it leaves nothing in
flight; it leaves more than that."""
MAX_LISTED = 16  # 32-bit units and predicates that one instruction reads, or writes
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
    """The columns that device code names: all that are staged, and these of the encoding fields; rows of
    `execute.table` name the others."""

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
"""Of each operand: the column of its row, and that which says whether the row counts from the warp's first (-1 or
0)."""
FIRST_USE = len(Staged.names) + len(FIELD_COLUMNS)
FIRST_DEF = FIRST_USE + MAX_LISTED
COLUMNS = FIRST_DEF + MAX_LISTED

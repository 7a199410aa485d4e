"""Constants that device code and staging share: program columns, opcodes, states, stall reasons, faults, sizes.

Device code sees module-level integers as compile-time constants, so everything here is a plain int. Figures that differ
between machines are data in the state; the sizes here are only the shapes of the records' arrays.
"""

from __future__ import annotations

from binalloc.emulator.state.codes import Codes
from binalloc.isa import instruction as isa
from binalloc.isa.interface.places import STACK_ENTRIES
from binalloc.isa.table import fields
from binalloc.isa.table.opcodes import MODIFIERS
from binalloc.isa.timing import UNIT_CLASSES

LANES = isa.LANES
FULL = 0xFFFFFFFF
RZ = fields.RZ
NO_BARRIER = fields.NO_BARRIER
PT = fields.PT

# -- shapes of the SM record
MAX_WARPS = 128
MAX_BLOCKS = 128
MAX_SCHEDULERS = 16
UNIT_NAMES = UNIT_CLASSES
UNITS = len(UNIT_NAMES)
UNIT_LSU = UNIT_NAMES.index("lsu")
MAX_GROUPS = 16
MAX_PORTS = 64
STACK_DEPTH = STACK_ENTRIES
BARRIERS = 16
SCOREBOARDS = 6
WHEEL = 32
CALENDAR = 2048
NODES_PER_WARP = 8  # calendar nodes of a warp: one per scoreboard, the seventh for a late wake-up
WAKE_NODE = 7
MAX_CACHE_SETS = 1024
MAX_CACHE_LINES = 8192
MAX_BUFFERS = 4096
MAX_BANKS = 32

# -- rows of the hazard table: registers 0..254 (255 is RZ), then predicates
PRED_ROW = 256
ROWS = 264
HZ_FIX_TIME, HZ_VAR, HZ_READ, HZ_FIX_MASK, HZ_FIX_PC, HZ_VAR_MASK, HZ_VAR_PC, HZ_READ_PC = range(8)
# what a result set aside says, and how many a warp has room for
AS_ROW, AS_TIME, AS_MASK, AS_PC = range(4)
ASIDE = 128

# -- address map
GLOBAL_BASE = 0x10000000
VARIABLE_BASE = isa.GLOBAL_VARIABLES
SHARED_WINDOW = isa.SHARED_WINDOW
LOCAL_WINDOW = isa.LOCAL_WINDOW
WINDOW_SIZE = isa.WINDOW_SIZE

# -- textures: columns of their table, channel kinds, address modes
MAX_TEXTURES = 64
(
    TX_START, TX_DIMENSIONS, TX_WIDTH, TX_HEIGHT, TX_DEPTH, TX_CHANNELS, TX_BYTES, TX_KIND, TX_FLOAT, TX_LINEAR,
    TX_NORMALIZED, TX_MODE_X, TX_MODE_Y, TX_MODE_Z,
) = range(14)  # fmt: skip
TX_COLUMNS = 14
TEXEL_KINDS = ("u", "i", "f")
TEXEL_SIGNED = TEXEL_KINDS.index("i")


class AddressMode(Codes):
    """What stands for texels outside of a texture, as launch files name it."""

    CLAMP: int
    BORDER: int
    WRAP: int
    MIRROR: int


# -- fixed-point fraction of the bandwidth model, in bits; the last time of its bus; the last cycle of the clock
FRACTION = 16
BUS_END = 1 << 61
CLOCK_END = 1 << 44

# -- stack entry fields and kinds
ST_KIND, ST_PC, ST_RPC, ST_MASK = range(4)
ENTRY_PLAIN, ENTRY_CALL = range(2)

# -- what a warp is doing; also the columns of the per-scheduler census
W_NONE, W_READY, W_STALL, W_BRANCH, W_SCOREBOARD, W_BARRIER, W_DONE = range(7)
WARP_STATES = 7


# -- why an issue slot stayed empty
class Stall(Codes):
    """Reasons; `names` is what results call them."""

    NO_WARP: int
    STALL_COUNT: int
    BRANCH: int
    SCOREBOARD: int
    PORT_BUSY: int
    BARRIER: int
    BLOCK_DRAIN: int
    NO_PAIR: int


REASONS = len(Stall.names)


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
    LOCAL_ATOMIC: int
    ATOMIC: int


# -- memory accesses, as the table of opcodes names them
class Space(Codes):
    """Where a memory instruction goes."""

    GLOBAL: int
    SHARED: int
    LOCAL: int
    CONST: int
    GENERIC: int


class Access(Codes):
    """What it does there."""

    LOAD: int
    STORE: int
    ATOMIC: int


# -- execution groups: which exec_* function serves an opcode (`execute.table` says which opcode is in which)
(
    G_INT, G_F32, G_F64, G_CONV, G_PRED, G_WARP, G_MEM, G_CONTROL, G_NOT_EXECUTED, G_SPECIAL, G_NOP, G_TEX,
    G_OUTSIDE,
) = range(13)  # fmt: skip

# -- what a code word is (column C_VALID): calls enter FUNCTION, direct ones also REWRITTEN, which are first words
NO_CODE, CODE, FUNCTION, REWRITTEN = range(4)

# -- control kinds
CONTROLS = (
    "", "branch", "call", "call_indirect", "return", "exit", "barrier", "fence", "warpsync", "alloc", "free", "relssp",
)  # fmt: skip
CT_NONE = CONTROLS.index("")
CT_BRANCH = CONTROLS.index("branch")
CT_CALL = CONTROLS.index("call")
CT_CALL_IND = CONTROLS.index("call_indirect")
CT_RETURN = CONTROLS.index("return")
CT_EXIT = CONTROLS.index("exit")
CT_BARRIER = CONTROLS.index("barrier")
CT_WARPSYNC = CONTROLS.index("warpsync")

# -- which sources' poison reaches the results: any; the choice and the chosen side; the lane read; any lane's
TAINT_ANY, TAINT_CHOICE, TAINT_LANE, TAINT_ALL = range(4)

# -- program columns: staged ones, then encoding fields as they stand, then the lists of rows read and written
MAX_LISTED = 16  # 32-bit units and predicates that one instruction reads, or writes
(
    C_OP, C_GROUP, C_UNIT, C_LATENCY, C_VARIABLE, C_CONTROL, C_STALL, C_WBAR, C_RBAR, C_WAIT, C_GUARD, C_GUARDN,
    C_A_UNITS, C_A_REG, C_A_AND, C_A_XOR,
    C_B_UNITS, C_B_REG, C_B_LO, C_B_HI, C_B_AND, C_B_XOR,
    C_C_UNITS, C_C_REG, C_C_LO, C_C_HI, C_C_AND, C_C_XOR,
    C_RD, C_RD_UNITS, C_SPACE, C_ACCESS, C_SIZE, C_SIGNED, C_LATE, C_VALID, C_N_USES, C_N_DEFS, C_N_LATE,
    C_OFFSET, C_DATA, C_PS0_XOR, C_PS1_XOR, C_PS2_XOR, C_SPILL, C_TARGET, C_RECONV, C_TAINT,
) = range(48)  # fmt: skip
_STAGED_COLUMNS = 48
_STAGED_FIELDS = {"width", "spill", "cache", "scope", "tchan"}  # modifiers that staging turns into other columns
_PLAIN_FIELDS = (
    "shift", "lut", "lut_b", "lut2", "pmask", "nega", "negb", "negc", "barid", "diverges", "sreg", "cbank",
    "pd0", "pd1", "ps0", "ps1", "ps2",
)  # fmt: skip
FIELD_COLUMNS: dict[str, int] = {
    name: _STAGED_COLUMNS + i
    for i, name in enumerate([*(name for name in MODIFIERS if name not in _STAGED_FIELDS), *_PLAIN_FIELDS])
}
F_AOP = FIELD_COLUMNS["aop"]
F_ATYP = FIELD_COLUMNS["atyp"]
F_BAR = FIELD_COLUMNS["bar"]
F_BARID = FIELD_COLUMNS["barid"]
F_BOP = FIELD_COLUMNS["bop"]
F_CBANK = FIELD_COLUMNS["cbank"]
F_DIVERGES = FIELD_COLUMNS["diverges"]
F_LUT2 = FIELD_COLUMNS["lut2"]
F_LUT_B = FIELD_COLUMNS["lut_b"]
F_M64 = FIELD_COLUMNS["m64"]
F_MATCH = FIELD_COLUMNS["match"]
F_PD0 = FIELD_COLUMNS["pd0"]
F_PD1 = FIELD_COLUMNS["pd1"]
F_PMASK = FIELD_COLUMNS["pmask"]
F_PS0 = FIELD_COLUMNS["ps0"]
F_PS1 = FIELD_COLUMNS["ps1"]
F_PS2 = FIELD_COLUMNS["ps2"]
F_SHFL = FIELD_COLUMNS["shfl"]
F_SREG = FIELD_COLUMNS["sreg"]
F_SRW = FIELD_COLUMNS["srw"]
F_TCOORD = FIELD_COLUMNS["tcoord"]
F_TDIM = FIELD_COLUMNS["tdim"]
F_VOTE = FIELD_COLUMNS["vote"]
C_USES = _STAGED_COLUMNS + len(FIELD_COLUMNS)
C_DEFS = C_USES + MAX_LISTED
COLUMNS = C_DEFS + MAX_LISTED


# -- statistics: indices of the counters in the SM record
class Stat(Codes):
    """Counters of an SM; `names` is what results call them."""

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
    SHARED_PASSES: int
    SHARED_ACCESSES: int
    BANK_CONFLICT_CYCLES: int
    L1_LOCAL_HITS: int
    L1_LOCAL_MISSES: int
    L1_GLOBAL_HITS: int
    L1_GLOBAL_MISSES: int
    L1_MERGES: int
    L1_EVICTIONS: int
    BRANCHES: int
    DIVERGENT_BRANCHES: int
    BARRIERS: int
    BLOCKS_DISPATCHED: int
    BLOCKS_RETIRED: int
    WARP_CYCLES: int
    TEXTURE_FETCHES: int


S_BYTES_FROM_COUNT = Stat.USER_GLOBAL_LOAD_BYTES - Stat.USER_GLOBAL_LOADS  # bytes stand behind counts, in their order
STATS = len(Stat.names)

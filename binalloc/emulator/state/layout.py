"""Constants that device code and staging share: program columns, opcodes, states, stall reasons, faults, sizes.

Device code sees module-level integers as compile-time constants, so everything here is a plain int. Figures that differ
between machines are data in the state; the sizes here are only the shapes of the records' arrays.
"""

from __future__ import annotations

from binalloc.isa import instruction as isa
from binalloc.isa.interface.view import STACK_ENTRIES
from binalloc.isa.table import fields
from binalloc.isa.table.opcodes import MODIFIERS
from binalloc.isa.timing import UNIT_CLASSES

LANES = 32
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
TEXEL_UNSIGNED, TEXEL_SIGNED, TEXEL_FLOAT = range(3)
ADDRESS_MODES = ("clamp", "border", "wrap", "mirror")
MODE_CLAMP, MODE_BORDER, MODE_WRAP, MODE_MIRROR = range(4)

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

# -- why an issue slot stayed empty, in the order of `STALL_NAMES`
(
    R_NO_WARP, R_STALL, R_BRANCH, R_SCOREBOARD, R_PORT, R_BARRIER, R_DRAIN, R_NO_PAIR,
) = range(8)  # fmt: skip
STALL_NAMES = (
    "no_warp", "stall_count", "branch", "scoreboard", "port_busy", "barrier", "block_drain", "no_pair",
)  # fmt: skip
REASONS = len(STALL_NAMES)

# -- faults
(
    F_NONE, F_GLOBAL, F_SHARED, F_LOCAL, F_CONST, F_MISALIGNED, F_SPILL, F_STACK, F_NO_RECONV, F_RETURN, F_PC,
    F_NOT_EXECUTED, F_DEADLOCK, F_RAW, F_WAW, F_WAR, F_BAR_DIVERGED, F_BAR_COUNT, F_WARPSYNC, F_POISON, F_RACE,
    F_CALL_TARGET, F_BAR_MODE, F_TEXTURE, F_LOCAL_ATOMIC, F_ATOMIC,
) = range(26)  # fmt: skip

# -- staged operand kinds of memory spaces
SPACE_GLOBAL, SPACE_SHARED, SPACE_LOCAL, SPACE_CONST, SPACE_GENERIC = range(5)
SPACES = ("global", "shared", "local", "const", "generic")
ACCESS_LOAD, ACCESS_STORE, ACCESS_ATOMIC = range(3)
ACCESSES = ("load", "store", "atomic")

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
(
    CT_NONE, CT_BRANCH, CT_CALL, CT_CALL_IND, CT_RETURN, CT_EXIT, CT_BARRIER, CT_FENCE, CT_WARPSYNC,
) = range(9)  # fmt: skip

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
STAT_NAMES = (
    "warp_instructions", "thread_instructions", "issue_slots", "dual_issues",
    "user_global_loads", "user_global_stores", "user_global_atomics",
    "user_shared_loads", "user_shared_stores", "user_shared_atomics",
    "user_local_loads", "user_local_stores", "const_loads",
    "spill_shared_loads", "spill_shared_stores", "spill_local_loads", "spill_local_stores",
    "user_global_load_bytes", "user_global_store_bytes", "user_global_atomic_bytes",
    "user_shared_load_bytes", "user_shared_store_bytes", "user_shared_atomic_bytes",
    "user_local_load_bytes", "user_local_store_bytes", "const_load_bytes",
    "spill_shared_load_bytes", "spill_shared_store_bytes", "spill_local_load_bytes", "spill_local_store_bytes",
    "global_load_sectors", "global_store_sectors", "global_atomic_sectors",
    "local_fill_sectors", "local_writeback_sectors", "global_fill_sectors",
    "shared_passes", "shared_accesses", "bank_conflict_cycles",
    "l1_local_hits", "l1_local_misses", "l1_global_hits", "l1_global_misses", "l1_merges", "l1_evictions",
    "branches", "divergent_branches", "barriers", "blocks_dispatched", "blocks_retired",
    "warp_cycles", "texture_fetches",
)  # fmt: skip
(
    S_WARP_INSTRS, S_THREAD_INSTRS, S_SLOTS, S_DUAL,
    S_G_LD, S_G_ST, S_G_AT, S_S_LD, S_S_ST, S_S_AT, S_L_LD, S_L_ST, S_C_LD,
    S_SS_LD, S_SS_ST, S_SL_LD, S_SL_ST,
    S_G_LDB, S_G_STB, S_G_ATB, S_S_LDB, S_S_STB, S_S_ATB, S_L_LDB, S_L_STB, S_C_LDB,
    S_SS_LDB, S_SS_STB, S_SL_LDB, S_SL_STB,
    S_SEC_LD, S_SEC_ST, S_SEC_AT, S_SEC_LFILL, S_SEC_WB, S_SEC_GFILL,
    S_SH_PASSES, S_SH_ACCESSES, S_CONFLICT,
    S_L1_LHIT, S_L1_LMISS, S_L1_GHIT, S_L1_GMISS, S_L1_MERGE, S_L1_EVICT,
    S_BRANCHES, S_DIVERGENT, S_BARRIERS, S_DISPATCHED, S_RETIRED, S_WARP_CYCLES, S_TEX,
) = range(52)  # fmt: skip
assert len(STAT_NAMES) == 52
S_BYTES_FROM_COUNT = S_G_LDB - S_G_LD
STATS = len(STAT_NAMES)

"""Constants that device code and staging share: program columns, opcodes, states, stall reasons, faults, sizes.

Device code sees module-level integers as compile-time constants, so everything here is a plain int. Figures that differ
between machines are data in the state; the sizes here are only the shapes of the records' arrays.
"""

from __future__ import annotations

from binalloc.isa.instruction import GLOBAL_VARIABLES
from binalloc.isa.interface.places import STACK_ENTRIES
from binalloc.isa.table.opcodes import BY_NAME

LANES = 32
FULL = 0xFFFFFFFF
RZ = 255
NO_BARRIER = 7
PT = 7

# -- shapes of the SM record
MAX_WARPS = 128
MAX_BLOCKS = 128
MAX_SCHEDULERS = 16
UNIT_NAMES = ("alu", "imad", "fma", "conv", "sfu", "dp", "lsu", "tex", "bru", "bar", "sys")
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
VARIABLE_BASE = GLOBAL_VARIABLES
SHARED_WINDOW = 0x01000000
LOCAL_WINDOW = 0x02000000
WINDOW_SIZE = 0x01000000

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
    F_CALL_TARGET, F_BAR_MODE, F_TEXTURE, F_LOCAL_ATOMIC,
) = range(25)  # fmt: skip

# -- staged operand kinds of memory spaces
SPACE_GLOBAL, SPACE_SHARED, SPACE_LOCAL, SPACE_CONST, SPACE_GENERIC = range(5)
SPACES = ("global", "shared", "local", "const", "generic")
ACCESS_LOAD, ACCESS_STORE, ACCESS_ATOMIC = range(3)
ACCESSES = ("load", "store", "atomic")

# -- execution groups: which exec_* function serves an opcode
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

# -- program columns: staged fields, then encoding fields as they stand
MAX_LISTED = 16  # 32-bit units and predicates that one instruction reads, or writes
_columns: list[str] = []


def _column(name: str) -> int:
    _columns.append(name)
    return len(_columns) - 1


(
    C_OP, C_GROUP, C_UNIT, C_LATENCY, C_VARIABLE, C_CONTROL, C_STALL, C_WBAR, C_RBAR, C_WAIT, C_GUARD, C_GUARDN,
    C_A_UNITS, C_A_REG, C_A_AND, C_A_XOR,
    C_B_UNITS, C_B_REG, C_B_LO, C_B_HI, C_B_AND, C_B_XOR,
    C_C_UNITS, C_C_REG, C_C_LO, C_C_HI, C_C_AND, C_C_XOR,
    C_RD, C_RD_UNITS, C_SPACE, C_ACCESS, C_SIZE, C_SIGNED, C_LATE, C_VALID, C_N_USES, C_N_DEFS, C_N_LATE,
    C_OFFSET, C_DATA, C_PS0_XOR, C_PS1_XOR, C_PS2_XOR, C_SPILL, C_TARGET, C_RECONV,
) = [_column(f"staged{i}") for i in range(47)]  # fmt: skip

F_X, F_U32, F_SHIFT, F_DIR, F_STYPE, F_HI, F_WRAP, F_LUT, F_ICMP, F_U32CMP, F_BOP, F_EX, F_SH, F_PRMT = [
    _column(n)
    for n in ("x", "u32", "shift", "dir", "stype", "hi", "wrap", "lut", "icmp", "u32cmp", "bop", "ex", "sh", "prmt")
]
F_RND, F_FTZ, F_SAT, F_FUNC, F_ITYP, F_FTYP, F_RND2, F_FTYP_D, F_FTYP_S, F_PMASK, F_SHFL, F_VOTE, F_FCMP = [
    _column(n)
    for n in ("rnd", "ftz", "sat", "func", "ityp", "ftyp", "rnd2", "ftyp_d", "ftyp_s", "pmask", "shfl", "vote", "fcmp")
]
F_AOP, F_ATYP, F_BAR, F_BARID, F_DIVERGES, F_SREG, F_SRW, F_NEGA, F_NEGB, F_NEGC, F_LUT_B, F_LUT2, F_CBANK = [
    _column(n)
    for n in (
        "aop",
        "atyp",
        "bar",
        "barid",
        "diverges",
        "sreg",
        "srw",
        "nega",
        "negb",
        "negc",
        "lut_b",
        "lut2",
        "cbank",
    )
]
F_PD0, F_PD1, F_PS0, F_PS1, F_PS2 = [_column(n) for n in ("pd0", "pd1", "ps0", "ps1", "ps2")]
F_MATCH, F_M64, F_TDIM, F_TCOORD = [_column(n) for n in ("match", "m64", "tdim", "tcoord")]
FIELD_COLUMNS: dict[str, int] = {name: i for i, name in enumerate(_columns) if not name.startswith("staged")}
C_USES = len(_columns)
C_DEFS = C_USES + MAX_LISTED
COLUMNS = C_DEFS + MAX_LISTED

# -- opcodes
OP_IADD3 = BY_NAME["IADD3"].code
OP_IMAD = BY_NAME["IMAD"].code
OP_IMAD_WIDE = BY_NAME["IMAD.WIDE"].code
OP_IMAD_HI = BY_NAME["IMAD.HI"].code
OP_LEA = BY_NAME["LEA"].code
OP_LEA_HI = BY_NAME["LEA.HI"].code
OP_SHF = BY_NAME["SHF"].code
OP_LOP3 = BY_NAME["LOP3"].code
OP_IMNMX = BY_NAME["IMNMX"].code
OP_ISETP = BY_NAME["ISETP"].code
OP_POPC = BY_NAME["POPC"].code
OP_FLO = BY_NAME["FLO"].code
OP_BREV = BY_NAME["BREV"].code
OP_PRMT = BY_NAME["PRMT"].code
OP_SEL = BY_NAME["SEL"].code
OP_MOV = BY_NAME["MOV"].code
OP_IABS = BY_NAME["IABS"].code
OP_FADD = BY_NAME["FADD"].code
OP_FMUL = BY_NAME["FMUL"].code
OP_FFMA = BY_NAME["FFMA"].code
OP_FMNMX = BY_NAME["FMNMX"].code
OP_FSETP = BY_NAME["FSETP"].code
OP_MUFU = BY_NAME["MUFU"].code
OP_DADD = BY_NAME["DADD"].code
OP_DMUL = BY_NAME["DMUL"].code
OP_DFMA = BY_NAME["DFMA"].code
OP_DMNMX = BY_NAME["DMNMX"].code
OP_DSETP = BY_NAME["DSETP"].code
OP_I2F = BY_NAME["I2F"].code
OP_F2I = BY_NAME["F2I"].code
OP_F2F = BY_NAME["F2F"].code
OP_FRND = BY_NAME["FRND"].code
OP_PLOP3 = BY_NAME["PLOP3"].code
OP_P2R = BY_NAME["P2R"].code
OP_R2P = BY_NAME["R2P"].code
OP_SHFL = BY_NAME["SHFL"].code
OP_VOTE = BY_NAME["VOTE"].code
OP_MATCH = BY_NAME["MATCH"].code
OP_S2R = BY_NAME["S2R"].code
OP_CS2R = BY_NAME["CS2R"].code
OP_NOP = BY_NAME["NOP"].code
NOT_EXECUTED = ("BAR.ALLOC", "BAR.FREE", "RELSSP")

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

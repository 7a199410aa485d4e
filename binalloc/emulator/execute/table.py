"""The emulator's table of operations says what each opcode of `isa.table.opcodes` does. One row of it is all that ties
an opcode to device functions. The functions that select an opcode of a group are generated from the rows."""

from __future__ import annotations

from collections.abc import Callable

from binalloc.emulator.arithmetic.conversion import f2f, f2i, frnd, i2f
from binalloc.emulator.arithmetic.float32 import fadd, fadd_rn, fcompare, ffma, ffma_rn, fmnmx, fmul, fmul_rn
from binalloc.emulator.arithmetic.float64 import dadd, dadd_rn, dcompare, dfma, dfma_rn, dmnmx, dmul, dmul_rn
from binalloc.emulator.arithmetic.half import f2h, f2h2, h2f, hadd2, hcompare2, hfma2, hmnmx2, hmul2, i2h
from binalloc.emulator.arithmetic.integer import (
    brev,
    flo,
    iabs,
    iadd3,
    icompare,
    imad,
    imad_hi,
    imad_wide,
    imnmx,
    lea,
    lea_hi,
    lop3,
    mov,
    p2r,
    popc,
    prmt,
    sel,
    shf,
    sum3,
)
from binalloc.emulator.arithmetic.mufu import mufu
from binalloc.emulator.execute.operands import (
    finish_sum,
    first_row,
    lane_predicates,
    stage_signs,
    write_back,
    write_comparisons,
    write_nonzero,
    write_rows,
)
from binalloc.emulator.execute.operation import Executor, ExecutorInRows, Operation, ResultKind, group_text
from binalloc.emulator.execute.predicates import predicate_logic, register_to_predicates
from binalloc.emulator.execute.surface import surface_address, texture_query
from binalloc.emulator.execute.warp import match_lanes, read_special, shuffle, vote
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.device import define
from binalloc.isa.table.opcodes import BY_NAME

_INT, _F32, _F64, _CONV = L.ExecGroup.INT, L.ExecGroup.F32, L.ExecGroup.F64, L.ExecGroup.CONV
_HALF = L.ExecGroup.HALF
_PRED, _WARP, _SPECIAL = L.ExecGroup.PRED, L.ExecGroup.WARP, L.ExecGroup.SPECIAL
_MEM, _CONTROL = L.ExecGroup.MEM, L.ExecGroup.CONTROL

_ROWS = (
    # -- integer; the commonest first
    Operation(
        "IADD3", _INT, iadd3, "a b c nega negb negc x ps0 ps1", ResultKind.DOUBLE_SUM, sum3, unless="x",
        ignored="ps0 ps1",
    ),
    Operation("IMAD", _INT, imad, "a b c negc"),
    Operation("MOV", _INT, mov, "b"),
    Operation("LOP3", _INT, lop3, "a b c lut", ResultKind.NONZERO),
    Operation("SHF", _INT, shf, "a b c dir stype hi wrap"),
    Operation("ISETP", _INT, icompare, "a b icmp u32cmp ex ps1", ResultKind.COMPARISON),
    Operation("IMAD.WIDE", _INT, imad_wide, "a b c.lo c.hi u32", ResultKind.PAIR),
    Operation("IMAD.HI", _INT, imad_hi, "a b c u32"),
    Operation("LEA", _INT, lea, "a b shift nega x ps0", ResultKind.SUM),
    Operation("LEA.HI", _INT, lea_hi, "a b c shift x ps0", ResultKind.SUM),
    Operation("SEL", _INT, sel, "a b ps0", taint=L.Taint.CHOICE),
    Operation("IMNMX", _INT, imnmx, "a b ps0 u32"),
    Operation("POPC", _INT, popc, "b"),
    Operation("FLO", _INT, flo, "b u32 sh"),
    Operation("BREV", _INT, brev, "b"),
    Operation("PRMT", _INT, prmt, "a b c prmt"),
    Operation("IABS", _INT, iabs, "b"),
    # -- f32
    Operation("FADD", _F32, fadd, "a b rnd ftz sat", plain=fadd_rn, unless="rnd ftz sat"),
    Operation("FMUL", _F32, fmul, "a b rnd ftz sat", plain=fmul_rn, unless="rnd ftz sat"),
    Operation("FFMA", _F32, ffma, "a b c rnd ftz sat", plain=ffma_rn, unless="rnd ftz sat"),
    Operation("FSETP", _F32, fcompare, "a b fcmp ftz", ResultKind.COMPARISON),
    Operation("FMNMX", _F32, fmnmx, "a b ps0 ftz"),
    Operation("MUFU", _F32, mufu, "b func", masked=True),
    # -- f64
    Operation("DADD", _F64, dadd, "a.lo a.hi b.lo b.hi rnd", ResultKind.PAIR, plain=dadd_rn, unless="rnd"),
    Operation("DMUL", _F64, dmul, "a.lo a.hi b.lo b.hi rnd", ResultKind.PAIR, plain=dmul_rn, unless="rnd"),
    Operation("DFMA", _F64, dfma, "a.lo a.hi b.lo b.hi c.lo c.hi rnd", ResultKind.PAIR, plain=dfma_rn, unless="rnd"),
    Operation("DMNMX", _F64, dmnmx, "a.lo a.hi b.lo b.hi ps0", ResultKind.PAIR),
    Operation("DSETP", _F64, dcompare, "a.lo a.hi b.lo b.hi fcmp", ResultKind.COMPARISON),
    # -- f16, bf16, and conversions to and from them
    Operation("HADD2", _HALF, hadd2, "a b hfmt ftz sat"),
    Operation("HMUL2", _HALF, hmul2, "a b hfmt ftz sat"),
    Operation("HFMA2", _HALF, hfma2, "a b c hfmt ftz sat relu"),
    Operation("HMNMX2", _HALF, hmnmx2, "a b ps0 hfmt ftz hnan xsign"),
    Operation("HSETP2", _HALF, hcompare2, "a b fcmp hfmt ftz", ResultKind.COMPARISONS),
    Operation("F2H", _HALF, f2h, "b.lo b.hi ftyp hfmt rnd2 ftz sat2 relu"),
    Operation("F2H2", _HALF, f2h2, "a b hfmt rnd2 ftz sat2 relu"),
    Operation("H2F", _HALF, h2f, "b hfmt hsel"),
    Operation("I2H", _HALF, i2h, "b.lo b.hi hfmt ityp rnd2"),
    # -- conversions
    Operation("I2F", _CONV, i2f, "b.lo b.hi ftyp ityp rnd2", ResultKind.PAIR),
    Operation("F2I", _CONV, f2i, "b.lo b.hi ityp ftyp rnd2 ftz", ResultKind.PAIR),
    Operation("F2F", _CONV, f2f, "b.lo b.hi ftyp_d ftyp_s rnd2 ftz", ResultKind.PAIR),
    Operation("FRND", _CONV, frnd, "b.lo b.hi ftyp rnd2 ftz", ResultKind.PAIR),
    # -- predicates
    Operation("PLOP3", _PRED, predicate_logic, result=ResultKind.PREDICATES),
    Operation("P2R", _PRED, p2r, "a preds pmask"),
    Operation("R2P", _PRED, register_to_predicates, result=ResultKind.PREDICATES),
    # -- warp
    Operation("SHFL", _WARP, shuffle, result=ResultKind.WARP, taint=L.Taint.LANE),
    Operation("VOTE", _WARP, vote, result=ResultKind.WARP, taint=L.Taint.ALL),
    Operation("MATCH", _WARP, match_lanes, result=ResultKind.WARP, taint=L.Taint.ALL),
    Operation("S2R", _SPECIAL, read_special, result=ResultKind.WARP),
    Operation("CS2R", _SPECIAL, read_special, result=ResultKind.WARP),
    # -- textures and surfaces
    Operation("TXQ", _WARP, texture_query, result=ResultKind.WARP),
    Operation("SUADDR", _WARP, surface_address, result=ResultKind.WARP),
    # -- memory: `exec_mem` by the columns space and access, `exec_tex`
    *(Operation(name, _MEM) for name in ("LDG", "STG", "LDS", "STS", "LDL", "STL", "LDC", "LD", "ST", "LDSM.16")),
    *(Operation(name, _MEM) for name in ("ATOMG", "ATOMS", "ATOM", "RED")),
    Operation("TEX", L.ExecGroup.TEX),
    # -- control: `sm.control` by the kind of control that the table of opcodes gives each
    *(Operation(name, _CONTROL) for name in ("BRA", "CALL", "RET", "EXIT", "BAR", "MEMBAR", "WARPSYNC", "RELSSP")),
    *(Operation(name, _CONTROL, taint=L.Taint.TARGET) for name in ("BAR.ALLOC", "BAR.FREE")),
    Operation("CALL.IND", _CONTROL, taint=L.Taint.TARGET),
    Operation("NOP", L.ExecGroup.NOP),
)  # fmt: skip

OPERATIONS: dict[str, Operation] = {row.name: row for row in _ROWS}  # the rows by opcode
assert OPERATIONS.keys() == BY_NAME.keys(), (
    f"only in one of isa.table.opcodes and emulator.execute.table: {sorted(OPERATIONS.keys() ^ BY_NAME.keys())}"
)

exec_int: ExecutorInRows
exec_f32: ExecutorInRows
exec_f64: ExecutorInRows
exec_half: ExecutorInRows
exec_conv: ExecutorInRows
exec_pred: Executor
exec_warp: Executor
exec_special: Executor
_FUNCTIONS = {
    "exec_int": _INT, "exec_f32": _F32, "exec_f64": _F64, "exec_half": _HALF, "exec_conv": _CONV, "exec_pred": _PRED,
    "exec_warp": _WARP, "exec_special": _SPECIAL,
}  # fmt: skip
# functions that the generated code calls
_CALLED: list[Callable[..., object]] = [finish_sum, first_row, lane_predicates, stage_signs, write_back]
_CALLED += [write_comparisons, write_nonzero, write_rows]
_CALLED += [function for row in _ROWS for function in (row.function, row.plain) if function is not None]
for _name, _group in _FUNCTIONS.items():
    _text = group_text(_name, [row for row in _ROWS if row.group == _group])
    _called = {function.__name__: function for function in _CALLED}
    define(globals(), _name, _text, _called, apart=_group not in (_INT, _F32))  # most instructions are of these two


def number_of(name: str) -> int:
    """Return the number in column Column.OP for the opcode called `name`: its place in its group."""
    row = OPERATIONS[name]
    return [other.name for other in _ROWS if other.group == row.group].index(name)


NUMBERS: dict[str, int] = {name: number_of(name) for name in OPERATIONS}  # `number_of` for every opcode

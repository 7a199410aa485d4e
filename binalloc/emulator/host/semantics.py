"""Which device function implements which opcode, and with which arguments.

Needs nothing at run time: it is the map by which the core stages operands, and a test holds it against `OPCODES`.
Leaves `TABLE`: opcode name -> (module, function, arguments, what becomes of the result). Arguments are named after the
operands and fields of `isa.table.opcodes`; `b.lo b.hi` are the words of a pair. Before a call, source modifiers of
float operands are applied by `float32.float_mods32(word, neg, abs)`, for f64 to the high word only; integer `neg`
bits are arguments. Predicate sources arrive with their negation applied. `t` is a sum above 32 bits: rd = t & 2^32-1.

`rd.lo rd.hi` is a returned pair; its second word is 0 and to be dropped where the destination is one register. A pair's
second argument is ignored where the operand is one register. Atomics of 32 bits call `atomic32(aop, atyp, old, b, c)`
instead, and `atomic_legal(aop, atyp)` first.

Fast paths: `iadd3_plain(a, b, c)` when no x and no neg; `fadd_rn(a, b)`, `fmul_rn(a, b)`, `ffma_rn(a, b, c)` when rnd,
ftz and sat are 0. The f64 functions and `i2f`, `f2i` take theirs by themselves.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One opcode's function: where it is, its arguments in order, and how the result is distributed."""

    module: str
    function: str
    arguments: str
    result: str


_SUM = "t: rd = t, pd0 = t >> 32 >= 1"
_SETP = "r: pd0 = bool_op(r, ps0, bop), pd1 = bool_op(1 - r, ps0, bop)"
_ATOMIC = Entry("atomic", "atomic64", "aop atyp old.lo old.hi b.lo b.hi c.lo c.hi", "memory; rd = old")

TABLE: dict[str, Entry] = {
    "IADD3": Entry("integer", "iadd3", "a b c nega negb negc x ps0 ps1", _SUM + ", pd1 = t >> 32 >= 2"),
    "IMAD": Entry("integer", "imad", "a b c negc", "rd"),
    "IMAD.WIDE": Entry("integer", "imad_wide", "a b c.lo c.hi u32", "rd.lo rd.hi"),
    "IMAD.HI": Entry("integer", "imad_hi", "a b c u32", "rd"),
    "LEA": Entry("integer", "lea", "a b shift nega x ps0", _SUM),
    "LEA.HI": Entry("integer", "lea_hi", "a b c shift x ps0", _SUM),
    "SHF": Entry("integer", "shf", "a b c dir stype hi wrap", "rd"),
    "LOP3": Entry("integer", "lop3", "a b c lut", "r: rd = r, pd0 = r != 0"),
    "IMNMX": Entry("integer", "imnmx", "a b ps0 u32", "rd"),
    "ISETP": Entry("integer", "icompare", "a b icmp u32cmp ex ps1", _SETP),
    "POPC": Entry("integer", "popc", "b", "rd"),
    "FLO": Entry("integer", "flo", "b u32 sh", "rd"),
    "BREV": Entry("integer", "brev", "b", "rd"),
    "PRMT": Entry("integer", "prmt", "a b c prmt", "rd"),
    "SEL": Entry("integer", "sel", "a b ps0", "rd"),
    "MOV": Entry("integer", "mov", "b", "rd"),
    "IABS": Entry("integer", "iabs", "b", "rd"),
    "FADD": Entry("float32", "fadd", "a b rnd ftz sat", "rd"),
    "FMUL": Entry("float32", "fmul", "a b rnd ftz sat", "rd"),
    "FFMA": Entry("float32", "ffma", "a b c rnd ftz sat", "rd"),
    "FMNMX": Entry("float32", "fmnmx", "a b ps0 ftz", "rd"),
    "FSETP": Entry("float32", "fcompare", "a b fcmp ftz", _SETP),
    "MUFU": Entry("mufu", "mufu", "b func", "rd"),
    "DADD": Entry("float64", "dadd", "a.lo a.hi b.lo b.hi rnd", "rd.lo rd.hi"),
    "DMUL": Entry("float64", "dmul", "a.lo a.hi b.lo b.hi rnd", "rd.lo rd.hi"),
    "DFMA": Entry("float64", "dfma", "a.lo a.hi b.lo b.hi c.lo c.hi rnd", "rd.lo rd.hi"),
    "DMNMX": Entry("float64", "dmnmx", "a.lo a.hi b.lo b.hi ps0", "rd.lo rd.hi"),
    "DSETP": Entry("float64", "dcompare", "a.lo a.hi b.lo b.hi fcmp", _SETP),
    "I2F": Entry("conversion", "i2f", "b.lo b.hi ftyp ityp rnd2", "rd.lo rd.hi"),
    "F2I": Entry("conversion", "f2i", "b.lo b.hi ityp ftyp rnd2 ftz", "rd.lo rd.hi"),
    "F2F": Entry("conversion", "f2f", "b.lo b.hi ftyp_d ftyp_s rnd2 ftz", "rd.lo rd.hi"),
    "FRND": Entry("conversion", "frnd", "b.lo b.hi ftyp rnd2 ftz", "rd.lo rd.hi"),
    "PLOP3": Entry("integer", "plop3", "ps0 ps1 ps2 lut_b", "pd0; again with lut2: pd1"),
    "P2R": Entry("integer", "p2r", "a preds pmask", "rd"),
    "R2P": Entry("integer", "r2p", "a preds pmask", "preds"),
    "SHFL": Entry("integer", "shfl_source", "shfl laneid lane clamp", "source lane, pd0"),
    "ATOMG": _ATOMIC,
    "ATOMS": _ATOMIC,
    "ATOM": _ATOMIC,
    "RED": _ATOMIC,
}

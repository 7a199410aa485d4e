"""This module has the one table of Loom operations, `OPCODES`. Decoder, encoder, assembler, disassembler, instruction
interface and the tables of ISA.md are all derived from it. The result of an opcode is defined once in prose (ISA.md,
chapter "Semantics") and once as code, whose name is in a row of `emulator.execute.table`. The emulator's dispatch is
written from these rows.

Operand signatures are written in a small notation, in the order of assembly:

    rd ra rb rc       register fields           b c     operands that a form may turn into an immediate or a constant
    pd0 pd1           predicate destinations    ps0..2  predicate sources (may be negated)
    mem64 mem32       [Ra+offset], 64-bit pair or 32-bit address       cmem    c[bank][Ra+offset]
    target reconv     branch offsets in words   sreg pmask lut ...     plain fields

A suffix `:n` gives the width in registers (`:2` pair, `:4` quad, `:w` by the width modifier and so on, see `UNITS`),
`-` allows negation, `|` allows absolute value, `?` makes the operand optional (RZ, PT, or for `?0` !PT when absent).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from binalloc.isa.kinds import Access, Flow, Space
from binalloc.isa.table.fields import COMMON_FIELDS, CONTROL_FIELDS, FIELDS

# ---------------------------------------------------------------------------------------------------------------------
# Modifiers: the texts of each field's values, by value ("" = not printed). The encoding follows from their order.

FORM_REG, FORM_IMM, FORM_CONST, FORM_C_IMM, FORM_C_CONST = range(5)
FORM_NAMES = ("register", "immediate B", "constant B", "immediate C", "constant C")

WIDTHS = ("U8", "S8", "U16", "S16", "32", "64", "128")
ITYPES = ("U8", "S8", "U16", "S16", "U32", "S32", "U64", "S64")
FTYPES = ("F32", "F64")
HTYPES = ("F16", "BF16")
ICMPS = ("F", "LT", "EQ", "LE", "GT", "NE", "GE", "T")
FCMPS = ("F", "LT", "EQ", "LE", "GT", "NE", "GE", "NUM", "NAN", "LTU", "EQU", "LEU", "GTU", "NEU", "GEU", "T")
ROUNDINGS = ("", "RM", "RP", "RZ")
MUFU_FUNCS = ("RCP", "RSQ", "SQRT", "EX2", "LG2", "SIN", "COS", "RCP64H", "RSQ64H")
ATOMIC_OPS = ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH", "CAS")
ATOMIC_TYPES = ("", "S32", "U64", "S64", "F32", "F64", "F16X2", "BF16X2")
PRMT_MODES = ("", "F4E", "B4E", "RC8", "ECL", "ECR", "RC16")
BAR_MODES = ("SYNC", "ARV", "RED.POPC", "RED.AND", "RED.OR")
CACHE_OPS = ("", "CG", "CS", "CV")
TEXTURE_DIMENSIONS = ("1D", "2D", "3D")
TEXTURE_LAYERS = ("", "A", "CUBE")
GATHERED_CHANNELS = ("", "GR", "GG", "GB", "GA")
TEXTURE_QUERIES = (
    "WIDTH", "HEIGHT", "DEPTH", "LAYERS", "LEVELS", "TYPE", "ORDER", "NORMALIZED", "KIND",
)  # fmt: skip
MATRIX_FORMS = ("M88", "MT88")
MATRIX_COUNTS = ("", "2", "4")
SURFACE_BOUNDS = ("TRAP", "CLAMP", "ZERO")
SURFACE_SIZES = ("8", "16", "32", "64", "128")

SPECIAL_REGISTERS: tuple[str, ...] = (
    "SR_TID.X", "SR_TID.Y", "SR_TID.Z",
    "SR_NTID.X", "SR_NTID.Y", "SR_NTID.Z",
    "SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z",
    "SR_NCTAID.X", "SR_NCTAID.Y", "SR_NCTAID.Z",
    "SR_LANEID", "SR_WARPID", "SR_NWARPID", "SR_SMID", "SR_NSMID",
    "SR_EQMASK", "SR_LTMASK", "SR_LEMASK", "SR_GTMASK", "SR_GEMASK",
    "SR_CLOCKLO", "SR_CLOCKHI",
    "SR_DYNAMIC_SMEM", "SR_TOTAL_SMEM", "SR_SLOTBASE", "SRZ",
    "SR_SHARED_WINDOW", "SR_LOCAL_WINDOW",
    "SR_TIMERLO", "SR_TIMERHI",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Modifier:
    """A modifier is a field whose values have a text."""

    field: str
    values: tuple[str, ...]  #: `values[i]` is the text of field value i; "" is the default and not printed


MODIFIERS: dict[str, Modifier] = {
    m.field: m
    for m in (
        Modifier("x", ("", "X")),
        Modifier("u32", ("", "U32")),
        Modifier("u32cmp", ("", "U32")),
        Modifier("dir", ("L", "R")),
        Modifier("stype", ("U32", "S32", "U64", "S64")),
        Modifier("hi", ("", "HI")),
        Modifier("wrap", ("", "W")),
        Modifier("icmp", ICMPS),
        Modifier("fcmp", FCMPS),
        Modifier("bop", ("AND", "OR", "XOR")),
        Modifier("ex", ("", "EX")),
        Modifier("sh", ("", "SH")),
        Modifier("prmt", PRMT_MODES),
        Modifier("rnd", ROUNDINGS),
        Modifier("rnd2", ROUNDINGS),
        Modifier("ftz", ("", "FTZ")),
        Modifier("sat", ("", "SAT")),
        Modifier("func", MUFU_FUNCS),
        Modifier("ityp", ITYPES),
        Modifier("ftyp", FTYPES),
        Modifier("ftyp_d", FTYPES),
        Modifier("ftyp_s", FTYPES),
        Modifier("hfmt", HTYPES),
        Modifier("sat2", ("", "SAT")),
        Modifier("relu", ("", "RELU")),
        Modifier("hnan", ("", "NAN")),
        Modifier("xsign", ("", "XORSIGN")),
        Modifier("hsel", ("H0", "H1")),
        Modifier("shfl", ("IDX", "UP", "DOWN", "BFLY")),
        Modifier("vote", ("ALL", "ANY", "EQ")),
        Modifier("match", ("ANY", "ALL")),
        Modifier("m64", ("", "U64")),
        Modifier("width", WIDTHS),
        Modifier("spill", ("", "SPILL")),
        Modifier("cache", CACHE_OPS),
        Modifier("aop", ATOMIC_OPS),
        Modifier("atyp", ATOMIC_TYPES),
        Modifier("tdim", TEXTURE_DIMENSIONS),
        Modifier("tcoord", ("", "S32")),
        Modifier("tchan", ("", "R", "RG")),
        Modifier("tlay", TEXTURE_LAYERS),
        Modifier("tgath", GATHERED_CHANNELS),
        Modifier("tlod", ("", "LL")),
        Modifier("toff", ("", "AOFFI")),
        Modifier("tquery", TEXTURE_QUERIES),
        Modifier("sbound", SURFACE_BOUNDS),
        Modifier("sunit", ("", "P")),
        Modifier("ssize", SURFACE_SIZES),
        Modifier("bar", BAR_MODES),
        Modifier("scope", ("CTA", "GPU", "SYS")),
        Modifier("srw", ("32", "64")),
        Modifier("mform", MATRIX_FORMS),
        Modifier("mats", MATRIX_COUNTS),
    )
}

# ---------------------------------------------------------------------------------------------------------------------
# Widths that depend on a modifier, in 32-bit registers, indexed by the field's value.

UNITS: dict[str, tuple[str, tuple[int, ...]]] = {
    "w": ("width", (1, 1, 1, 1, 1, 2, 4)),
    "i": ("ityp", (1, 1, 1, 1, 1, 1, 2, 2)),
    "f": ("ftyp", (1, 2)),
    "fd": ("ftyp_d", (1, 2)),
    "fs": ("ftyp_s", (1, 2)),
    "a": ("atyp", (1, 1, 2, 2, 1, 2, 1, 1)),
    "t": ("tdim", (1, 2, 2)),
    "ch": ("tchan", (4, 1, 2)),
    "lod": ("tlod", (1, 2)),
    "m": ("m64", (1, 2)),
    "s": ("srw", (1, 2)),
    "mx": ("mats", (1, 2, 4)),
}

WIDTH_BYTES = (1, 1, 2, 2, 4, 8, 16)  # bytes of an access, by the value of the field `width`
ATOMIC_BYTES = (4, 4, 8, 8, 4, 8, 4, 4)  # likewise of an atomic operation, by `atyp`
MATRIX_ROWS, MATRIX_ROW_BYTES = 8, 16
"""Rows of a matrix that LDSM loads, each at an address of its own, and the bytes of a row."""


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of a signature has a name, a kind, a width in registers, and the marks that it may have in
    assembly."""

    name: str
    kind: str  #: its name, without digits where these only number the operand
    units: int | str  #: registers, or a key of UNITS
    neg: bool = False  #: may be negated
    abs: bool = False  #: may be taken absolute
    optional: bool = False
    default_false: bool = False  #: where absent: the negated PT

    def width(self, f: Mapping[str, int]) -> int:
        """Return how many registers the operand has under the modifier values `f` (1 for a reserved value)."""
        if isinstance(self.units, int):
            return self.units
        field, table = UNITS[self.units]
        value = f[field]
        return table[value] if value < len(table) else 1


_OPERAND = re.compile(r"([a-z][a-z_]*\d*)(?::(\w+))?([-|]*)(\?0?)?$")
_KINDS = {
    "rd": "rd", "ra": "reg", "rb": "reg", "rc": "reg", "pd0": "pd", "pd1": "pd", "ps0": "ps", "ps1": "ps", "ps2": "ps",
}  # fmt: skip


def _parse_operand(text: str) -> Operand:
    """Return the operand that `text` describes in the notation above."""
    match = _OPERAND.match(text)
    assert match, f"not an operand: {text!r}"
    name, units, marks, optional = match.groups()
    width: int | str = 1 if units is None else int(units) if units.isdigit() else units
    return Operand(name, _KINDS.get(name, name), width, "-" in marks, "|" in marks, bool(optional), optional == "?0")


@dataclass(frozen=True)
class OpSpec:
    """An opcode's row has its encoding, its operands, and the execution unit that it uses."""

    code: int
    name: str
    operands: tuple[Operand, ...]
    modifiers: tuple[str, ...]
    unit: str  #: execution unit class, as machine models name them
    group: str  #: heading in ISA.md
    doc: str  #: what it does, for ISA.md
    #: needs a scoreboard on every machine; else where the machine's latency of `unit` is above 15 cycles
    variable: bool = False
    forms: tuple[int, ...] = (FORM_REG,)  #: allowed operand forms
    space: Space | None = None
    access: Access | None = None
    control: Flow = Flow.NONE
    isa: str = "loom"  #: name of the instruction set

    def distance(self, f: Mapping[str, int]) -> int:
        """Return the words from the next instruction to the destination of a branch or direct call."""
        return f["target"]

    def reconvergence(self, f: Mapping[str, int]) -> int | None:
        """Return the words from the next instruction to the reconvergence point of a branch, or None."""
        return f["reconv"] if f.get("diverges") else None

    @cached_property
    def operand(self) -> dict[str, Operand]:
        return {o.name: o for o in self.operands}

    @cached_property
    def has_form(self) -> bool:
        return "b" in self.operand

    def fields_for(self, form: int, f: Mapping[str, int] | None = None) -> tuple[str, ...]:
        """Return the names of the fields in use under `form` (and, for SHFL, the immediate flags in `f`), without the
        control code."""
        out = list(COMMON_FIELDS)
        for o in self.operands:
            out += operand_fields(o, form, f)
        out += self.modifiers
        if self.has_form:
            out.append("form")
        return tuple(dict.fromkeys(out))


def operand_fields(o: Operand, form: int, f: Mapping[str, int] | None) -> list[str]:
    """Return the names of the fields of an operand under `form` and the immediate flags in `f`."""
    marks = ["neg" + o.name[-1]] * o.neg + ["abs" + o.name[-1]] * o.abs
    if o.name == "b":
        if form == FORM_IMM:
            return ["imm"]
        if form == FORM_CONST:
            return ["coff", "cbank", *marks]
        return ["rc" if form in (FORM_C_IMM, FORM_C_CONST) else "rb", *marks]
    if o.name == "c":
        if form == FORM_C_IMM:
            return ["imm"]
        if form == FORM_C_CONST:
            return ["coff", "cbank", *marks]
        return ["rc", *marks]
    if o.kind == "ps":
        return [o.name, o.name + "n"]
    if o.name in ("mem64", "mem32"):
        return ["ra", "moff"]
    if o.name == "cmem":
        return ["ra", "coff", "cbank"]
    if o.name == "lane":
        return ["limm", "laneimm" if f and f.get("limm") else "rb"]
    if o.name == "clamp":
        return ["cimm", "clampimm" if f and f.get("cimm") else "rc"]
    if o.name == "reconv":
        return ["diverges", "reconv"]
    return [o.name, *marks]


OPCODES: dict[int, OpSpec] = {}
BY_NAME: dict[str, OpSpec] = {}
_R, _B, _BC = (FORM_REG,), (0, 1, 2), (0, 1, 2, 3, 4)  # operand forms of operations without B, with B, and with B and C


def _op(
    code: int,
    name: str,
    signature: str,
    modifiers: str,
    unit: str,
    group: str,
    doc: str,
    *,
    variable: bool = False,
    forms: tuple[int, ...] | None = None,
    space: Space | None = None,
    access: Access | None = None,
    control: str = "",
) -> None:
    """Add an opcode to the table. signature: operands in the notation above. forms: by default all that its operands
    allow."""
    operands = tuple(_parse_operand(t) for t in signature.replace(",", " ").split())
    names = {o.name for o in operands}
    if forms is None:
        forms = _BC if {"b", "c"} <= names else _B if "b" in names else _R
    spec = OpSpec(
        code, name, operands, tuple(modifiers.split()), unit, group, doc, variable, forms, space, access, Flow(control)
    )
    assert 0 <= code <= FIELDS["opcode"].maximum, f"{name}: {code:#x} does not fit the opcode's field"
    assert code not in OPCODES, f"{name}: {code:#x} is {OPCODES[code].name}'s number"
    assert name not in BY_NAME, f"two opcodes are called {name}"
    OPCODES[code] = BY_NAME[name] = spec


def _memory(
    code: int, name: str, signature: str, modifiers: str, doc: str, space: str, access: str, unit: str = "lsu"
) -> None:
    """Add an opcode that accesses memory to the table."""
    _op(code, name, signature, modifiers, unit, "memory", doc, variable=True, space=Space(space), access=Access(access))


def _define_arithmetic() -> None:
    i, f, d, h, p, c = "integer", "float32", "float64", "half", "predicate", "conversion"
    # -- integer
    _op(0x010, "IADD3", "rd pd0? pd1? ra- b- c- ps0?0 ps1?0", "x", "alu", i, "three-input add with carries")
    _op(0x011, "IMAD", "rd ra b c-", "u32", "imad", i, "low 32 bits of a*b+c")
    _op(0x012, "IMAD.WIDE", "rd:2 ra b c:2", "u32", "imad", i, "64-bit a*b+c", forms=(0, 1, 2, 4))
    _op(0x013, "IMAD.HI", "rd ra b c", "u32", "imad", i, "high 32 bits of a*b, plus c")
    _op(0x014, "LEA", "rd pd0? ra- b shift ps0?0", "x", "alu", i, "(a << shift) + b")
    _op(0x015, "LEA.HI", "rd pd0? ra b c shift ps0?0", "x", "alu", i, "high word of ({c,a} << shift) + b", forms=_B)
    _op(0x016, "SHF", "rd ra b c", "dir stype hi wrap", "alu", i, "funnel shift of {c,a} by b")
    _op(0x017, "LOP3", "pd0? rd ra b c lut", "", "alu", i, "any three-input bitwise function")
    _op(0x018, "IMNMX", "rd ra b ps0", "u32", "alu", i, "minimum where the predicate holds, else maximum")
    _op(0x019, "ISETP", "pd0 pd1 ra b ps0 ps1?", "icmp u32cmp bop ex", "alu", i, "integer compare into predicates")
    _op(0x01A, "POPC", "rd b", "", "conv", i, "number of one bits")
    _op(0x01B, "FLO", "rd b", "u32 sh", "conv", i, "position of the leading one")
    _op(0x01C, "BREV", "rd b", "", "conv", i, "bit reversal")
    _op(0x01D, "PRMT", "rd ra b c", "prmt", "alu", i, "byte permutation of {c,a} by selector b")
    _op(0x01E, "SEL", "rd ra b ps0", "", "alu", i, "a where the predicate holds, else b")
    _op(0x01F, "MOV", "rd b", "", "alu", i, "copy")
    _op(0x020, "IABS", "rd b", "", "alu", i, "absolute value")
    # -- f32
    _op(0x030, "FADD", "rd ra-| b-|", "rnd ftz sat", "fma", f, "a + b")
    _op(0x031, "FMUL", "rd ra-| b-|", "rnd ftz sat", "fma", f, "a * b")
    _op(0x032, "FFMA", "rd ra b- c-", "rnd ftz sat", "fma", f, "a * b + c, rounded once")
    _op(0x033, "FMNMX", "rd ra-| b-| ps0", "ftz", "alu", f, "minimum where the predicate holds, else maximum")
    _op(0x034, "FSETP", "pd0 pd1 ra-| b-| ps0", "fcmp bop ftz", "alu", f, "float compare into predicates")
    _op(0x035, "MUFU", "rd b-|", "func", "sfu", f, "reciprocal, roots, exp2, log2, sine, cosine")
    # -- f64
    _op(0x040, "DADD", "rd:2 ra:2-| b:2-|", "rnd", "dp", d, "a + b")
    _op(0x041, "DMUL", "rd:2 ra:2-| b:2-|", "rnd", "dp", d, "a * b")
    _op(0x042, "DFMA", "rd:2 ra:2 b:2- c:2-", "rnd", "dp", d, "a * b + c, rounded once")
    _op(0x043, "DMNMX", "rd:2 ra:2-| b:2-| ps0", "", "dp", d, "minimum where the predicate holds, else maximum")
    _op(0x044, "DSETP", "pd0 pd1 ra:2-| b:2-| ps0", "fcmp bop", "dp", d, "double compare into predicates")
    # -- f16, bf16: words of two halves
    _op(0x048, "HADD2", "rd ra-| b-|", "hfmt ftz sat", "fma", h, "a + b of both halves")
    _op(0x049, "HMUL2", "rd ra-| b-|", "hfmt ftz sat", "fma", h, "a * b of both halves")
    _op(0x04A, "HFMA2", "rd ra b- c-", "hfmt ftz sat relu", "fma", h, "a * b + c of both halves, rounded once")
    _op(
        0x04B, "HMNMX2", "rd ra-| b-| ps0", "hfmt ftz hnan xsign", "alu", h,
        "minimum of both halves where the predicate holds, else maximum",
    )  # fmt: skip
    _op(0x04C, "HSETP2", "pd0 pd1 ra-| b-| ps0", "fcmp bop hfmt ftz", "alu", h, "compare both halves into predicates")
    # -- conversions
    _op(0x050, "I2F", "rd:f b:i", "ftyp ityp rnd2", "conv", c, "integer to float")
    _op(
        0x051, "F2I", "rd:i b:f-|", "ityp ftyp rnd2 ftz", "conv", c,
        "float to integer, saturating, NaN gives 0",
    )  # fmt: skip
    _op(0x052, "F2F", "rd:fd b:fs-|", "ftyp_d ftyp_s rnd2 ftz", "conv", c, "float to float")
    _op(0x053, "FRND", "rd:f b:f-|", "ftyp rnd2 ftz", "conv", c, "round to an integral value")
    _op(0x054, "F2H", "rd b:f-|", "hfmt ftyp rnd2 ftz sat2 relu", "conv", c, "float to half")
    _op(0x055, "F2H2", "rd ra-| b-|", "hfmt rnd2 ftz sat2 relu", "conv", c, "two f32 to two halves")
    _op(0x056, "H2F", "rd b", "hfmt hsel", "conv", c, "half to f32")
    _op(0x057, "I2H", "rd b:i", "hfmt ityp rnd2", "conv", c, "integer to half")
    # -- predicates
    _op(0x060, "PLOP3", "pd0 pd1 ps0 ps1 ps2 lut_b lut2", "", "alu", p, "two three-input functions of predicates")
    _op(0x061, "P2R", "rd ra pmask", "", "alu", p, "predicates into the masked bits of a")
    _op(0x062, "R2P", "ra pmask", "", "alu", p, "masked bits of a into predicates")


def _define_rest() -> None:
    w, c, t = "warp", "control", "paper"
    # -- warp
    _op(0x070, "SHFL", "pd0 rd ra lane clamp", "shfl", "lsu", w, "read another lane's register", variable=True)
    _op(0x071, "VOTE", "rd pd0 ps0", "vote", "alu", w, "ballot and reduction of a predicate over the warp")
    _op(0x072, "MATCH", "pd0 rd ra:m", "match m64", "lsu", w, "lanes with the same value", variable=True)
    _op(0x073, "WARPSYNC", "b", "", "bru", w, "fault unless the named lanes are converged here", control="warpsync")
    # -- memory
    _memory(0x080, "LDG", "rd:w mem64", "width cache", "load global", "global", "load")
    _memory(0x081, "STG", "mem64 rb:w", "width cache", "store global", "global", "store")
    _memory(0x082, "LDS", "rd:w mem32", "width spill cache", "load shared", "shared", "load")
    _memory(0x083, "STS", "mem32 rb:w", "width spill cache", "store shared", "shared", "store")
    _memory(0x084, "LDL", "rd:w mem32", "width spill", "load local", "local", "load")
    _memory(0x085, "STL", "mem32 rb:w", "width spill", "store local", "local", "store")
    _memory(0x086, "LDC", "rd:w cmem", "width", "load constant", "const", "load")
    _memory(0x087, "LD", "rd:w mem64", "width cache", "load generic", "generic", "load")
    _memory(0x088, "ST", "mem64 rb:w", "width cache", "store generic", "generic", "store")
    _memory(0x089, "ATOMG", "rd:a mem64 rb:a rc:a?", "aop atyp", "atomic on global", "global", "atomic")
    _memory(0x08A, "ATOMS", "rd:a mem32 rb:a rc:a?", "aop atyp", "atomic on shared", "shared", "atomic")
    _memory(0x08B, "ATOM", "rd:a mem64 rb:a rc:a?", "aop atyp", "atomic on generic", "generic", "atomic")
    _memory(0x08C, "RED", "mem64 rb:a", "aop atyp", "atomic on global without a result", "global", "atomic")
    _memory(0x08D, "TEX", "rd:ch ra:t rb:lod rc?", "tdim tcoord tchan tlay tgath tlod toff", "texture fetch",
            "texture", "load", unit="tex")
    _op(0x08E, "TXQ", "rd ra", "tquery", "tex", "memory", "what a texture or surface is like", variable=True)
    _op(0x08F, "SUADDR", "pd0? rd:2 ra:t rb rc?", "tdim sbound sunit tlay ssize", "tex", "memory",
        "address of a surface's element", variable=True)
    _memory(0x090, "LDSM.16", "rd:mx mem32", "mform mats", "load matrices of 8 by 8 halves from shared, by the warp",
            "shared", "load")
    # -- control
    _op(0x0A0, "BRA", "target reconv?", "", "bru", c, "branch", control="branch")
    _op(0x0A1, "CALL", "target", "", "bru", c, "direct call", control="call")
    _op(0x0A2, "CALL.IND", "ra", "", "bru", c, "indirect call", control="call_indirect")
    _op(0x0A3, "RET", "", "", "bru", c, "return", control="return")
    _op(0x0A4, "EXIT", "", "", "bru", c, "end of the thread", control="exit")
    _op(0x0A5, "NOP", "", "", "bru", c, "nothing")
    _op(
        0x0A6, "BAR", "rd? pd0? barid b? ps0?", "bar", "bar", c, "block barrier, with reduction",
        variable=True, control="barrier",
    )  # fmt: skip
    _op(0x0A7, "MEMBAR", "", "scope", "lsu", c, "memory fence", variable=True, control="fence")
    _op(0x0A8, "S2R", "rd sreg", "", "sys", c, "read a special register", variable=True)
    _op(0x0A9, "CS2R", "rd:s sreg", "srw", "alu", c, "read a special register at fixed latency")
    # -- from the papers
    _op(
        0x0C0, "BAR.ALLOC", "rd b", "", "bar", t, "allocate shared memory for the block, with a barrier",
        variable=True, control="alloc",
    )  # fmt: skip
    _op(
        0x0C1, "BAR.FREE", "ra", "", "bar", t, "free what BAR.ALLOC gave, with a barrier",
        variable=True, control="free",
    )  # fmt: skip
    _op(0x0C2, "RELSSP", "", "", "bar", t, "release the shared part of scratchpad", variable=True, control="relssp")


def _check_no_overlap() -> None:
    """Assert that no opcode uses two overlapping fields in one form."""
    for spec in OPCODES.values():
        for form in spec.forms:
            for flags in range(4):
                used = 0
                f = {"limm": flags & 1, "cimm": flags >> 1}
                for name in (*spec.fields_for(form, f), *CONTROL_FIELDS):
                    assert not used & FIELDS[name].mask, (spec.name, form, name)
                    used |= FIELDS[name].mask


_define_arithmetic()
_define_rest()
_check_no_overlap()

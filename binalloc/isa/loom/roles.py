"""The types of Loom's operands, and how they enter the results, are given here (`interface.roles`).

The table below has a row per operation: the result's type, then its operands by name, each with a type and a way. "s"
in place of a type is an integer whose sign a modifier gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from binalloc.isa.instruction import Instr
from binalloc.isa.interface.roles import Fetch, Number, ReadOperand, Roles, Way
from binalloc.isa.interface.view import ConstantRead, Ref
from binalloc.isa.kinds import Access, Space
from binalloc.isa.loom.view import constant_reads, view
from binalloc.isa.table.opcodes import (
    ATOMIC_OPS,
    ATOMIC_TYPES,
    FORM_IMM,
    HTYPES,
    ICMPS,
    ITYPES,
    MODIFIERS,
    MUFU_FUNCS,
    TEXTURE_DIMENSIONS,
    TEXTURE_LAYERS,
    UNITS,
    WIDTHS,
    operand_fields,
)

_N, _W = Number, Way
_NUMBERS = {
    ".": _N.BITS, "i": _N.INTEGER, "m": _N.MASK, "-": _N.SIGNED, "+": _N.UNSIGNED, "f": _N.FLOAT,
    "h": _N.HALF, "t": _N.HANDLE,
}  # fmt: skip
"""Types of operands by their mark in the table."""
_WAYS = {"=": _W.WHOLE, "+": _W.SUM, "*": _W.FACTOR, "~": _W.PART, "/": _W.NONE}
"""Ways of operands by their mark in the table."""
_TABLE = {
    "IADD3": "i ra:i+ b:i+ c:i+", "IMAD": "i ra:i* b:i* c:i+", "IMAD.WIDE": "i ra:s* b:s* c:i+",
    "IMAD.HI": "i ra:s~ b:s~ c:i+", "LEA": "i ra:i~ b:i+", "LEA.HI": "i ra:i~ b:i+ c:i~", "SHF": "i ra:s~ b:i~ c:s~",
    "LOP3": "m ra:m~ b:m~ c:m~", "IMNMX": "i ra:s= b:s=", "ISETP": "i ra:s/ b:s/", "POPC": "i b:i~", "FLO": "i b:i~",
    "BREV": "i b:i~", "PRMT": ". ra:.~ b:i~ c:.~", "SEL": ". ra:.= b:.=", "MOV": ". b:.=", "IABS": "i b:-~",
    "FADD": "f ra:f~ b:f~", "FMUL": "f ra:f~ b:f~", "FFMA": "f ra:f~ b:f~ c:f~", "FMNMX": "f ra:f= b:f=",
    "FSETP": "f ra:f/ b:f/", "MUFU": "f b:f~",
    "DADD": "f ra:f~ b:f~", "DMUL": "f ra:f~ b:f~", "DFMA": "f ra:f~ b:f~ c:f~", "DMNMX": "f ra:f= b:f=",
    "DSETP": "f ra:f/ b:f/",
    "HADD2": "h ra:h~ b:h~", "HMUL2": "h ra:h~ b:h~", "HFMA2": "h ra:h~ b:h~ c:h~", "HMNMX2": "h ra:h= b:h=",
    "HSETP2": "h ra:h/ b:h/",
    "I2F": "f b:s~", "F2I": "s b:f~", "F2F": "f b:f~", "FRND": "f b:f~", "F2H": "h b:f~", "F2H2": "h ra:f~ b:f~",
    "H2F": "f b:h~", "I2H": "h b:s~", "P2R": "i ra:i~", "R2P": "i ra:i~", "SHFL": ". ra:.= lane:i~ clamp:i~",
    "MATCH": "i ra:.~", "VOTE": "i", "TEX": ". ra:f~ rb:t~ rc:f~",
    "TXQ": "i ra:t~", "SUADDR": ". ra:-~ rb:t~ rc:-~",
}  # fmt: skip
"""By operation: result, then operand:type-and-way. The operands of other operations are bits that enter in some way."""
_ROWS = {name: text.split() for name, text in _TABLE.items()}
_SHIFTS = MODIFIERS["dir"].values
_WORD_BITS = 31  # of a shift count: the bits that count for a word
_EQUAL = frozenset((ICMPS.index("EQ"), ICMPS.index("NE")))  # comparisons for which signs do not matter


def roles(instr: Instr) -> Roles:
    """Return the roles of an instruction's operands."""
    op, f = instr.op, instr.f
    if op.access is not None and op.space != Space.TEXTURE:
        return _of_access(instr)
    result, *operands = _ROWS.get(op.name, ["."])
    sign = _sign(op.name, f)
    half = _N.BFLOAT if f.get("hfmt") == HTYPES.index("BF16") else _N.HALF
    taken: list[ReadOperand] = []
    carries = bool(f.get("x") or f.get("ex"))
    for text in operands:
        name, kind = text.split(":")
        number = sign if kind[0] == "s" else half if kind[0] == "h" else _NUMBERS[kind[0]]
        way = _WAYS[kind[1]]
        if op.name == "LEA" and name == "ra" and not f["shift"]:
            way = _W.SUM
        wide = carries or instr.op.operand[name].width(f) > 1
        times = _times(instr, name)
        taken += [ReadOperand(what, number, way, wide, times) for what in _operand(instr, name)]
    written = sign if result == "s" else half if result == "h" else _NUMBERS[result]
    fetch = _fetch(f) if op.space == Space.TEXTURE else _element(f) if "ssize" in f else None
    if fetch is not None and fetch.whole:
        taken = [t if t.number == _N.HANDLE else ReadOperand(t.what, _N.SIGNED, t.way) for t in taken]
    if op.name == "PRMT" and _extends(instr):
        taken = [ReadOperand(t.what, _N.NARROW, t.way) for t in taken]
    if op.name == "MUFU" and MUFU_FUNCS[f["func"]].endswith("64H"):
        taken, written = [ReadOperand(t.what, _N.BITS, t.way) for t in taken], _N.BITS
    return Roles(written, tuple(taken), compares=op.name == "ISETP", fetch=fetch)


def _times(instr: Instr, name: str) -> int:
    """Return the constant factor of the operand in a sum of words; 0 where the instruction does not hold it as a
    constant."""
    f, op = instr.f, instr.op.name
    if f.get("x"):
        return 0  # of a higher word of the sum
    sign = -1 if f.get(f"neg{name.removeprefix('r')}") else 1
    immediate = f["imm"] if instr.form == FORM_IMM else 0
    match op:
        case "IADD3":
            return sign
        case "MOV":
            return 1
        case "IMAD" | "IMAD.WIDE":
            return sign if name == "c" else immediate if name == "ra" else 0
        case "LEA":
            return sign << f["shift"] if name == "ra" else 1
        case "SHF":
            left = _SHIFTS[f["dir"]] == "L" and not f["hi"]
            return 1 << (immediate & _WORD_BITS) if left and instr.form == FORM_IMM and name == "ra" else 0
    return 0


def _extends(instr: Instr) -> bool:
    """Return whether a permutation copies a sign: a nibble of its selector has the bit for that."""
    plain = instr.form == FORM_IMM and not instr.f["prmt"]
    return plain and any(instr.f["imm"] >> nibble & 8 for nibble in (0, 4, 8, 12))


def _sign(name: str, f: Mapping[str, int]) -> Number:
    """Return the integer type of the operands, by the modifier for their sign."""
    if name == "ISETP":
        return _N.INTEGER if f["icmp"] in _EQUAL else _N.UNSIGNED if f["u32cmp"] else _N.SIGNED
    if "ityp" in f:
        return _N.SIGNED if ITYPES[f["ityp"]].startswith("S") else _N.UNSIGNED
    if name == "SHF":
        left = _SHIFTS[f["dir"]] == "L"
        return _N.INTEGER if left else _N.SIGNED if f["stype"] & 1 else _N.MASK
    if "u32" in f:
        return _N.UNSIGNED if f["u32"] else _N.SIGNED
    return _N.INTEGER


def _operand(instr: Instr, name: str) -> Iterator[Ref | ConstantRead | int]:
    """Return the register, constant or immediate of an operand; nothing for registers that are zero."""
    o = instr.op.operand[name]
    flags = {"limm": instr.f.get("limm", 0), "cimm": instr.f.get("cimm", 0)}
    fields = operand_fields(o, instr.form, flags)
    if "coff" in fields:
        yield from constant_reads(instr)
    elif "imm" in fields:
        yield instr.f["imm"]
    yield from (ref for ref in view(instr).uses if ref.field in fields)


def _of_access(instr: Instr) -> Roles:
    """Return the roles of the operands of a memory access."""
    seen, f = view(instr), instr.f
    memory = seen.memory
    assert memory is not None
    constant = memory.space == Space.CONST
    taken: list[ReadOperand] = []
    if constant:
        taken = [ReadOperand(c, _N.BITS, _W.NONE if c.indexed else _W.WHOLE) for c in constant_reads(instr)]
    data = _moved(f)
    moved = memory.data(seen.uses)
    if memory.base is not None:
        taken.append(ReadOperand(memory.base, _N.INTEGER, _W.NONE))
    taken += [ReadOperand(ref, data, _W.NONE, "atyp" in f and ref.units > 1) for ref in moved]
    writes = memory.access == Access.STORE
    return Roles(_N.BITS if writes else data, tuple(taken), data=data)


def _moved(f: Mapping[str, int]) -> Number:
    """Return the type of the words that an access moves."""
    if "atyp" in f:
        kind, what = ATOMIC_TYPES[f["atyp"]], ATOMIC_OPS[f["aop"]]
        if kind in ("F32", "F64"):
            return _N.FLOAT
        if kind in ("F16X2", "BF16X2"):
            return _N.HALF if kind == "F16X2" else _N.BFLOAT
        if what in ("EXCH", "CAS"):
            return _N.BITS
        if kind.startswith("S"):
            return _N.SIGNED
        return _N.UNSIGNED if what in ("MIN", "MAX", "INC", "DEC") else _N.INTEGER
    width = WIDTHS[f["width"]] if "width" in f else ""
    if width.startswith(("U", "S")):
        return _N.SIGNED if width.startswith("S") else _N.BITS
    return _N.BITS


def _element(f: Mapping[str, int]) -> Fetch:
    """Return the geometry of an access to a surface."""
    return Fetch(1 + f["tdim"] % len(TEXTURE_DIMENSIONS), _layers(f), True, 0, 1 << f["ssize"])


def _layers(f: Mapping[str, int]) -> str:
    """Return the kind of layers, as a launch file names it."""
    return {"": "none", "A": "array", "CUBE": "cube"}[TEXTURE_LAYERS[f["tlay"]]]


def _fetch(f: Mapping[str, int]) -> Fetch:
    """Return the geometry of a texture fetch."""
    channels = UNITS["ch"][1]
    return Fetch(
        1 + f["tdim"] % len(TEXTURE_DIMENSIONS), _layers(f), bool(f["tcoord"]), channels[f["tchan"] % len(channels)],
        level=bool(f["tlod"]),
    )  # fmt: skip

"""This module converts between a section's bytes and instructions fast: NumPy handles all words of one shape at once.

Derived from the same table as the `construct` word (`word.py`), which defines the encoding; a property test compares
the two. Every instruction from `decode_words` is valid by `rules.py`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from binalloc.errors import MalformedInput
from binalloc.isa.instruction import Control, Instr
from binalloc.isa.table.fields import CONTROL_FIELDS, FIELDS, WORD_BYTES
from binalloc.isa.table.opcodes import OPCODES
from binalloc.isa.table.rules import (
    Shape,
    check_fields,
    constant_step,
    explain,
    idle_point,
    misaligned,
    no_scoreboard,
    shape,
    shape_of,
    units_of,
)

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
_LOW = (1 << 64) - 1  # mask of the lower half of a word


def decode_words(data: bytes, *, where: str = "", file: str | None = None) -> list[Instr]:
    """Decode a section of little-endian 128-bit words.

    Args:
        data: the section's bytes, a multiple of 16.
        where: name of the section, for messages.
        file: path of the file, for messages.

    Raises:
        MalformedInput: for the first word that the ISA forbids, naming its offset, field, value and the remedy.
    """
    lo, hi = _halves(data, where, file)
    out: list[Instr] = [None] * len(lo)  # type: ignore[list-item]
    bad = len(lo)
    every = _Columns(lo, hi)
    control = (hi >> np.uint64(FIELDS["stall"].lo - 64)) & np.uint64((1 << 21) - 1)
    guards = every["guard"] | every["guardn"] << 3
    opcode = every["opcode"]
    for code in np.flatnonzero(np.bincount(opcode)).tolist():
        rows = np.nonzero(opcode == code)[0]
        if code not in OPCODES:
            bad = min(bad, int(rows[0]))
            continue
        for s, part in _split(code, rows, every):
            if s is None:
                bad = min(bad, int(part[0]))
                continue
            cols = {name: every[name][part] for name in s.fields}
            wrong = _wrong(s, cols, lo[part], hi[part])
            if wrong.any():
                bad = min(bad, int(part[int(np.argmax(wrong))]))
                continue
            _emit(out, s, part, cols, guards[part], control[part])
    if bad < len(lo):
        _refuse(int(lo[bad]) | int(hi[bad]) << 64, bad, where, file)
    return out


def _refuse(word: int, index: int, where: str, file: str | None) -> None:
    """Raise MalformedInput for a word that breaks a rule. index: its place in the section."""
    problem = explain(word)
    assert problem is not None, f"bulk path refuses {word:#034x}, which the rules allow"
    place = f"word {index} (offset {index * WORD_BYTES:#x}), field {problem.field}"
    raise MalformedInput(
        problem.message,
        file=file,
        place=f"{where}: {place}" if where else place,
        found=problem.found,
        expected=problem.expected,
        remedy=problem.remedy,
    )


def _halves(data: bytes, where: str, file: str | None) -> tuple[U64, U64]:
    """Return the lower and the upper halves of all words."""
    if len(data) % WORD_BYTES:
        raise MalformedInput(
            "code is not a whole number of instructions",
            file=file,
            place=where or None,
            found=f"{len(data)} bytes",
            expected=f"a multiple of {WORD_BYTES}",
            remedy="The file is truncated or damaged.",
        )
    words = np.frombuffer(data, dtype="<u8").reshape(-1, 2)
    return np.ascontiguousarray(words[:, 0]), np.ascontiguousarray(words[:, 1])


def _column(name: str, lo: U64, hi: U64) -> I64:
    """Return the values of one field in all words. No field crosses bit 64 (asserted below)."""
    field = FIELDS[name]
    half, at = (hi, field.lo - 64) if field.lo >= 64 else (lo, field.lo)
    column = ((half >> np.uint64(at)) & np.uint64((1 << field.width) - 1)).astype(np.int64)
    if field.signed:
        column -= (column >> (field.width - 1)) << field.width
    return column


assert all(f.lo // 64 == (f.lo + f.width - 1) // 64 for f in FIELDS.values())


class _Columns(dict[str, I64]):
    """The columns of a section have the values of each field in all words, by the field's name. Each column is
    extracted at its first use."""

    def __init__(self, lo: U64, hi: U64) -> None:
        super().__init__()
        self.lo = lo
        self.hi = hi

    def __missing__(self, name: str) -> I64:
        column = self[name] = _column(name, self.lo, self.hi)
        return column


def _split(
    code: int, rows: npt.NDArray[np.intp], every: _Columns
) -> list[tuple[Shape | None, npt.NDArray[np.intp]]]:
    """Return the rows of one opcode, by shape; None is the shape of a form that the opcode does not have."""
    op = OPCODES[code]
    if op.has_form:
        key = every["form"][rows]
    elif "lane" in op.operand:
        key = (every["limm"] | every["cimm"] << 1)[rows]
    else:
        return [(shape(code), rows)]
    out: list[tuple[Shape | None, npt.NDArray[np.intp]]] = []
    for k in np.flatnonzero(np.bincount(key)).tolist():
        if op.has_form:
            s = shape(code, k) if k in op.forms else None
        else:
            s = shape(code, 0, k)
        out.append((s, rows[key == k]))
    return out


def _wrong(s: Shape, cols: dict[str, I64], lo: U64, hi: U64) -> npt.NDArray[np.bool_]:
    """Return which rows break a rule of `rules.explain`."""
    wrong: npt.NDArray[np.bool_] = (lo & np.uint64(~s.mask & _LOW)) != 0
    wrong |= (hi & np.uint64((~s.mask >> 64) & _LOW)) != 0
    for name, count in s.limits:
        wrong |= cols[name] >= count
    for name, width in s.registers:
        wrong |= misaligned(cols[name], units_of(width, cols, _entries))
    if "coff" in cols:
        wrong |= cols["coff"] % constant_step(s, cols, _entries) != 0
    wrong |= idle_point(cols)
    wrong |= no_scoreboard(_column("wbar", lo, hi)) | no_scoreboard(_column("rbar", lo, hi))
    return wrong


def _entries(table: tuple[int, ...], indices: I64) -> I64:
    """Return entries of a modifier's table. Indices beyond it are clipped: the field's own limit refuses them."""
    found: I64 = np.take(np.array(table), indices, mode="clip")
    return found


@lru_cache(maxsize=65536)
def control_from_bits(bits: int) -> Control:
    """Return the control code in the 21 bits from bit 105."""
    base = FIELDS["stall"].lo
    return Control(*((bits >> FIELDS[n].lo - base) & ((1 << FIELDS[n].width) - 1) for n in CONTROL_FIELDS))


def _emit(
    out: list[Instr], s: Shape, rows: npt.NDArray[np.intp], cols: dict[str, I64], guards: I64, control: U64
) -> None:
    """Put the instructions of one shape into `out`. rows: their places. cols: their fields."""
    op, names = s.op, s.fields
    if names:
        table = np.stack([cols[n] for n in names], axis=1).tolist()
    else:
        table = [[]] * len(rows)
    for i, values, guard, bits in zip(rows.tolist(), table, guards.tolist(), control.tolist(), strict=True):
        out[i] = Instr(op, dict(zip(names, values, strict=True)), guard & 7, guard > 7, control_from_bits(bits))


def encode_words(instrs: list[Instr], *, where: str = "", file: str | None = None) -> bytes:
    """Return the bytes of a list of instructions, 16 per instruction. where, file: as in `decode_words`.

    Raises MalformedInput for the first instruction with a missing, foreign, oversized or forbidden field.
    """
    words = np.zeros((len(instrs), 2), dtype=np.uint64)
    groups: dict[tuple[int, int, int], list[int]] = {}
    for i, ins in enumerate(instrs):
        f = ins.f
        flags = (f.get("limm", 0) | f.get("cimm", 0) << 1) & 3
        groups.setdefault((ins.op.code, f.get("form", 0), flags), []).append(i)
    for (code, form, flags), rows in groups.items():
        s = shape(code, form, flags)
        group = [instrs[i] for i in rows]
        if form not in s.op.forms or any(len(ins.f) != len(s.fields) for ins in group):
            _refuse_encoding(instrs, rows, where, file)
        encoded = _encode_group(group, s) if len(rows) >= FEW else _encode_each(group, s)
        if encoded is None:
            _refuse_encoding(instrs, rows, where, file)
        else:
            words[rows] = encoded
    return words.astype("<u8").tobytes()


FEW = 16  # words of one shape from which on NumPy is faster than a loop over their fields


def _encode_each(group: list[Instr], s: Shape) -> U64 | None:
    """Return the same as `_encode_group`, word by word."""
    if any(map(encoding_problem, group)):
        return None
    return np.array([_encode_one(ins, s) for ins in group], dtype=np.uint64)


def _encode_one(ins: Instr, s: Shape) -> tuple[int, int]:
    """Return both halves of the word of an instruction that breaks no rule."""
    word = ins.op.code | ins.guard << FIELDS["guard"].lo | ins.guard_neg << FIELDS["guardn"].lo
    for name, value in zip(CONTROL_FIELDS, ins.ctrl, strict=True):
        word |= value << FIELDS[name].lo
    for name in s.fields:
        field = FIELDS[name]
        word |= (ins.f[name] & ((1 << field.width) - 1)) << field.lo
    return word & _LOW, word >> 64


def _encode_group(group: list[Instr], s: Shape) -> U64 | None:
    """Return the words of instructions of one shape, uint64 [n, 2]; None if one of them breaks a rule."""
    lo = np.full(len(group), s.op.code, dtype=np.uint64)
    hi = np.zeros(len(group), dtype=np.uint64)
    columns = [("guard", [ins.guard for ins in group]), ("guardn", [int(ins.guard_neg) for ins in group])]
    ctrl = list(zip(*(ins.ctrl for ins in group), strict=True))
    columns += [(name, list(ctrl[k])) for k, name in enumerate(CONTROL_FIELDS)]
    try:
        columns += [(name, [ins.f[name] for ins in group]) for name in s.fields]
    except KeyError:
        return None
    for name, values in columns:
        field = FIELDS[name]
        if min(values) < field.minimum or max(values) > field.maximum:
            return None
        column = np.array(values, dtype=np.int64) & ((1 << field.width) - 1)
        half, at = (hi, field.lo - 64) if field.lo >= 64 else (lo, field.lo)
        half |= column.astype(np.uint64) << np.uint64(at)
    cols = {name: _column(name, lo, hi) for name in s.fields}
    return None if _wrong(s, cols, lo, hi).any() else np.stack([lo, hi], axis=1)


def encoding_problem(ins: Instr) -> str | None:
    """Return the reason why `ins` cannot be encoded, as one sentence, or None."""
    f = ins.f
    form = f.get("form", 0)
    if form not in ins.op.forms:
        return f"{ins.op.name} has no form {form}"
    s = shape_of(ins.op, f)
    if set(f) != set(s.fields):
        missing, extra = sorted(set(s.fields) - set(f)), sorted(set(f) - set(s.fields))
        return f"{ins.op.name}: fields missing {missing}, foreign {extra}"
    values = {**f, "guard": ins.guard, "guardn": int(ins.guard_neg), **dict(zip(CONTROL_FIELDS, ins.ctrl, strict=True))}
    for name, value in values.items():
        if not FIELDS[name].minimum <= value <= FIELDS[name].maximum:
            return f"{ins.op.name}: field {name} = {value} does not fit {FIELDS[name].width} bits"
    for name in ("wbar", "rbar"):
        if no_scoreboard(values[name]):
            return f"{ins.op.name}: {name} = {values[name]} names no scoreboard"
    problem = check_fields(s, f)
    return f"{problem.message}: {problem.field} = {problem.found}, expected {problem.expected}" if problem else None


def _refuse_encoding(instrs: list[Instr], rows: list[int], where: str, file: str | None) -> None:
    """Raise MalformedInput for the first instruction of `rows` that cannot be encoded."""
    for i in rows:
        problem = encoding_problem(instrs[i])
        if problem:
            place = f"{where}: word {i}" if where else f"word {i}"
            raise MalformedInput(f"cannot encode: {problem}", file=file, place=place)
    raise AssertionError("bulk encoder refuses what the rules allow")

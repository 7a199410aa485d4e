"""The 128-bit word is defined here with `construct`, from the same table: the bulk path is tested against this
definition.

There is one declarative bit structure per shape (opcode, form, immediate flags). Bits of no field are constants of
zero, and reserved values are refused. It is slow (thousands of words a second); `bulk.py` is the path for whole
sections.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from construct import (
    BitsInteger,
    BitStruct,
    Bytes,
    ByteSwapped,
    Check,
    Const,
    ConstructError,
    ExprValidator,
    Struct,
    obj_,
)

from binalloc.errors import MalformedInput
from binalloc.isa.instruction import Control, Instr
from binalloc.isa.table.fields import COMMON_FIELDS, CONTROL_FIELDS, FIELDS, WORD_BITS, WORD_BYTES
from binalloc.isa.table.opcodes import OPCODES
from binalloc.isa.table.rules import check_fields, no_scoreboard, shape, shape_of

_SCOREBOARDS = ("wbar", "rbar")  # fields that hold a scoreboard's number, or the one for none


def _bits(names: tuple[str, ...], limits: dict[str, int]) -> Any:
    """Return a bit structure of the fields `names`, most significant first, with zero constants in the gaps. limits:
    number of valid values, by field."""
    parts = []
    at = WORD_BITS
    for name in sorted(names, key=lambda n: -FIELDS[n].lo):
        field = FIELDS[name]
        top = field.lo + field.width
        if top < at:
            parts.append(Const(0, BitsInteger(at - top)))
        value: Any = BitsInteger(field.width, signed=field.signed)
        if name in limits:
            value = ExprValidator(value, obj_ < limits[name])
        elif name in _SCOREBOARDS:
            value = ExprValidator(value, lambda number, _: not no_scoreboard(number))
        parts.append(name / value)
        at = field.lo
    assert at == 0, "the opcode field starts at bit 0"
    return ByteSwapped(BitStruct(*parts))


# The opcode lies at the same place in every word; it is read first to choose the shape.
_HEAD = ByteSwapped(
    BitStruct(
        "rest" / BitsInteger(WORD_BITS - 12),
        "opcode" / BitsInteger(12),
    )
)


@cache
def word_struct(code: int, form: int = 0, flags: int = 0) -> Any:
    """Return the construct of one shape: 16 bytes <-> a container of its fields. Raises KeyError for an unknown
    opcode."""
    s = shape(code, form, flags)
    names = (*s.fields, *COMMON_FIELDS, *CONTROL_FIELDS)
    return Struct(
        "bits" / _bits(names, dict(s.limits)),
        Check(lambda this: check_fields(s, this.bits) is None),
    )


def parse_word(data: bytes) -> Instr:
    """Return one instruction from 16 bytes. Raises MalformedInput for everything that the ISA forbids."""
    try:
        raw = int.from_bytes(Bytes(WORD_BYTES).parse(data), "little")
        code = _HEAD.parse(data).opcode
        if code not in OPCODES:
            raise MalformedInput("unknown opcode", found=f"{code:#05x}")
        op = OPCODES[code]
        form = FIELDS["form"].extract(raw) if op.has_form else 0
        if form not in op.forms:
            raise MalformedInput(f"{op.name} has no such operand form", found=form)
        flags = 0
        if "lane" in op.operand:
            flags = FIELDS["limm"].extract(raw) | FIELDS["cimm"].extract(raw) << 1
        s = shape(code, form, flags)
        bits = word_struct(code, form, flags).parse(data).bits
    except ConstructError as error:
        raise MalformedInput(f"not a valid word: {str(error).splitlines()[-1]}", found=data.hex()) from error
    control = Control(*(bits[name] for name in CONTROL_FIELDS))
    return Instr(op, {name: bits[name] for name in s.fields}, bits.guard, bool(bits.guardn), control)


def build_word(ins: Instr) -> bytes:
    """Return the 16 bytes of one instruction. Raises MalformedInput where a field is missing, foreign or forbidden."""
    s = shape_of(ins.op, ins.f)
    bits = {
        **ins.f,
        "opcode": ins.op.code,
        "guard": ins.guard,
        "guardn": int(ins.guard_neg),
        **dict(zip(CONTROL_FIELDS, ins.ctrl, strict=True)),
    }
    if s.form not in s.op.forms or set(ins.f) != set(s.fields):
        raise MalformedInput(f"{ins.op.name}: fields do not fit form {s.form}", found=sorted(ins.f))
    try:
        data: bytes = word_struct(s.op.code, s.form, s.flags).build({"bits": bits})
    except (ConstructError, KeyError) as error:
        raise MalformedInput(f"cannot encode {ins.op.name}: {str(error).splitlines()[-1]}") from error
    return data

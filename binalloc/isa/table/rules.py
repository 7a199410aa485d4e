"""The rules of a well-formed word are here, with one `Shape` per opcode, operand form and immediate flags, derived from
the table.

Decoder, encoder, `construct` word and assembler all take their checks from here. Needs nothing but the table; holds no
state but a cache of shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from operator import getitem
from typing import Any, NamedTuple

from binalloc.isa.table.fields import COMMON_FIELDS, CONTROL_FIELDS, FIELDS, NO_BARRIER, RZ, SCOREBOARDS
from binalloc.isa.table.opcodes import (
    ATOMIC_OPS,
    FORM_C_CONST,
    FORM_C_IMM,
    FORM_CONST,
    FORM_NAMES,
    MODIFIERS,
    OPCODES,
    SPECIAL_REGISTERS,
    UNITS,
    WIDTH_BYTES,
    OpSpec,
)

Width = int | tuple[str, tuple[int, ...]]
"""The registers of an operand: their number, or a modifier field and the numbers by its value."""
Lookup = Callable[[tuple[int, ...], Any], Any]
"""A function that returns the entry of a table at an index, or the entries at an array of indices."""


class Violation(NamedTuple):
    """A violation is one thing wrong with a word."""

    field: str  #: the field, or bit, that is wrong
    message: str  #: one sentence
    found: str  #: its content
    expected: str  #: contents that are allowed
    remedy: str  #: what to do about it


@dataclass(frozen=True)
class Shape:
    """A shape is the layout of one opcode's word under one form and one setting of SHFL's immediate flags."""

    op: OpSpec
    form: int
    flags: int  #: limm | cimm << 1
    fields: tuple[str, ...]  #: operand, modifier and form fields in table order, without guard, opcode and control code
    mask: int  #: every bit in use, control code included
    limits: tuple[tuple[str, int], ...]  #: (field, number of valid values), where not all values of the field are valid
    registers: tuple[tuple[str, Width], ...]  #: (register field, width of its operand), where the width is not 1
    const_units: Width  #: width of the constant operand; 0 without one


@cache
def shape(code: int, form: int = 0, flags: int = 0) -> Shape:
    """Return the shape of opcode `code` in `form`, with `flags` = limm | cimm << 1; KeyError for an unknown opcode."""
    op = OPCODES[code]
    given = {"limm": flags & 1, "cimm": flags >> 1}
    names = tuple(n for n in op.fields_for(form, given) if n not in COMMON_FIELDS)
    mask = 0
    for name in (*names, *COMMON_FIELDS, *CONTROL_FIELDS):
        mask |= FIELDS[name].mask
    limits = [(n, len(MODIFIERS[n].values)) for n in names if n in MODIFIERS]
    if "sreg" in names:
        limits.append(("sreg", len(SPECIAL_REGISTERS)))
    if op.name == "RED":  # exchange and compare-and-swap make no sense without a result
        limits = [(n, ATOMIC_OPS.index("EXCH") if n == "aop" else count) for n, count in limits]
    limits = [(n, count) for n, count in limits if count <= FIELDS[n].maximum]
    const: Width = 0
    registers: list[tuple[str, Width]] = []
    for o in op.operands:
        width: Width = o.units if isinstance(o.units, int) else UNITS[o.units]
        field = o.name
        if o.name == "b":
            field = {0: "rb", FORM_C_IMM: "rc", FORM_C_CONST: "rc"}.get(form, "")
            const = width if form == FORM_CONST else const
        elif o.name == "c":
            field = "" if form in (FORM_C_IMM, FORM_C_CONST) else "rc"
            const = width if form == FORM_C_CONST else const
        elif o.name == "mem64":
            field, width = "ra", 2
        if field in ("rd", "ra", "rb", "rc") and width != 1:
            registers.append((field, width))
    return Shape(op, form, flags, names, mask, tuple(limits), tuple(registers), const)


def shape_of(op: OpSpec, f: Mapping[str, int]) -> Shape:
    """Return the shape of an instruction with fields `f`."""
    flags = (f["limm"] | f["cimm"] << 1) if "limm" in f else 0
    return shape(op.code, f.get("form", 0), flags)


def explain(word: int) -> Violation | None:
    """Return the first violation in the 128-bit `word`, or None. Slow and plain: the bulk path has found the word
    before."""
    code = FIELDS["opcode"].extract(word)
    op = OPCODES.get(code)
    if op is None:
        return Violation(
            "opcode", "unknown opcode", f"{code:#05x}", "an opcode of the table in ISA.md",
            "The file is damaged or of another ISA version.",
        )  # fmt: skip
    form = FIELDS["form"].extract(word) if op.has_form else 0
    if form not in op.forms:
        names = ", ".join(f"{i} ({FORM_NAMES[i]})" for i in op.forms)
        return Violation(
            "form", f"{op.name} has no such operand form", str(form), names, "Put the operand into a register first."
        )
    flags = 0
    if "lane" in op.operand:
        flags = FIELDS["limm"].extract(word) | FIELDS["cimm"].extract(word) << 1
    s = shape(code, form, flags)
    f = {name: FIELDS[name].extract(word) for name in s.fields}
    problem = check_fields(s, f)
    if problem:
        return problem
    for name in ("wbar", "rbar"):
        value = FIELDS[name].extract(word)
        if no_scoreboard(value):
            expected = f"0..{SCOREBOARDS - 1}, or {NO_BARRIER} for none"
            return Violation(name, "no such scoreboard", str(value), expected, "Reschedule the binary.")
    extra = word & ~s.mask
    if extra:
        bit = (extra & -extra).bit_length() - 1
        return Violation(
            f"bit {bit}", f"{op.name} does not use this bit in form {form}", "1", "0",
            "Unused bits must be zero; the file is damaged or of another ISA version.",
        )  # fmt: skip
    return None


# These rules take numbers or arrays: `check_fields` explains one word's violation, the bulk path finds the words.


def units_of(width: Width, f: Mapping[str, Any], look: Lookup = getitem) -> Any:
    """Return the number of registers of an operand of that width where the fields are `f`."""
    return width if isinstance(width, int) else look(width[1], f[width[0]])


def misaligned(register: Any, units: Any) -> Any:
    """Return whether an operand of `units` registers may not begin at `register`."""
    return (register != RZ) & ((register % units != 0) | (register + units > RZ))


def constant_step(s: Shape, f: Mapping[str, Any], look: Lookup = getitem) -> Any:
    """Return the alignment in bytes of the constant operand, if there is one at a known offset; otherwise 1."""
    if s.const_units:
        return 4 * units_of(s.const_units, f, look)
    if "cmem" in s.op.operand:
        return 1 + (f["ra"] == RZ) * (look(WIDTH_BYTES, f["width"]) - 1)
    return 1


def idle_point(f: Mapping[str, Any]) -> Any:
    """Return whether a branch that does not diverge names a reconvergence point."""
    return (f["diverges"] == 0) & (f["reconv"] != 0) if "diverges" in f else False


def no_scoreboard(number: Any) -> Any:
    """Return whether a number in a control code is neither that of a scoreboard nor the one for none."""
    return (number >= SCOREBOARDS) & (number != NO_BARRIER)


def check_fields(s: Shape, f: Mapping[str, int]) -> Violation | None:
    """Return a violation for the first operand or modifier field of `f` that `s` forbids although it fits its bits, or
    None."""
    for name, count in s.limits:
        if f[name] >= count:
            what = "special register" if name == "sreg" else f"value of modifier {name}"
            return Violation(name, f"{s.op.name}: reserved {what}", str(f[name]), f"0..{count - 1}", _RESERVED)
    for name, width in s.registers:
        units = units_of(width, f)
        r = f[name]
        if misaligned(r, units):
            kind = {2: "pair", 4: "quad"}[units]
            return Violation(
                name, f"{s.op.name}: misaligned register {kind}", f"R{r}",
                f"a multiple of {units} up to R{RZ - 1 - units - (RZ - 1 - units) % units}, or RZ",
                f"Operands of {units * 32} bits live in aligned register {kind}s.",
            )  # fmt: skip
    step = constant_step(s, f)
    if step > 1 and f["coff"] % step:
        return Violation(
            "coff", f"{s.op.name}: misaligned constant", f"{f['coff']:#x}", f"a multiple of {step}",
            "Constants lie at multiples of their size.",
        )  # fmt: skip
    if idle_point(f):
        return Violation(
            "reconv", "reconvergence point of a branch that does not diverge", str(f["reconv"]), "0",
            "Unused fields must be zero.",
        )  # fmt: skip
    return None


_RESERVED = "The file is damaged or of another ISA version."

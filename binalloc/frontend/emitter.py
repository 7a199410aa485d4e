"""This module makes virtual Loom: one method, `emit`, makes every operation and legalises its operands.

An operand is a unit (an int: a virtual unit, or RZ), an `Imm` (a 32-bit pattern; for an f64 operand its high word) or a
`BankConst` (a place in a constant bank). Where the operation has no form for an operand, a and b are exchanged if it
commutes. Otherwise the value is moved to a fresh unit by MOV. The optimiser folds constants back into later uses, so
lowering need not avoid such moves.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.frontend.ir import PT, RZ, Registers, RoutineBlock, VirtualNode
from binalloc.isa.instruction import Instr, default_fields
from binalloc.isa.kinds import Space
from binalloc.isa.table.opcodes import (
    BY_NAME,
    FORM_C_CONST,
    FORM_C_IMM,
    FORM_CONST,
    FORM_IMM,
    FORM_REG,
    MODIFIERS,
    OpSpec,
)

MASK = 0xFFFFFFFF  # the bits of a 32-bit word
_SIGN = 0x80000000  # the sign bit of a 32-bit word
COMMUTATIVE = frozenset(
    ("IADD3", "IMAD", "IMAD.WIDE", "IMAD.HI", "FADD", "FMUL", "FFMA", "DADD", "DMUL", "DFMA", "IMNMX", "FMNMX", "DMNMX",
     "HADD2", "HMUL2", "HFMA2", "HMNMX2")
)
"""In these operations a and b may be exchanged (with their negation and absolute bits)."""

FLOAT = frozenset(
    ("FADD", "FMUL", "FFMA", "FMNMX", "FSETP", "MUFU", "DADD", "DMUL", "DFMA", "DMNMX", "DSETP", "F2I", "F2F", "FRND",
     "HADD2", "HMUL2", "HFMA2", "HMNMX2", "HSETP2", "F2H", "F2H2")
)
"""These operations take floating-point operands. Their immediates are negated by the sign bit. The pattern of an f64
immediate is its high word."""


@dataclass(frozen=True, slots=True)
class Imm:
    """An immediate operand is a 32-bit pattern."""

    bits: int  #: 0 .. 2^32-1


@dataclass(frozen=True, slots=True)
class BankConst:
    """A constant operand is the word (or pair of words) at a place in a constant bank."""

    bank: int
    offset: int  #: in bytes; a multiple of 4 (of 8 for pairs)


Source = int | Imm | BankConst  # an operand: a unit, an immediate, or a word of a constant bank
Guard = tuple[int, bool]  # a predicate and whether it is negated


def low_bits(value: int, bits: int) -> int:
    """Return a constant of 64 bits in a type of `bits` bits: itself where it fits, else its low bits, as in ptxas."""
    return value if -(1 << bits) < value < 1 << bits else value & (1 << bits) - 1


def imm(value: int) -> Imm:
    """Return the immediate of an integer, modulo 2^32."""
    return Imm(value & MASK)


_templates: dict[tuple[object, ...], dict[str, int]] = {}  # the results of `template`, by its arguments
# Modifier -> its value in words -> its number.
_values: dict[str, dict[str, int]] = {
    name: {text: k for k, text in enumerate(m.values)} for name, m in MODIFIERS.items()
}


def template(op: OpSpec, form: int, limm: int = 0, cimm: int = 0) -> dict[str, int]:
    """Return all fields of `op` in `form` at their defaults. The dict is shared: copy it before you change it."""
    key = (op.code, form, limm, cimm)
    found = _templates.get(key)
    if found is None:
        given = {"form": form} if op.has_form else {}
        if "lane" in op.operand:
            given |= {"limm": limm, "cimm": cimm}
        found = default_fields(op, given)
        for name in ("limm", "cimm"):
            if name in found:
                found[name] = given[name]
        _templates[key] = found
    return found


class Emitter:
    """An emitter makes nodes and appends them to the blocks of one routine. Each node gets the emitter's current
    `loc`."""

    def __init__(self, registers: Registers) -> None:
        self.registers = registers
        self.blocks: list[RoutineBlock] = []
        self.loc = -1
        #: the shared variables that the current instruction touches; accesses to shared memory get them
        self.touches: tuple[str, ...] = ()
        self._next = 0
        self.start(self.label())

    # -- blocks

    def label(self) -> int:
        """Return a fresh block number. A branch may name it before the block begins."""
        self._next += 1
        return self._next - 1

    def start(self, number: int, name: str = "") -> None:
        """Begin block `number` here. The block before falls through to it unless it has ended."""
        self.block = RoutineBlock(number, label=name)
        self.blocks.append(self.block)

    def branch(self, target: int, guard: Guard | None = None, *, uniform: bool = False) -> None:
        """Append BRA to block `target`, which ends the block, and begin a new one."""
        node = self.emit("BRA", guard=guard)
        node.target = target
        node.uniform = uniform
        self.start(self.label())

    # -- values

    def new(self, units: int = 1) -> int:
        return self.registers.new(units)

    def predicate(self) -> int:
        return self.registers.predicate()

    def move(self, target: int, source: Source, guard: Guard | None = None) -> None:
        """Append target = source for one unit."""
        self.emit("MOV", rd=target, b=source, guard=guard)

    def unit(self, source: Source) -> int:
        """Return `source` as a unit: itself, RZ for zero, else a fresh unit set by MOV."""
        if isinstance(source, int):
            return source
        if isinstance(source, Imm) and source.bits == 0:
            return RZ
        target = self.new()
        self.move(target, source)
        return target

    def pair(self, low: Source, high: Source) -> int:
        """Return a 64-bit value as the first unit of an aligned pair: `low` itself where low and high are one pair
        already."""
        if isinstance(low, int) and isinstance(high, int):
            if low == high == RZ:
                return RZ
            if low != RZ and high == low + 1:
                first, width = self.registers.group(low)
                if width > 1 and (low - first) % 2 == 0:
                    return low
        target = self.new(2)
        self.move(target, low)
        self.move(target + 1, high)
        return target

    # -- instructions

    def emit(
        self,
        name: str,
        *,
        rd: int | None = None,
        a: Source | None = None,
        b: Source | None = None,
        c: Source | None = None,
        guard: Guard | None = None,
        **fields: int | str,
    ) -> VirtualNode:
        """Append operation `name` and return its node.

        rd: destination unit. a, b, c: source operands (a is field ra, b and c as the operation's forms allow; rb of
        stores and rc of atomics are given as the fields rb=, rc=). fields: any other field by name; modifiers may be
        given by their text (rnd="RZ", width="64"). A predicate source is ps0=number, with ps0n=1 to negate it. Raises
        KeyError where the operation has no operand of that name: this is a defect of the caller.
        """
        op = BY_NAME[name]
        form = FORM_REG
        if name == "IADD3":  # -0 gives a carry, +0 does not: RZ has a sign bit, an immediate zero has not
            b, c = (RZ if source == Imm(0) else source for source in (b, c))
        if a is not None and not isinstance(a, int):
            a, b, fields = self._first(name, a, b, fields)
        if b is not None and not isinstance(b, int):
            if c is not None and not isinstance(c, int):
                c = self._register(op, "c", c, fields)
            form = FORM_IMM if isinstance(b, Imm) else FORM_CONST
        elif c is not None and not isinstance(c, int):
            form = FORM_C_IMM if isinstance(c, Imm) else FORM_C_CONST
            if form not in op.forms:
                c = self._register(op, "c", c, fields)
                form = FORM_REG
        f = dict(template(op, form, int(fields.get("limm", 0)), int(fields.get("cimm", 0))))
        if rd is not None:
            f["rd"] = rd
        if a is not None:
            f["ra"] = a
        if b is not None:
            self._operand(op, f, "b", b, "rc" if form in (FORM_C_IMM, FORM_C_CONST) else "rb", fields)
        if c is not None:
            self._operand(op, f, "c", c, "rc", fields)
        for key, value in fields.items():
            if key not in f:
                raise KeyError(f"{name} has no field {key} in form {form}")
            f[key] = _values[key][value] if isinstance(value, str) else value
        node = VirtualNode(Instr(op, f, *(guard or (PT, False))), self.loc)
        if op.space in (Space.SHARED, Space.GENERIC):
            node.touches = self.touches
        self.block.nodes.append(node)
        return node

    def _first(
        self, name: str, a: Source, b: Source | None, fields: dict[str, int | str]
    ) -> tuple[int, Source | None, dict[str, int | str]]:
        """Put operand a into a register: exchange a and b where that helps, else move a."""
        op = BY_NAME[name]
        if name in COMMUTATIVE and isinstance(b, int):
            out = dict(fields)
            for mark in ("neg", "abs"):
                for one, other in (("a", "b"), ("b", "a")):
                    out.pop(mark + other, None)
                    if fields.get(mark + one):
                        out[mark + other] = 1
            if "nega" not in op_fields(op) and out.pop("nega", 0):
                out["negb"] = 1 - int(out.get("negb", 0))  # FFMA, DFMA: a product has one sign
            return b, a, out
        return self._register(op, "a", a, fields), b, fields

    def _register(self, op: OpSpec, operand: str, source: Source, fields: dict[str, int | str]) -> int:
        """Move an operand that is not in registers to registers."""
        o = op.operand.get(operand) or op.operand.get("r" + operand)
        assert o is not None, (op.name, operand)
        if not isinstance(o.units, int):
            from binalloc.isa.table.opcodes import UNITS

            key, table = UNITS[o.units]
            value = fields.get(key, 0)
            units = table[_values[key][value] if isinstance(value, str) else value]
        else:
            units = o.units
        if units == 1:
            return self.unit(source)
        assert units == 2
        if isinstance(source, BankConst):
            return self.pair(source, BankConst(source.bank, source.offset + 4))
        assert isinstance(source, Imm)
        return self.pair(Imm(0), source) if op.name in FLOAT else self.pair(source, Imm(0))

    def _operand(
        self, op: OpSpec, f: dict[str, int], name: str, source: Source, field: str, fields: dict[str, int | str]
    ) -> None:
        if isinstance(source, int):
            f[field] = source
        elif isinstance(source, BankConst):
            f["cbank"], f["coff"] = source.bank, source.offset
        else:
            f["imm"] = self._signed(op, name, source.bits, fields)

    def _signed(self, op: OpSpec, name: str, bits: int, fields: dict[str, int | str]) -> int:
        """Return `signed` for an immediate. Immediates have no sign bits, so the marks are taken out of `fields`."""
        negative, absolute = int(fields.pop("neg" + name, 0)), int(fields.pop("abs" + name, 0))
        return signed(op, bits, bool(negative), bool(absolute), fields.get("x") in (1, "X"))


def signed(op: OpSpec, bits: int, negative: bool, absolute: bool, carries: bool) -> int:
    """Return the pattern of an immediate with its negation and absolute value applied. carries: the operation is an
    .X."""
    if op.name in FLOAT:
        signs = _SIGN >> 16 | _SIGN if op.group == "half" else _SIGN
        bits = bits & ~signs if absolute else bits
        return bits ^ signs if negative else bits
    if not negative:
        return bits
    return (~bits if carries else -bits) & MASK


def op_fields(op: OpSpec) -> frozenset[str]:
    """Return the names of the fields of `op` with all operands in registers."""
    return frozenset(template(op, FORM_REG))

"""Pebble's operations and its 64-bit word.

32 registers x0..x31 of 32 bits, of which x0 reads zero; three predicates. A guard is written 0 for always, else one
more than its predicate. Operands: `to` is written, `one` and `two` are read, `value` is a number of 16 signed bits; a
jump has its distance in `value` and its reconvergence point where other operations have their registers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from binalloc.isa.instruction import Control, Instr
from binalloc.isa.kinds import Access, Flow, Space
from binalloc.isa.table.opcodes import OpSpec

ZERO = 0
REGISTERS = 32
WORD_BYTES = 8
TRUE = 7
SPECIAL = ("lane", "first row", "row bytes")
BITS = {"to": 5, "one": 5, "two": 5, "value": 16, "mark": 2, "ours": 1}
JOIN_BITS = 15


@dataclass(frozen=True)
class Row(OpSpec):
    """writes, reads: registers, `x:3/4` for three, the first a multiple of 4. fields: all there are. to_flag: writes
    predicate `mark` - 1."""

    isa: str = "pebble"
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    to_flag: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        if self.control == "branch":
            return ("value", "join")
        return tuple(BITS)

    def distance(self, f: Mapping[str, int]) -> int:
        return f["value"]

    def reconvergence(self, f: Mapping[str, int]) -> int | None:
        return f["join"] or None


ROWS: dict[str, Row] = {}
GROUPS = ("eight", "three", "slide", "pick", "short", "grow")
"""Operations on groups of registers: wider and narrower than their alignment, overlapping and not."""


def shape(width: str) -> tuple[int, int]:
    """(registers, alignment) of an operand."""
    units, _, alignment = width.partition("/")
    return int(units or 1), int(alignment or 1)


def _row(
    name: str, writes: str, reads: str, unit: str = "alu", *, space: Space | None = None, access: Access | None = None,
    control: Flow = Flow.NONE, to_flag: bool = False,
) -> None:  # fmt: skip
    ROWS[name] = Row(
        len(ROWS) + 1, name, (), (), unit, "", "", unit in ("lsu", "sys"), space=space, access=access, control=control,
        writes=tuple(writes.split()), reads=tuple(reads.split()), to_flag=to_flag,
    )  # fmt: skip


_row("idle", "", "")
_row("put", "to", "one")
_row("lit", "to", "")
_row("add", "to", "one two")
_row("mul", "to", "one two", "imad")
_row("more", "to", "one")
_row("wide", "to:2/2", "one:2/2 two:2/2")
_row("less", "", "one two", to_flag=True)
_row("ask", "to", "", "sys")
for _place, _space in (("get", Space.GLOBAL), ("peek", Space.SHARED), ("fetch", Space.LOCAL)):
    _row(_place, "to", "one", "lsu", space=_space, access=Access.LOAD)
for _place, _space in (("give", Space.GLOBAL), ("poke", Space.SHARED), ("keep", Space.LOCAL)):
    _row(_place, "", "one two", "lsu", space=_space, access=Access.STORE)
_row("jump", "", "", "bru", control=Flow.BRANCH)
_row("call", "", "", "bru", control=Flow.CALL)
_row("back", "", "", "bru", control=Flow.RETURN)
_row("end", "", "", "bru", control=Flow.EXIT)
_row("flip", "to", "one two")
_row("eight", "to:8/8", "one:8/8 two")
_row("three", "to:3/4", "one:3/1 two:3/4")
_row("slide", "to:3/1", "one:2/1 two:2/1")
_row("pick", "to:1/4", "one:8/8 two:1/2")
_row("short", "to:2/1", "one:3/4 two:5/2")
_row("grow", "to:8/8", "one:3/1 two:2/2")
BY_CODE = {row.code: row for row in ROWS.values()}


def make(name: str, guard: tuple[int, bool] = (TRUE, False), **fields: int) -> Instr:
    row = ROWS[name]
    assert set(fields) <= set(row.names), fields
    return Instr(row, {**dict.fromkeys(row.names, 0), **fields}, *guard)


def encode(instr: Instr) -> int:
    """The word: operation, guard, operands, control code, from the lowest bit up."""
    row, f, c = instr.op, instr.f, instr.ctrl
    assert isinstance(row, Row)
    parts = [(row.code, 6), (0 if instr.guard == TRUE else instr.guard + 1, 2), (int(instr.guard_neg), 1)]
    if row.control == "branch":
        parts += [(f["value"], 16), (f["join"], JOIN_BITS), (0, 3)]
    else:
        parts += [(f[name], bits) for name, bits in BITS.items()]
    parts += [(c.stall, 4), (c.yield_, 1), (c.wbar, 3), (c.rbar, 3), (c.wait, 6)]
    word = at = 0
    for value, bits in parts:
        assert -(1 << bits - 1) <= value < 1 << bits, (row.name, value)
        word |= (value & (1 << bits) - 1) << at
        at += bits
    return word


def decode(word: int) -> Instr:
    def take(bits: int, signed: bool = False) -> int:
        nonlocal word
        value = word & (1 << bits) - 1
        word >>= bits
        return value - (1 << bits) if signed and value >> bits - 1 else value

    row, guard, negated = BY_CODE[take(6)], take(2), bool(take(1))
    if row.control == "branch":
        f = {"value": take(16, signed=True), "join": take(JOIN_BITS, signed=True)}
        take(3)
    else:
        f = {name: take(bits, signed=name == "value") for name, bits in BITS.items()}
    ctrl = Control(take(4), take(1), take(3), take(3), take(6))
    return Instr(row, f, guard - 1 if guard else TRUE, negated, ctrl)

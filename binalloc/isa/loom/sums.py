"""Loom's instructions whose results are sums of operands times constants are recognised here (`interface.sums`).

They are additions, multiplications by an immediate, shifts to the left by a constant, moves, loads of constants and
reads of special registers; of 64-bit results the low word alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from binalloc.isa.instruction import Instr
from binalloc.isa.interface.places import WORD
from binalloc.isa.interface.sums import Sum
from binalloc.isa.loom.recognise import special_register
from binalloc.isa.loom.view import constant_reads, view
from binalloc.isa.table.fields import RZ
from binalloc.isa.table.opcodes import FORM_IMM, MODIFIERS, WIDTHS, operand_fields

_LEFT = MODIFIERS["dir"].values.index("L")
_WORDS = {WIDTHS.index("32"): 1, WIDTHS.index("64"): 2, WIDTHS.index("128"): 4}
"""By the value of `width`: whole words that a load writes."""


def sums(instr: Instr) -> tuple[Sum, ...]:
    """Return the results of an instruction that are such sums, as far as the rules below know them."""
    rule = _RULES.get(instr.op.name)
    return rule(instr) if rule is not None and instr.f.get("rd", RZ) != RZ else ()


@dataclass
class _Terms:
    """A sum collects its constant and its terms here while it is built."""

    instr: Instr
    constant: int = 0
    uses: list[tuple[int, int]] = field(default_factory=list)  #: (position among the words of `View.uses`, factor)
    reads: list[tuple[int, int, int]] = field(default_factory=list)  #: (constant bank, byte offset, factor)

    def add(self, name: str, factor: int) -> None:
        """Add operand `name` times `factor`; of a pair, its low word."""
        f = self.instr.f
        fields = operand_fields(self.instr.op.operand[name], self.instr.form, None)
        if f.get("neg" + name[-1]) and "neg" + name[-1] in fields:
            factor = -factor
        if "imm" in fields:
            self.constant += factor * f["imm"]
        elif "coff" in fields:
            self.reads += [(read.bank, read.offset, factor) for read in constant_reads(self.instr)]
        else:
            at = 0
            for ref in view(self.instr).uses:
                if ref.field in fields:
                    self.uses.append((at, factor))
                at += ref.units

    def sum(self) -> tuple[Sum, ...]:
        """Return the sum as the instruction's first result."""
        return (Sum(0, self.constant, tuple(self.uses), tuple(self.reads)),)


def operand(instr: Instr, name: str) -> Sum:
    """Return one operand's word, of a pair the low one; its `result` means nothing."""
    terms = _Terms(instr)
    terms.add(name, 1)
    return Sum(-1, terms.constant, tuple(terms.uses), tuple(terms.reads))


def constant_operand(instr: Instr) -> int | None:
    """Return operand B where it is an immediate, or RZ, which is 0; else None."""
    if instr.form == FORM_IMM:
        return instr.f["imm"]
    return 0 if instr.f.get("rb") == RZ and "rb" in operand_fields(instr.op.operand["b"], instr.form, None) else None


def _move(instr: Instr) -> tuple[Sum, ...]:
    terms = _Terms(instr)
    terms.add("b", 1)
    return terms.sum()


def _add(instr: Instr) -> tuple[Sum, ...]:
    if instr.f["x"]:
        return ()
    terms = _Terms(instr)
    for name in ("ra", "b", "c"):
        terms.add(name, 1)
    return terms.sum()


def _multiply(instr: Instr) -> tuple[Sum, ...]:
    factor = constant_operand(instr)
    if factor is None:
        return ()
    terms = _Terms(instr)
    terms.add("ra", factor)
    terms.add("c", 1)
    return terms.sum()


def _scaled(instr: Instr) -> tuple[Sum, ...]:
    if instr.f["x"]:
        return ()
    terms = _Terms(instr)
    terms.add("ra", 1 << instr.f["shift"])
    terms.add("b", 1)
    return terms.sum()


def _shift(instr: Instr) -> tuple[Sum, ...]:
    count = constant_operand(instr)
    if count is None or instr.f["dir"] != _LEFT or instr.f["hi"] or not 0 <= count < 8 * WORD:
        return ()
    terms = _Terms(instr)
    terms.add("ra", 1 << count)
    return terms.sum()


def _load(instr: Instr) -> tuple[Sum, ...]:
    (read,) = constant_reads(instr)
    if read.indexed:
        return ()
    words = _WORDS.get(instr.f["width"], 0)
    return tuple(Sum(k, reads=((read.bank, read.offset + WORD * k, 1),)) for k in range(words))


def _special(instr: Instr) -> tuple[Sum, ...]:
    name = special_register(instr)
    if name is None or not view(instr).pure:
        return ()
    return (Sum(0, special=(name,)),)


_RULES: dict[str, Callable[[Instr], tuple[Sum, ...]]] = {
    "MOV": _move,
    "IADD3": _add,
    "IMAD": _multiply,
    "IMAD.WIDE": _multiply,
    "LEA": _scaled,
    "SHF": _shift,
    "LDC": _load,
    "S2R": _special,
    "CS2R": _special,
}
"""By operation: returns its sums; the result of any other is unknown."""

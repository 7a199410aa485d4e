"""Loom's integer instructions whose results are no sums are recognised here (`interface.formulas`)."""

from __future__ import annotations

from collections.abc import Callable

from binalloc.isa.instruction import Instr
from binalloc.isa.interface.formulas import Act, Formula, Order, Truth
from binalloc.isa.interface.places import WORD
from binalloc.isa.interface.sums import Sum
from binalloc.isa.loom.sums import constant_operand, operand
from binalloc.isa.loom.view import view
from binalloc.isa.table.fields import PT, RZ
from binalloc.isa.table.opcodes import ICMPS, MODIFIERS, WIDTHS

_BITS = 8 * WORD
_LEFT = MODIFIERS["dir"].values.index("L")
_SIGNED_SHIFT = frozenset(MODIFIERS["stype"].values.index(name) for name in ("S32", "S64"))
_NARROW = {"U8": (0, 0xFF), "S8": (-0x80, 0x7F), "U16": (0, 0xFFFF), "S16": (-0x8000, 0x7FFF)}
"""Least and greatest number of a load of less than a word, by width."""
_ORDERS = {
    "LT": Order.LESS, "LE": Order.LESS_EQUAL, "EQ": Order.EQUAL, "NE": Order.UNEQUAL, "GT": Order.GREATER,
    "GE": Order.GREATER_EQUAL,
}  # fmt: skip
_COMBINED = {"AND": 0b1000, "OR": 0b1110, "XOR": 0b0110}
"""Tables of a comparison (bit 1 of the index) with a predicate (bit 0), by `bop`."""
_SELECTED, _SIGNS = 0x7777, 0x8888
"""Bits of PRMT's selector that choose bytes, and those that choose copies of a byte's sign in its place."""
_OF_COMPLEMENT = (2, 3, 0, 1)  # index into such a table where the comparison is negated


def formulas(instr: Instr) -> tuple[Formula, ...]:
    """Return the results of an instruction that have such a form, as far as the rules below know them."""
    rule = _RULES.get(instr.op.name)
    return rule(instr) if rule is not None else ()


def _place(instr: Instr, name: str) -> int | None:
    """Return the position of field `name` among the words of the instruction's results; None where nothing keeps
    them."""
    at = 0
    for ref in view(instr).defs:
        if ref.field == name:
            return at
        at += ref.units
    return None


def _truth(instr: Instr, name: str) -> Truth:
    """Return the predicate operand in field `name`."""
    f, at = instr.f, 0
    negated = bool(f[f"{name}n"])
    if f[name] == PT:
        return Truth(None, negated)
    for ref in view(instr).uses:
        if ref.field == name:
            return Truth(at, negated)
        at += ref.units
    raise KeyError(name)


def _written(instr: Instr, act: Act, words: tuple[Sum, ...], **others: object) -> tuple[Formula, ...]:
    """Return the formula of the word in field `rd`."""
    place = _place(instr, "rd")
    return () if place is None else (Formula(place, act, words, **others),)  # type: ignore[arg-type]


def _table(instr: Instr) -> tuple[Formula, ...]:
    words = tuple(operand(instr, name) for name in ("ra", "b", "c"))
    return _written(instr, Act.TABLE, words, table=instr.f["lut"])


def _shift(instr: Instr) -> tuple[Formula, ...]:
    """A funnel shift is one of a single word where it gives the upper word, or where the upper word is zero."""
    f, count = instr.f, constant_operand(instr)
    if count is None or f["dir"] == _LEFT or not 0 <= count < _BITS:
        return ()
    signed = f["stype"] in _SIGNED_SHIFT
    if f["hi"]:
        source = "c"
    elif f.get("rc") == RZ:
        source, signed = "ra", False
    else:
        return ()
    act = Act.RIGHT_SIGNED if signed else Act.RIGHT
    return _written(instr, act, (operand(instr, source), Sum(-1, count)))


def _product(instr: Instr) -> tuple[Formula, ...]:
    return _written(instr, Act.PRODUCT, tuple(operand(instr, name) for name in ("ra", "b", "c")))


def _high(instr: Instr) -> tuple[Formula, ...]:
    if not instr.f["u32"]:
        return ()
    return _written(instr, Act.HIGH, tuple(operand(instr, name) for name in ("ra", "b", "c")))


def _bytes(instr: Instr) -> tuple[Formula, ...]:
    selector = constant_operand(instr)
    if selector is None or instr.f["prmt"] or selector & _SIGNS:
        return ()
    return _written(instr, Act.BYTES, (operand(instr, "ra"), operand(instr, "c")), table=selector & _SELECTED)


def _extreme(instr: Instr) -> tuple[Formula, ...]:
    f = instr.f
    if f["ps0"] != PT:
        return ()
    act = Act.GREATEST if f["ps0n"] else Act.LEAST
    return _written(instr, act, (operand(instr, "ra"), operand(instr, "b")), signed=not f["u32"])


def _select(instr: Instr) -> tuple[Formula, ...]:
    return _written(
        instr, Act.SELECT, (operand(instr, "ra"), operand(instr, "b")), truths=(_truth(instr, "ps0"),)
    )  # fmt: skip


def _compare(instr: Instr) -> tuple[Formula, ...]:
    f = instr.f
    order = _ORDERS.get(ICMPS[f["icmp"]])
    if f["ex"] or order is None:
        return ()
    words = (operand(instr, "ra"), operand(instr, "b"))
    table = _COMBINED[MODIFIERS["bop"].values[f["bop"]]]
    other = sum(1 << k for k, at in enumerate(_OF_COMPLEMENT) if table >> at & 1)
    found = []
    for name, combined in (("pd0", table), ("pd1", other)):
        place = _place(instr, name)
        if place is not None:
            truths = (_truth(instr, "ps0"),)
            found.append(Formula(place, Act.COMPARE, words, truths, not f["u32cmp"], order, combined))
    return tuple(found)


def _logic(instr: Instr) -> tuple[Formula, ...]:
    truths, found = tuple(_truth(instr, name) for name in ("ps0", "ps1", "ps2")), []
    for name, table in (("pd0", "lut_b"), ("pd1", "lut2")):
        place = _place(instr, name)
        if place is not None:
            found.append(Formula(place, Act.LOGIC, truths=truths, table=instr.f[table]))
    return tuple(found)


def _narrow(instr: Instr) -> tuple[Formula, ...]:
    bounds = _NARROW.get(WIDTHS[instr.f["width"]])
    return () if bounds is None else _written(instr, Act.BETWEEN, tuple(Sum(-1, bound) for bound in bounds))


def _few(greatest: int) -> Callable[[Instr], tuple[Formula, ...]]:
    return lambda instr: _written(instr, Act.BETWEEN, (Sum(-1, 0), Sum(-1, greatest)))


_RULES: dict[str, Callable[[Instr], tuple[Formula, ...]]] = {
    "LOP3": _table,
    "SHF": _shift,
    "IMAD": _product,
    "IMAD.WIDE": _product,
    "IMAD.HI": _high,
    "PRMT": _bytes,
    "IMNMX": _extreme,
    "SEL": _select,
    "ISETP": _compare,
    "PLOP3": _logic,
    "POPC": _few(_BITS),
    **dict.fromkeys(("LDG", "LDS", "LDL", "LDC", "LD"), _narrow),
}
"""By operation: returns its formulas; the result of any other is unknown."""

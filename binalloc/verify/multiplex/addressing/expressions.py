"""Addresses of the new kernel are expressions over the original's registers: this module computes with them.

Needs the expressions that a word reads; leaves those that it writes. An expression is the base that the block's
BAR.ALLOC gave, or 0, plus at most one register of the original, plus a number; or a choice between such expressions by
a comparison. It holds as long as the original's registers in it keep their values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from binalloc.isa.instruction import Instr
from binalloc.isa.interface.formulas import Act, Formula, Order
from binalloc.isa.interface.places import PRED_BASE, TRUE
from binalloc.isa.interface.sums import Sum
from binalloc.isa.interface.view import Guard
from binalloc.isa.sets.table import set_of
from binalloc.verify.multiplex.division import WORDS
from binalloc.verify.multiplex.memory import Range


@dataclass(frozen=True, slots=True)
class Place:
    """A place is an address: the block's base, if `based`, plus a register of the original, plus a number."""

    based: bool
    register: int | None
    number: int


@dataclass(frozen=True, slots=True)
class Below:
    """A test holds where an address is less than a number, both unsigned."""

    address: Place
    limit: int


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice is one expression where a test holds, else another one."""

    test: Below
    yes: Expression
    no: Expression


Expression = Place | Choice


@dataclass(frozen=True, slots=True)
class Under:
    """An expression that a guarded word wrote holds in the threads in which the guard, of the original, held."""

    predicate: int  #: its place
    negated: bool
    value: Place


Fact = Expression | Below | Under
"""What may be known of a place that inserted words write."""
Read = Callable[[int], "Expression | None"]
"""Returns the expression of a place that a word reads."""


def number(value: int) -> Place:
    return Place(False, None, value % WORDS)


def results(instr: Instr, uses: list[int], read: Read) -> dict[int, Expression | Below]:
    """Return what a word writes, by position, as far as it is such an expression. uses: the places that it reads."""
    isa = set_of(instr)
    found: dict[int, Expression | Below] = {}
    for s in isa.sums(instr):
        value = _sum(s, uses, read)
        if value is not None:
            found[s.result] = value
    for f in isa.formulas(instr):
        test = _below(f, uses, read)
        if test is not None:
            found[f.result] = test
    return found


def _below(f: Formula, uses: list[int], read: Read) -> Below | None:
    if f.act != Act.COMPARE or f.order != Order.LESS or f.signed or f.truths[0].use is not None:
        return None
    less, limit = (_sum(s, uses, read) for s in f.words)
    holds = 0 if f.truths[0].negated else 1
    as_is = (f.table >> holds & 1, f.table >> (2 + holds) & 1) == (0, 1)
    fixed = isinstance(limit, Place) and not limit.based and limit.register is None
    if as_is and fixed and isinstance(limit, Place) and isinstance(less, Place) and not less.based:
        return Below(less, limit.number)
    return None


def _sum(s: Sum, uses: list[int], read: Read) -> Expression | None:
    if s.reads or s.special:
        return None
    value: Expression | None = number(s.constant)
    for at, factor in s.uses:
        term = read(uses[at])
        if term is None or value is None or factor != 1:
            return None
        value = plus(value, term)
    return value


def guarded(
    guard: Guard | None, value: Expression | Below | None, test: object, old: Expression | None
) -> Fact | None:
    """Return what a place holds behind a word that writes `value`, if its guard holds. test: what is known of the
    guard's predicate. old: of the place."""
    if guard is None or value is None:
        return value
    if guard[0] == TRUE or isinstance(value, Below):
        return None
    if not isinstance(test, Below):
        return Under(PRED_BASE + guard[0], guard[1], value) if isinstance(value, Place) else None
    if old is None:
        return None
    return Choice(test, old, value) if guard[1] else Choice(test, value, old)


def under(value: object, guard: Guard | None) -> object:
    """Return what a value is in the threads in which a guard holds."""
    if isinstance(value, Under) and guard == (value.predicate - PRED_BASE, value.negated):
        return value.value
    return value


def plus(a: Expression, b: Expression) -> Expression | None:
    """Return the sum of two expressions, None where it has another form."""
    if isinstance(a, Choice):
        yes, no = plus(a.yes, b), plus(a.no, b)
        return None if yes is None or no is None else Choice(a.test, yes, no)
    if isinstance(b, Choice):
        return plus(b, a)
    if (a.based and b.based) or (a.register is not None and b.register is not None):
        return None
    register = a.register if b.register is None else b.register
    return Place(a.based or b.based, register, (a.number + b.number) % WORDS)


def registers(x: Fact) -> set[int | None]:
    """Return the places that an expression depends on."""
    if isinstance(x, Under):
        return {x.predicate, x.value.register}
    if isinstance(x, Place):
        return {x.register}
    if isinstance(x, Below):
        return {x.address.register}
    return registers(x.test) | registers(x.yes) | registers(x.no)


def based(x: Fact) -> bool:
    """Return whether an expression depends on the block's base."""
    if isinstance(x, Under):
        return x.value.based
    if isinstance(x, Place):
        return x.based
    if isinstance(x, Below):
        return x.address.based
    return based(x.yes) or based(x.no)


Case = tuple[str, Place, list[Range]]
"""What is wrong with a test, if anything, an address, and the original addresses with which it is chosen."""


def cases(x: Expression, ranges: list[Range], register: int | None, offset: int) -> list[Case]:
    """Return the cases of an expression. register, offset: of the original's address."""
    if isinstance(x, Place):
        return [("", x, ranges)]
    test = x.test.address
    if test.register != register or test.based:
        return [(str(x.test), Place(False, None, 0), [])]
    first = (offset - test.number) % WORDS
    last = first + x.test.limit - 1
    inside = [(first, min(last, WORDS - 1))] * (x.test.limit > 0) + [(0, last - WORDS)] * (last >= WORDS)
    outside = _without(inside)
    return [
        *cases(x.yes, _common(ranges, inside), register, offset),
        *cases(x.no, _common(ranges, outside), register, offset),
    ]


def _common(one: list[Range], other: list[Range]) -> list[Range]:
    pairs = ((max(a, c), min(b, d)) for a, b in one for c, d in other)
    return [(low, high) for low, high in pairs if low <= high]


def _without(ranges: list[Range]) -> list[Range]:
    """Return all addresses that are not in `ranges`."""
    found, at = [], 0
    for low, high in sorted(ranges):
        if at < low:
            found.append((at, low - 1))
        at = high + 1
    return [*found, (at, WORDS - 1)] if at < WORDS else found

"""This module computes what acts (`isa.interface.formulas`) make of known words, and of words within bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from binalloc.analysis.ranges.value import BITS, HALF, UNSIGNED, WORDS, Base, Interval, Value, of_threads
from binalloc.isa.interface.formulas import Act, Formula, Order
from binalloc.isa.interface.places import WORD

Bools = bool | NDArray[np.bool_]
"""A predicate that is known: the same in all threads, or one for each."""

_BYTE = (1 << BITS // WORD) - 1  # mask of a byte
_ORDERS: dict[Order, Callable[[Base, Base], Bools]] = {
    Order.LESS: lambda a, b: a < b,
    Order.LESS_EQUAL: lambda a, b: a <= b,
    Order.EQUAL: lambda a, b: a == b,
    Order.UNEQUAL: lambda a, b: a != b,
    Order.GREATER: lambda a, b: a > b,
    Order.GREATER_EQUAL: lambda a, b: a >= b,
}


def read(base: Base, signed: bool) -> Base:
    """Return known words as the numbers that they stand for."""
    return (base + HALF) % WORDS - HALF if signed else base


def known_word(formula: Formula, words: Sequence[Base], truths: Sequence[Bools]) -> Value:
    """Return the word that a formula makes of known words and predicates."""
    a, b, *rest = (read(word, formula.signed or formula.act == Act.RIGHT_SIGNED) for word in words)
    found: object
    match formula.act:
        case Act.TABLE:
            found = _looked_up(formula.table, (a, b, *rest))
        case Act.RIGHT | Act.RIGHT_SIGNED:
            found = a >> b
        case Act.PRODUCT:
            # halves, since a product of two words may have 64 bits
            found = ((a >> 16) * b % WORDS << 16) + (a & 0xFFFF) * b + rest[0]
        case Act.HIGH:
            low = (a & 0xFFFF) * b
            found = ((a >> 16) * b + (low >> 16) >> 16) + rest[0]
        case Act.BYTES:
            found = _bytes(formula.table, a, b)
        case Act.LEAST:
            found = np.minimum(a, b)
        case Act.GREATEST:
            found = np.maximum(a, b)
        case Act.SELECT:
            found = np.where(truths[0], a, b)
        case _:
            raise AssertionError(formula.act)
    return of_threads(found)


def _bytes(table: int, low: Base, high: Base) -> Base:
    """Return four bytes of the 64-bit numbers with these words; bits 4 i to 4 i + 2 of the table choose the i-th."""
    out: Base = 0
    for i in range(WORD):
        number, byte = divmod(table >> 4 * i & 2 * WORD - 1, WORD)
        out = out | ((high if number else low) >> 8 * byte & _BYTE) << 8 * i
    return out


def _looked_up(table: int, words: Sequence[Base]) -> Base:
    """Return the bits that a table of 8 gives for the bits of three words."""
    out: Base = 0
    for index in range(8):
        if table >> index & 1:
            bits: Base = WORDS - 1
            for k, word in enumerate(words):
                bits = bits & (word if index >> 2 - k & 1 else WORDS - 1 - word)
            out = out | bits
    return out


def known_comparison(formula: Formula, a: Base, b: Base) -> Bools:
    """Return the result of a comparison of known words, not yet combined with a predicate."""
    assert formula.order is not None
    return plain(_ORDERS[formula.order](read(a, formula.signed), read(b, formula.signed)))


def flipped(truth: Bools, flip: bool) -> Bools:
    """Return a predicate, or its opposite."""
    if not flip:
        return truth
    return not truth if isinstance(truth, bool) else ~truth


def both(one: Bools, other: Bools) -> Bools:
    """Return the threads of two groups that are in both."""
    return plain(np.logical_and(one, other))


def either(one: Bools, other: Bools) -> Bools:
    """Return the threads of two groups that are in one of them."""
    return plain(np.logical_or(one, other))


def any_of(groups: Iterable[Bools]) -> Bools:
    """Return the threads that are in some group."""
    found: Bools = False
    for group in groups:
        found = either(found, group)
    return found


def plain(truths: object) -> Bools:
    """Return predicates as one truth where they are the same in all threads."""
    array = np.atleast_1d(np.asarray(truths, bool))
    return bool(array[0]) if (array == array[0]).all() else array


def combined(table: int, truths: Sequence[Bools | None]) -> Bools | None:
    """Return the entry of a table for some predicates, the first of which counts most; None where it depends on one
    that is not known."""
    known = [t for t in truths if t is not None]
    length = max((len(t) for t in known if not isinstance(t, bool)), default=1)
    out = np.zeros(length, bool)
    free = [k for k, t in enumerate(truths) if t is None]
    first: NDArray[np.bool_] | None = None
    for assumed in range(1 << len(free)):
        index = np.zeros(length, np.int64)
        for k, truth in enumerate(truths):
            bit = bool(assumed >> free.index(k) & 1) if truth is None else truth
            index = 2 * index + np.asarray(bit, np.int64)
        out = (table >> index & 1).astype(bool)
        if first is None:
            first = out
        elif (out != first).any():
            return None
    return plain(out)


def kept_bits(table: int, words: Sequence[int | None]) -> tuple[int, int, bool] | None:
    """Return (k, n, upper) if a table keeps of its k-th word the lower n bits, or all but these, and clears the others.
    words: the three words, None for those that are not known."""
    unknown = [k for k, word in enumerate(words) if word is None]
    if len(unknown) != 1:
        return None
    (k,) = unknown
    ones, zeros = (
        _looked_up(table, [word if word is not None else given for word in words]) for given in (WORDS - 1, 0)
    )
    assert isinstance(ones, int)
    if zeros or ones in (0, WORDS - 1):
        return None
    for mask, upper in ((ones, False), (ones ^ WORDS - 1, True)):
        if mask & mask + 1 == 0:
            return k, mask.bit_length(), upper
    return None


# -- bounds ------------------------------------------------------------------------------------------------------------


def bounded_word(formula: Formula, bounds: Callable[[int, bool], Interval]) -> Interval:
    """Return an interval that contains the word that a formula makes, as a number. bounds: (word, signed) -> an
    interval that contains this word of the formula, as a number of that kind."""
    match formula.act:
        case Act.BETWEEN:
            low, high = (bounds(k, False).low for k in range(2))
            return Interval(low, high) if low <= high else Interval(low - WORDS, high)
        case Act.RIGHT | Act.RIGHT_SIGNED:
            word, by = bounds(0, formula.act == Act.RIGHT_SIGNED), bounds(1, False).low
            return Interval(word.low >> by, word.high >> by)
        case Act.LEAST:
            a, b = bounds(0, formula.signed), bounds(1, formula.signed)
            return Interval(min(a.low, b.low), min(a.high, b.high))
        case Act.GREATEST:
            a, b = bounds(0, formula.signed), bounds(1, formula.signed)
            return Interval(max(a.low, b.low), max(a.high, b.high))
        case Act.SELECT:
            either = [bounds(0, signed).joined(bounds(1, signed)) for signed in (True, False)]
            return min(either, key=lambda found: found.high - found.low)
        case Act.TABLE:
            return _bounded_bits(formula.table, [bounds(k, False) for k in range(3)])
        case Act.BYTES:
            words = [bounds(k, False) for k in range(2)]
            ones = _bytes(formula.table, *(_possible_ones(word) for word in words))
            zeros = _bytes(formula.table, *(_possible_zeros(word) for word in words))
            return Interval(int(zeros) ^ WORDS - 1, int(ones))
        case Act.PRODUCT:
            a, b, c = (bounds(k, False) for k in range(3))
            found = Interval(a.low * b.low + c.low, a.high * b.high + c.high)
            return found if found.within(UNSIGNED) else UNSIGNED
        case Act.HIGH:
            a, b, c = (bounds(k, False) for k in range(3))
            found = Interval((a.low * b.low >> BITS) + c.low, (a.high * b.high >> BITS) + c.high)
            return found if found.within(UNSIGNED) else UNSIGNED
        case _:
            return UNSIGNED


def _bounded_bits(table: int, words: Sequence[Interval]) -> Interval:
    """Return an interval that contains what a table makes of three words. Each bit of the result may be 1 if the table
    has a 1 for some bits that the words may have there."""
    can = [(_possible_ones(word), _possible_zeros(word)) for word in words]
    low = high = 0
    for bit in range(BITS):
        seen = {
            table >> index & 1
            for index in range(8)
            if all(can[k][0 if index >> 2 - k & 1 else 1] >> bit & 1 for k in range(3))
        }
        high |= (1 in seen) << bit
        low |= (0 not in seen) << bit
    return Interval(low, high)


def _possible_ones(word: Interval) -> int:
    """Return a mask of the bits that may be 1 in a number of an interval."""
    differ = (word.low ^ word.high).bit_length()
    return word.high | (1 << differ) - 1


def _possible_zeros(word: Interval) -> int:
    """Return a mask of the bits that may be 0 in a number of an interval."""
    differ = (word.low ^ word.high).bit_length()
    return ~word.low & WORDS - 1 | (1 << differ) - 1


def allowed(order: Order, other: Interval, known: Interval) -> Interval | None:
    """Return the numbers within `known` that a word may be if its comparison with a word within `other` holds; None
    where that is none. All intervals are of numbers that words stand for."""
    low, high = known
    match order:
        case Order.LESS:
            high = min(high, other.high - 1)
        case Order.LESS_EQUAL:
            high = min(high, other.high)
        case Order.GREATER:
            low = max(low, other.low + 1)
        case Order.GREATER_EQUAL:
            low = max(low, other.low)
        case Order.EQUAL:
            low, high = max(low, other.low), min(high, other.high)
        case Order.UNEQUAL if other.low == other.high:
            low, high = low + (other.low == low), high - (other.high == high)
    return Interval(low, high) if low <= high else None


_NEGATED = {
    Order.LESS: Order.GREATER_EQUAL,
    Order.LESS_EQUAL: Order.GREATER,
    Order.EQUAL: Order.UNEQUAL,
    Order.UNEQUAL: Order.EQUAL,
    Order.GREATER: Order.LESS_EQUAL,
    Order.GREATER_EQUAL: Order.LESS,
}
TURNED = {
    Order.LESS: Order.GREATER,
    Order.LESS_EQUAL: Order.GREATER_EQUAL,
    Order.EQUAL: Order.EQUAL,
    Order.UNEQUAL: Order.UNEQUAL,
    Order.GREATER: Order.LESS,
    Order.GREATER_EQUAL: Order.LESS_EQUAL,
}
"""The order that holds between exchanged words."""


def negated(order: Order) -> Order:
    """Return the order that holds exactly where `order` does not."""
    return _NEGATED[order]

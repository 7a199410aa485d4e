"""A spread is what one word, or one predicate, may be in each thread of a block: this module computes with spreads.

Needs arrays with one number per thread; leaves new ones. All functions are sound: the result contains whatever the
operation gives for numbers in the operands. They follow ISA.md, chapter "Semantics".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from binalloc.isa.interface.formulas import Order
from binalloc.isa.interface.places import WORD

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
BITS = 8 * WORD  # bits of a word
RANGE = 1 << BITS
LAST = RANGE - 1
HALF = RANGE // 2
BYTE = (1 << BITS // WORD) - 1  # mask of a byte


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """A spread has bounds, both included, for the unsigned word of each thread. A predicate is 0 or 1.

    Known numbers have one array for both bounds, so that it is computed once.
    """

    low: Numbers
    high: Numbers
    same: bool  #: all threads that are here have one value, whatever it is

    @property
    def exact(self) -> Mask:
        found: Mask = self.low == self.high
        return found

    @property
    def all_exact(self) -> bool:
        return self.low is self.high or bool((self.low == self.high).all())

    def uniform(self, here: Mask) -> bool:
        """Return whether the threads `here` have one value."""
        if self.same:
            return True
        low, high = self.low[here], self.high[here]
        return not len(low) or bool(low.min() == high.max())

    def alike(self, other: Spread) -> bool:
        return self is other or (
            self.same == other.same and np.array_equal(self.low, other.low) and np.array_equal(self.high, other.high)
        )


def known(values: Numbers) -> Spread:
    """Return the spread of known numbers, taken modulo the words' range."""
    numbers = values & LAST
    return Spread(numbers, numbers, bool((numbers == numbers[0]).all()))


def anything(threads: int, same: bool, last: int = LAST) -> Spread:
    return Spread(np.zeros(threads, np.int64), np.full(threads, last, np.int64), same)


def bounded(low: Numbers, high: Numbers, same: bool) -> Spread:
    """Return the words of integers between two bounds: what wraps around may be anything."""
    first = low & LAST
    if low is high:
        return Spread(first, first, same)
    last = first + (high - low)
    wide = (last > LAST) | (high < low)
    return Spread(np.where(wide, 0, first), np.where(wide, LAST, last), same)


def signed(spread: Spread) -> tuple[Numbers, Numbers]:
    """Return bounds of the words read as signed numbers."""
    low, high = spread.low, spread.high
    if low is high:
        numbers = np.where(low >= HALF, low - RANGE, low)
        return numbers, numbers
    negative, positive = low >= HALF, high < HALF
    return (
        np.where(negative, low - RANGE, np.where(positive, low, -HALF)),
        np.where(negative, high - RANGE, np.where(positive, high, HALF - 1)),
    )


def total(constant: int, terms: list[tuple[Spread, int]], threads: int, same: bool) -> Spread:
    """Return a constant plus terms with their factors."""
    constant = (constant + HALF) % RANGE - HALF
    low = high = np.full(threads, constant, np.int64)
    reach = float(RANGE)
    for spread, factor in terms:
        factor = (factor + HALF) % RANGE - HALF
        a, b = spread.low, spread.high
        reach += float(LAST) * abs(factor)
        if reach > 2.0**62:
            return _exact_total(constant, terms, threads, same)
        if low is high and a is b:
            low = high = low + a * factor
            continue
        low = low + (a if factor >= 0 else b) * factor
        high = high + (b if factor >= 0 else a) * factor
    return bounded(low, high, same)


def _exact_total(constant: int, terms: list[tuple[Spread, int]], threads: int, same: bool) -> Spread:
    """Return the sum where all terms are exact, and anything elsewhere."""
    numbers = np.full(threads, constant & LAST, np.uint64)
    exact = np.ones(threads, np.bool_)
    for spread, factor in terms:
        numbers = numbers + spread.low.astype(np.uint64) * np.uint64(factor & LAST)
        exact &= spread.exact
    words = (numbers & np.uint64(LAST)).astype(np.int64)
    return Spread(np.where(exact, words, 0), np.where(exact, words, LAST), same)


def product(a: Spread, b: Spread, c: Spread, same: bool) -> Spread:
    """Return the low word of a * b, plus c."""
    exact = a.exact & b.exact & c.exact
    numbers = a.low.astype(np.uint64) * b.low.astype(np.uint64) + c.low.astype(np.uint64)
    words = (numbers & np.uint64(LAST)).astype(np.int64)
    small = a.high.astype(np.float64) * b.high + c.high < LAST
    safe = [np.where(small, x, 0) for x in (a.low, b.low, c.low, a.high, b.high, c.high)]
    low = np.where(small, safe[0] * safe[1] + safe[2], 0)
    high = np.where(small, safe[3] * safe[4] + safe[5], LAST)
    return Spread(np.where(exact, words, low), np.where(exact, words, high), same)


def upper_product(a: Spread, b: Spread, c: Spread, same: bool) -> Spread:
    """Return the high word of the unsigned product a * b, plus c."""
    low, high = _upper(a.low, b.low) + c.low, _upper(a.high, b.high) + c.high
    return bounded(low, high, same)


def _upper(a: Numbers, b: Numbers) -> Numbers:
    return ((a.astype(np.uint64) * b.astype(np.uint64)) >> np.uint64(BITS)).astype(np.int64)


def right(a: Spread, count: int, arithmetic: bool, same: bool) -> Spread:
    if not arithmetic:
        return Spread(a.low >> count, a.high >> count, same)
    low, high = signed(a)
    return bounded(low >> count, high >> count, same)


def _bits(a: Spread) -> tuple[Numbers, Numbers]:
    """Return the bits that may be 1, and those that may be 0."""
    apart = a.low ^ a.high
    if not apart.any():
        return a.low, a.low ^ LAST
    for shift in (1, 2, 4, 8, 16):
        apart = apart | (apart >> shift)
    return a.low | apart, (a.low ^ LAST) | apart


def table(a: Spread, b: Spread, c: Spread, lut: int, same: bool) -> Spread:
    """Return a bitwise function of three words."""
    one, zero = (tuple(_bits(x)[k] for x in (a, b, c)) for k in (0, 1))
    ones = zeros = np.zeros_like(a.low)
    for k in range(8):
        may = (one if k & 4 else zero)[0] & (one if k & 2 else zero)[1] & (one if k & 1 else zero)[2]
        if lut >> k & 1:
            ones = ones | may
        else:
            zeros = zeros | may
    return Spread((zeros ^ LAST) & LAST, ones & LAST, same)


def take_bytes(a: Spread, b: Spread, selector: int, same: bool) -> Spread:
    """Return four of the eight bytes of two words, whose numbers are in the nibbles of `selector`."""
    ones = zeros = np.zeros_like(a.low)
    parts = (_bits(a), _bits(b))
    for k in range(4):
        at = selector >> 4 * k & 2 * WORD - 1
        one, zero = parts[at >> 2]
        ones = ones | ((one >> 8 * (at & 3) & BYTE) << 8 * k)
        zeros = zeros | ((zero >> 8 * (at & 3) & BYTE) << 8 * k)
    return Spread(zeros ^ LAST, ones, same)


def extreme(a: Spread, b: Spread, least: bool, by_sign: bool, same: bool) -> Spread:
    (al, ah), (bl, bh) = (signed(a), signed(b)) if by_sign else ((a.low, a.high), (b.low, b.high))
    choose = np.minimum if least else np.maximum
    return bounded(choose(al, bl), choose(ah, bh), same)


def select(truth: Spread, a: Spread, b: Spread, same: bool) -> Spread:
    low = np.where(truth.low == 1, a.low, np.where(truth.high == 0, b.low, np.minimum(a.low, b.low)))
    high = np.where(truth.low == 1, a.high, np.where(truth.high == 0, b.high, np.maximum(a.high, b.high)))
    return Spread(low, high, same)


def compare(a: Spread, b: Spread, order: Order, by_sign: bool, same: bool) -> Spread:
    """Return whether a comparison holds: 1, 0, or either."""
    (al, ah), (bl, bh) = (signed(a), signed(b)) if by_sign else ((a.low, a.high), (b.low, b.high))
    if order in (Order.LESS, Order.LESS_EQUAL, Order.GREATER, Order.GREATER_EQUAL):
        if order in (Order.GREATER, Order.GREATER_EQUAL):
            al, ah, bl, bh = bl, bh, al, ah
        strict = order in (Order.LESS, Order.GREATER)
        surely, never = (ah < bl, al >= bh) if strict else (ah <= bl, al > bh)
    else:
        surely, never = (al == ah) & (bl == bh) & (al == bl), (ah < bl) | (bh < al)
        if order == Order.UNEQUAL:
            surely, never = never, surely
    return Spread(surely.astype(np.int64), (~never).astype(np.int64), same)


def logic(inputs: list[Spread], lut: int, same: bool) -> Spread:
    """Return a function of predicates: bit 4 a + 2 b + c, or for two inputs bit 2 a + b, of `lut`."""
    cases: list[Mask] = [np.ones(len(inputs[0].low), np.bool_)]
    for x in inputs:
        zero, one = x.low == 0, x.high == 1
        cases = [case & may for case in cases for may in (zero, one)]
    zero = one = np.zeros(len(inputs[0].low), np.bool_)
    for k, case in enumerate(cases):
        if lut >> k & 1:
            one = one | case
        else:
            zero = zero | case
    return Spread((~zero).astype(np.int64), one.astype(np.int64), same)


def opposite(a: Spread) -> Spread:
    return Spread(1 - a.high, 1 - a.low, a.same)


def hull(a: Spread, b: Spread, only_a: Mask, only_b: Mask) -> Spread:
    """Return what either may be; `only_a` and `only_b` are threads in which just one of them counts."""
    low = np.where(only_a, a.low, np.where(only_b, b.low, np.minimum(a.low, b.low)))
    high = np.where(only_a, a.high, np.where(only_b, b.high, np.maximum(a.high, b.high)))
    return Spread(low, high, a.same and b.same)


def limited(a: Spread, b: Spread, order: Order, by_sign: bool) -> tuple[Spread, Mask]:
    """Return `a` where its comparison with `b` holds, and the threads in which it may hold."""
    (al, ah), (bl, bh) = (signed(a), signed(b)) if by_sign else ((a.low, a.high), (b.low, b.high))
    if order == Order.LESS:
        ah = np.minimum(ah, bh - 1)
    elif order == Order.LESS_EQUAL:
        ah = np.minimum(ah, bh)
    elif order == Order.GREATER:
        al = np.maximum(al, bl + 1)
    elif order == Order.GREATER_EQUAL:
        al = np.maximum(al, bl)
    elif order == Order.EQUAL:
        al, ah = np.maximum(al, bl), np.minimum(ah, bh)
    else:
        al = np.where((bl == bh) & (al == bl), al + 1, al)
        ah = np.where((bl == bh) & (ah == bl), ah - 1, ah)
    may = al <= ah
    if by_sign:
        whole = (al < 0) & (ah >= 0)
        al, ah = np.where(whole, a.low, al & LAST), np.where(whole, a.high, ah & LAST)
    return Spread(np.where(may, al, a.low), np.where(may, ah, a.high), a.same), may

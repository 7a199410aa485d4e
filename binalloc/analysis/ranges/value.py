"""A word of all threads of a block is described by `Value`: a known number per thread, and factors of symbols."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from binalloc.isa.interface.places import WORD

BITS = 8 * WORD  # bits of a word
WORDS = 1 << BITS  # number of words: values are equal modulo this
HALF = WORDS >> 1

Base = int | NDArray[np.int64]
"""A number from 0 to 2^32 - 1: the same in all threads, or one for each thread of the block."""
Symbol = int
"""The number of a symbol, see `symbols`."""


class Interval(NamedTuple):
    """An interval contains the integers from `low` to `high`, both included."""

    low: int
    high: int

    def joined(self, other: Interval) -> Interval:
        """Return the smallest interval that contains both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def within(self, other: Interval) -> bool:
        return other.low <= self.low and self.high <= other.high

    def times(self, factor: int) -> Interval:
        ends = self.low * factor, self.high * factor
        return Interval(min(ends), max(ends))

    def plus(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def moved_into(self, window: Interval) -> Interval | None:
        """Return the interval of the same words within `window`, an interval of 2^32 numbers; None where they are not
        one interval there."""
        by = (window.low - self.low + WORDS - 1) // WORDS * WORDS
        moved = Interval(self.low + by, self.high + by)
        return moved if moved.within(window) else None


UNSIGNED, SIGNED = Interval(0, WORDS - 1), Interval(-HALF, HALF - 1)
"""The numbers that words stand for."""


def window(signed: bool) -> Interval:
    return SIGNED if signed else UNSIGNED


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """A value is `base` plus each symbol times its factor, modulo 2^32, in each thread."""

    base: Base
    terms: tuple[tuple[Symbol, int], ...] = ()  #: by symbol; factors from -2^31 + 1 to 2^31, none of them zero

    @classmethod
    def of(cls, base: Base, factors: dict[Symbol, int]) -> Value:
        """Return the value with factors in order."""
        small = ((symbol, _signed(factor)) for symbol, factor in sorted(factors.items()))
        return cls(base % WORDS, tuple((symbol, factor) for symbol, factor in small if factor))

    @property
    def known(self) -> bool:
        """Return whether the value is a known number in each thread."""
        return not self.terms

    @property
    def number(self) -> int | None:
        """Return the value where it is one known number in all threads, from 0 to 2^32 - 1."""
        return self.base if isinstance(self.base, int) and not self.terms else None

    @property
    def key(self) -> Hashable:
        """Return what equal values have in common."""
        return (self.base if isinstance(self.base, int) else self.base.tobytes()), self.terms

    def plus(self, other: Value, factor: int = 1) -> Value:
        """Return the sum with `factor` times another value."""
        factors = dict(self.terms)
        for symbol, times in other.terms:
            factors[symbol] = factors.get(symbol, 0) + factor * times
        return Value.of(self.base + _signed(factor) * other.base, factors)

    def factor(self, symbol: Symbol) -> int:
        return dict(self.terms).get(symbol, 0)

    def spread(self) -> Interval:
        """Return an interval of integers that, modulo 2^32, contains the base of every thread. It is as short as the
        first thread's number being in the middle allows."""
        if isinstance(self.base, int):
            return Interval(self.base, self.base)
        first = int(self.base[0])
        away = (self.base - first + HALF) % WORDS - HALF
        return Interval(first + int(away.min()), first + int(away.max()))


def constant(number: int) -> Value:
    """Return a known number in all threads."""
    return Value(number % WORDS)


def of_threads(given: ArrayLike) -> Value:
    """Return a known number per thread, as one number where they are equal."""
    numbers = np.atleast_1d(np.asarray(given, np.int64)) % WORDS
    return Value(int(numbers[0])) if (numbers == numbers[0]).all() else Value(numbers)


def _signed(factor: int) -> int:
    """Return the factor's equal from -2^31 + 1 to 2^31."""
    factor %= WORDS
    return factor - WORDS if factor > HALF else factor

"""This module finds what registers hold in the threads of a block, as far as the proof of late stores needs it.

A *total* is a number plus unknowns times factors, modulo 2^32. The number may be another one in each thread of a block.
What the size of a block decides, such as a thread's index, is a number. So two totals with the same unknowns differ by
a known number in each thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from binalloc.isa.interface.places import PRED_BASE
from binalloc.verify.multiplex.spread import LAST, RANGE, Numbers, Spread, known
from binalloc.verify.multiplex.words import Setting, Word

Number = int | bytes
"""A number of all threads, or one for each of them, as an array of 64-bit integers."""
Unknowns = tuple[tuple[int, int], ...]
"""Unknowns by number, ascending, with their factors."""


@dataclass(frozen=True, slots=True)
class Total:
    """A total is what one register holds."""

    unknowns: Unknowns = ()
    number: Number = 0


NOTHING = Total()


def scaled(number: Number, factor: int) -> Number:
    """Return a multiple of a number."""
    if factor == 1:
        return number
    if isinstance(number, int):
        return number * factor % RANGE
    return _number(_array(number).astype(np.uint64) * np.uint64(factor % RANGE))


def added(a: Number, b: Number) -> Number:
    """Return the sum of two numbers."""
    if isinstance(a, int) and isinstance(b, int):
        return (a + b) % RANGE
    if isinstance(a, int):
        a, b = b, a
    assert not isinstance(a, int)
    return _number(_array(a) + (np.int64(b) if isinstance(b, int) else _array(b)))


def less(a: Number, b: Number) -> Number:
    """Return a number less another one."""
    return added(a, scaled(b, -1))


def total(parts: list[tuple[Total, int]], number: Number) -> Total:
    """Return totals times factors, and a number more."""
    number, factors = added(number, 0), dict[int, int]()
    for part, factor in parts:
        number = added(number, scaled(part.number, factor))
        for unknown, times in part.unknowns:
            factors[unknown] = (factors.get(unknown, 0) + times * factor) % RANGE
    return Total(tuple(sorted((u, times) for u, times in factors.items() if times)), number)


def computed(word: Word, setting: Setting, held: Mapping[int, Total]) -> dict[int, Total]:
    """Return what a word writes, by register, as far as the size of a block decides it. held: what the registers hold
    that it reads."""
    if word.view.guard is not None or not word.same:
        return {}

    def read(at: int) -> Spread:
        found = held.get(at)
        if found is None or found.unknowns:
            return setting.either if at >= PRED_BASE else setting.different
        number = found.number
        return known(np.full(setting.threads, number, np.int64) if isinstance(number, int) else _array(number))

    spreads = zip(word.defs, word.results(setting, read), strict=True)
    return {at: exactly(x) for at, x in spreads if at < PRED_BASE and x.all_exact}


def exactly(spread: Spread) -> Total:
    """Return the total of numbers that are known in all threads."""
    assert spread.all_exact
    return Total((), _number(spread.low))


def _array(number: bytes) -> Numbers:
    return np.frombuffer(number, np.int64)


def _number(values: Numbers | np.ndarray[tuple[int, ...], np.dtype[np.uint64]]) -> Number:
    """Return numbers in their one form: a word, if it is the same in all threads."""
    words = (values & values.dtype.type(LAST)).astype(np.int64)
    return int(words[0]) if (words == words[0]).all() else words.tobytes()

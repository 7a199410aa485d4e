"""Inserted words are followed here on all grids but the one for which an order was made.

Such a grid has another size along one axis at least. Nothing else is known of it. So of each word it is known which
number it is, or which special register it is a copy of, or which number it is not, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from binalloc.isa.interface.formulas import Act, Formula
from binalloc.isa.interface.places import WORD
from binalloc.isa.interface.sums import Sum
from binalloc.verify.multiplex.words import Word

_BITS = 8 * WORD
_ALL = (1 << _BITS) - 1


@dataclass(frozen=True, slots=True)
class Copy:
    """The word is what a special register holds."""

    special: str  #: name of the register


@dataclass(frozen=True, slots=True)
class Other:
    """The word is any number but one."""

    number: int


Fact = int | Copy | Other | None
"""What is known of a word: the number that it is, or a form above, or nothing."""


@dataclass(frozen=True)
class Others:
    """These are all grids whose size along one axis is another one than that of the order's grid."""

    size: str  #: name of the special register with the size along the axis
    not_this: int  #: what it is not

    def execute(self, words: Iterable[Word], before: dict[int, Fact]) -> dict[int, Fact]:
        """Return what is known of registers behind some words. before: what is known in front of them."""
        known = dict(before)
        for word in words:
            given = [known.get(at) for at in word.uses]
            results = [self._result(word, k, given) for k in range(len(word.defs))]
            known.update(zip(word.defs, results, strict=True))
        return known

    def _result(self, word: Word, k: int, given: list[Fact]) -> Fact:
        if k in word.sums:
            return self._sum(word.sums[k], given)
        return self._formula(word.formulas[k], given) if k in word.formulas else None

    def _sum(self, s: Sum, given: list[Fact]) -> Fact:
        terms: list[tuple[Fact, int]] = [(given[at], factor) for at, factor in s.uses]
        terms += [(Other(self.not_this) if name == self.size else Copy(name), 1) for name in s.special]
        total, open_terms = s.constant, []
        for value, factor in terms:
            if isinstance(value, int):
                total += value * factor
            else:
                open_terms.append((value, factor))
        total &= _ALL
        if s.reads or len(open_terms) > 1:
            return None
        if not open_terms:
            return total
        value, factor = open_terms[0]
        if factor != 1:
            return None
        if isinstance(value, Other):
            return Other(value.number + total & _ALL)
        return value if total == 0 else None

    def _formula(self, f: Formula, given: list[Fact]) -> Fact:
        words = [self._sum(s, given) for s in f.words]
        if f.act == Act.TABLE:
            return _table(words, f.table)
        if f.act == Act.LEAST and not f.signed and set(words) == {1, Other(0)}:
            return 1
        return None


def _table(words: list[Fact], table: int) -> Fact:
    """Return what is known of a word whose bits a table gives."""
    ways = [_at_bit(words, table, bit) for bit in range(_BITS)]
    if all(len(set(way.values())) == 1 for way in ways):
        return sum(next(iter(way.values())) << bit for bit, way in enumerate(ways))
    for k, word in enumerate(words):
        if isinstance(word, int) or word is None:
            continue
        if all(result == bits[k] for way in ways for bits, result in way.items()):
            return word
        if isinstance(word, Other) and all(_decided(way, k) for way in ways):
            return Other(sum(_of(way, k, word.number >> bit & 1) << bit for bit, way in enumerate(ways)))
        if isinstance(word, Other) and all(
            result for bit, way in enumerate(ways) for bits, result in way.items()
            if bits[k] != word.number >> bit & 1
        ):  # fmt: skip
            return Other(0)  # the bit that differs from the number's is 1
    return None


def _at_bit(words: list[Fact], table: int, bit: int) -> dict[tuple[int, ...], int]:
    """Return the result at one bit for all bits that the words may have there."""
    found: dict[tuple[int, ...], int] = {}
    for row in range(1 << len(words)):
        bits = tuple(row >> len(words) - 1 - k & 1 for k in range(len(words)))
        if all(not isinstance(word, int) or word >> bit & 1 == b for word, b in zip(words, bits, strict=True)):
            found[bits] = table >> row & 1
    return found


def _decided(way: dict[tuple[int, ...], int], k: int) -> bool:
    """Return whether one word's bit alone decides the result, and each result comes from one bit."""
    return len({(bits[k], result) for bits, result in way.items()}) == 2 and len(set(way.values())) == 2


def _of(way: dict[tuple[int, ...], int], k: int, bit: int) -> int:
    return next(result for bits, result in way.items() if bits[k] == bit)

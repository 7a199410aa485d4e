"""Inserted words are executed here for all blocks of the grid for which an order was made.

A block's place decides what they compute: it is the same in all threads. What depends on anything else is not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from binalloc.isa.interface.formulas import Act, Formula
from binalloc.isa.interface.instruction_set import SetLimits
from binalloc.isa.interface.places import WORD
from binalloc.isa.interface.sums import Sum
from binalloc.verify.multiplex.words import Word

Words = NDArray[np.uint64]
Three = tuple[int, int, int]
IN_GRID = 3
"""Places and sizes of axes from this one on are those of the grid."""
_BITS = np.uint64(8 * WORD)
_ALL = np.uint64((1 << 8 * WORD) - 1)


@dataclass
class Fitting:
    """This record has what registers hold for a range of the grid's blocks."""

    grid: Three
    limits: SetLimits
    blocks: range  #: numbers of the dealt blocks

    def __post_init__(self) -> None:
        dealt = np.arange(self.blocks.start, self.blocks.stop, dtype=np.uint64)
        gx, gy, _ = (np.uint64(side) for side in self.grid)
        self.place = (dealt % gx, dealt // gx % gy, dealt // (gx * gy))
        self._none = np.zeros(dealt.size, dtype=np.uint64)

    def special(self, name: str) -> Words | None:
        """Return what a special register holds; None where the block's place does not decide it."""
        axis = self.limits.places.get(name, -1) - IN_GRID
        if axis >= 0:
            return self.place[axis]
        axis = self.limits.sizes.get(name, -1) - IN_GRID
        return self._none + np.uint64(self.grid[axis]) if axis >= 0 else None

    def execute(self, words: Iterable[Word], before: dict[int, Words]) -> dict[int, Words]:
        """Return what is known of registers behind some words. before: what is known in front of them."""
        known = dict(before)
        for word in words:
            given = [known.get(at) for at in word.uses]
            results = [self._result(word, k, given) for k in range(len(word.defs))]
            for at, value in zip(word.defs, results, strict=True):
                if value is None:
                    known.pop(at, None)
                else:
                    known[at] = value
        return known

    def _result(self, word: Word, k: int, given: list[Words | None]) -> Words | None:
        if k in word.sums:
            return self._sum(word.sums[k], given)
        return self._formula(word.formulas[k], given) if k in word.formulas else None

    def _sum(self, s: Sum, given: list[Words | None]) -> Words | None:
        terms = [(given[at], factor) for at, factor in s.uses] + [(self.special(name), 1) for name in s.special]
        total = self._none + np.uint64(s.constant & int(_ALL))
        for value, factor in terms:
            if value is None:
                return None
            total = total + value * np.uint64(factor & int(_ALL))
        return None if s.reads else total & _ALL

    def _formula(self, f: Formula, given: list[Words | None]) -> Words | None:
        found = [self._sum(s, given) for s in f.words]
        words = [value for value in found if value is not None]
        if len(words) < len(found) or f.truths or (f.signed and f.act in (Act.LEAST, Act.GREATEST)):
            return None
        if f.act == Act.TABLE:
            return self._table(words, f.table)
        if f.act == Act.RIGHT:
            return words[0] >> words[1]
        if f.act == Act.PRODUCT:
            return words[0] * words[1] + words[2] & _ALL
        if f.act == Act.HIGH:
            return (words[0] * words[1] >> _BITS) + words[2] & _ALL
        if f.act == Act.LEAST:
            return np.minimum(words[0], words[1])
        return np.maximum(words[0], words[1]) if f.act == Act.GREATEST else None

    def _table(self, words: list[Words], table: int) -> Words:
        found = self._none
        for row in range(1 << len(words)):
            if table >> row & 1:
                bits = self._none + _ALL
                for k, word in enumerate(reversed(words)):
                    bits = bits & (word if row >> k & 1 else ~word)
                found = found | bits
        return found & _ALL

"""This module holds which blocks of a grid touch which pages of memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from binalloc.models.batches.formula import BatchFormula

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


def distinct(values: Ints) -> Ints:
    """Return the values in ascending order, each once. `np.unique` hashes, which takes up to ten times as long."""
    ordered = np.sort(values)
    found: Ints = ordered[np.diff(ordered, prepend=ordered[:1] - 1) != 0]
    return found


@dataclass(frozen=True)
class PageTouches:
    """Touches are pairs of a page and a block that touches it, each once, in order of page, then block."""

    blocks: int  #: number of blocks of the grid
    pages: Ints  #: number of the page, of each pair
    numbers: Ints  #: number of the block, of each pair

    @staticmethod
    def of(blocks: int, pages: Ints, numbers: Ints) -> PageTouches:
        """Return the touches of pairs in any order, each once or more often."""
        keys = distinct(pages * blocks + numbers)
        return PageTouches(blocks, keys // blocks, keys % blocks)

    def coarser(self, times: int) -> PageTouches:
        """Return the touches of pages that are so many times as large."""
        return self if times == 1 else PageTouches.of(self.blocks, self.pages // times, self.numbers)

    @cached_property
    def begins(self) -> Ints:
        """Return the index of the first pair of each page."""
        return np.flatnonzero(np.diff(self.pages, prepend=-1))

    @cached_property
    def counts(self) -> Ints:
        """Return how many blocks touch each page."""
        found: Ints = np.diff(self.begins, append=len(self.pages))
        return found

    @cached_property
    def lowest(self) -> Ints:
        """Return the lowest block that touches each page."""
        return self.numbers[self.begins]

    @cached_property
    def highest(self) -> Ints:
        """Return the highest block that touches each page."""
        last: Ints = self.begins + self.counts - 1
        return self.numbers[last]

    @cached_property
    def steps(self) -> Ints:
        """Return for each page the largest number that divides all differences between its blocks, 0 for one block."""
        apart = self.numbers - np.repeat(self.lowest, self.counts)
        found: Ints = np.gcd.reduceat(apart, self.begins) if len(apart) else apart
        return found

    @cached_property
    def everywhere(self) -> Flags:
        """Return whether each page is global: more than half of the blocks, and at least three, or all of several
        blocks touch it."""
        found: Flags = most(self.counts, self.blocks) | ((self.counts == self.blocks) & (self.blocks > 1))
        return found

    def distances(self, formula: BatchFormula) -> Ints:
        """Return for each page the largest distance between two batches that touch it."""
        if not len(self.pages):
            return self.begins
        batches = formula.batch_of(self.numbers)
        return np.maximum.reduceat(batches, self.begins) - np.minimum.reduceat(batches, self.begins)

    def batches(self, formula: BatchFormula) -> Ints:
        """Return how many batches touch each page."""
        found = PageTouches.of(self.blocks, self.pages, formula.batch_of(self.numbers))
        return found.counts


def most(counts: Ints, of: int) -> Flags:
    """Return whether each count is more than half of `of`, and at least three. Two neighbours that share a page do not
    make it global, however few there are."""
    return (2 * counts > of) & (counts >= 3)

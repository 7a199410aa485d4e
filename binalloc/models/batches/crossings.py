"""This module counts, for any number of strides, the pages that several batches of that stride touch.

A page is touched by several batches of stride S exactly where a multiple of S lies above its lowest block, and not
above its highest one. A page whose blocks are S or more apart always has such a multiple. Any other has at most one, so
these are counted multiple by multiple: pages with `lowest < multiple` less those with `highest < multiple`. Both
numbers come from a wavelet matrix (Claude, Navarro and Ordonez, "The wavelet matrix", Information Systems 47, 2015)
over the pages in order of how far their blocks are apart. All strides of a grid of n blocks ask about n log n
multiples, in place of n times the number of pages.
"""

from __future__ import annotations

import numpy as np

from binalloc.models.batches.touches import Ints


class _Ranks:
    """Ranks answer how many of the first values of an array are less than a number."""

    def __init__(self, values: Ints, limit: int) -> None:
        """Prepare for values from 0 to limit - 1."""
        self._levels: list[tuple[int, Ints]] = []
        for bit in range(max(limit - 1, 1).bit_length() - 1, -1, -1):
            low = (values >> bit & 1) == 0
            zeros = np.concatenate(([0], np.cumsum(low)))
            self._levels.append((bit, zeros))
            values = np.concatenate((values[low], values[~low]))

    def less(self, first: Ints, than: Ints) -> Ints:
        """Return for each query how many of the `first` values are less than `than`, a number below the limit."""
        begin, end, found = np.zeros_like(first), first.copy(), np.zeros_like(first)
        for bit, zeros in self._levels:
            from_, to = zeros[begin], zeros[end]
            high = (than >> bit & 1) == 1
            found += np.where(high, to - from_, 0)
            begin = np.where(high, zeros[-1] + begin - from_, from_)
            end = np.where(high, zeros[-1] + end - to, to)
        return found


class Crossings:
    """Crossings count the pages that several batches touch."""

    def __init__(self, blocks: int, lowest: Ints, highest: Ints) -> None:
        """Prepare for pages, of which the lowest and the highest block are given."""
        order = np.argsort(highest - lowest, kind="stable")
        self._blocks = blocks
        self._apart = (highest - lowest)[order]
        self._low, self._high = _Ranks(lowest[order], blocks), _Ranks(highest[order], blocks)

    def nearer(self, strides: Ints) -> Ints:
        """Return for each stride how many pages could lie in one batch, by how far their blocks are apart."""
        return np.searchsorted(self._apart, strides)

    def shared(self, strides: Ints) -> Ints:
        """Return for each stride how many pages several of its batches touch."""
        near = self.nearer(strides)
        cuts = (self._blocks - 1) // strides
        which = np.repeat(np.arange(len(strides)), cuts)
        place = np.arange(len(which)) - np.repeat(np.cumsum(cuts) - cuts, cuts) + 1
        multiple, first = place * strides[which], near[which]
        crossed = self._low.less(first, multiple) - self._high.less(first, multiple)
        sums = np.bincount(which, crossed, len(strides)).astype(np.int64)
        found: Ints = sums + len(self._apart) - near
        return found

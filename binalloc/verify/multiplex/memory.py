"""Shared memory of a block is followed here byte by byte: which bytes may have been written, and which are stale.

Needs addresses as spreads; changes states. Addresses are the original's. The last place stands for all bytes beyond.
"""

from __future__ import annotations

import numpy as np

from binalloc.verify.multiplex.spread import BITS, LAST, Mask, Numbers, Spread
from binalloc.verify.multiplex.state import Fill, State

Range = tuple[int, int]
"""The first and the last one of consecutive addresses."""


class Memory:
    """The memory has `span` places. follows: bytes may become stale, so it is followed which ones are overwritten."""

    def __init__(self, span: int, follows: bool) -> None:
        self.span, self.follows = span, follows
        self.example = 0  #: a stale byte that the last `reads_stale` found
        self._fills: dict[tuple[int, bytes], Fill] = {}

    def bytes(self, ranges: list[Range], size: int) -> Mask:
        """Return the bytes that accesses of `size` bytes touch, whose addresses are in `ranges`."""
        mask = np.zeros(self.span, np.bool_)
        for low, high in ranges:
            mask[min(low, self.span - 1) : min(high + size, self.span)] = True
        return mask

    def store(self, state: State, address: Spread, size: int, surely: Mask, touched: Mask) -> None:
        """Let threads store. surely: those that surely do. touched: all bytes that may be written."""
        if (touched & ~state.written).any():
            state.written = state.written | touched
        exact = surely & address.exact
        if self.follows and exact.any():
            low = address.low
            fill = self._fills.setdefault((size, low.tobytes()), Fill(low, size))
            before = state.surely.get(fill)
            state.surely[fill] = exact if before is None else before | exact

    def open(self, state: State, present: Mask, others: Mask | None) -> None:
        """Let a barrier open. present: threads that are surely there. others: bytes that others may write before the
        next barrier opens."""
        if state.surely and state.stale.any():
            stale = state.stale.copy()
            for fill, mask in state.surely.items():
                stale[self._covered(fill, mask & present)] = False
            state.stale = stale
        state.surely = {}
        if others is not None:
            state.stale = state.stale | (state.written & others)

    def _covered(self, fill: Fill, mask: Mask) -> Numbers:
        """Return the bytes that the threads of `mask` wrote; the place of all bytes beyond is not among them."""
        at = (fill.address[mask][:, None] + np.arange(fill.size)).ravel()
        return at[at < self.span - 1]

    def reads_stale(self, state: State, address: Spread, size: int, runs: Mask) -> bool:
        """Return whether one of the threads `runs` may read a stale byte."""
        if not state.stale.any():
            return False
        count = np.concatenate(([0], np.cumsum(state.stale)))
        low, high = np.minimum(address.low, self.span), np.minimum(address.high + size, self.span)
        bad = runs & (count[high] > count[low])
        for t in np.flatnonzero(bad):
            left = state.stale[low[t] : high[t]].copy()
            for fill, mask in state.surely.items():
                if mask[t]:
                    first = int(fill.address[t] - low[t])
                    left[max(0, first) : max(0, first + fill.size)] = False
            if left.any():
                self.example = int(low[t]) + int(np.flatnonzero(left)[0])
                return True
        return False


def merged(low: Numbers, high: Numbers) -> list[Range]:
    """Return ranges that cover all from each of `low` to its `high`, and nothing else."""
    pairs = np.unique(low.astype(np.uint64) << np.uint64(BITS) | high.astype(np.uint64))
    found: list[Range] = []
    for pair in pairs.tolist():
        first, last = pair >> BITS, pair & LAST
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found

"""Bytes that share a place are followed here: one that is written takes away what the others hold.

Needs the new place of each byte; changes states. Each byte of the original has two places in a state. The first says
whether it may have been written. The second, its *shadow*, says whether another byte in its place may have been written
afterwards, since the last barrier. When the next barrier opens, a byte with a shadow is stale: in no interval both of
them are accessed, so nobody has read it meanwhile.
"""

from __future__ import annotations

import numpy as np

from binalloc.verify.multiplex.memory import Memory, Range
from binalloc.verify.multiplex.spread import Mask, Numbers, Spread
from binalloc.verify.multiplex.state import State
from binalloc.verify.sharing.moves import NOBODY


class Contents(Memory):
    """The contents of bytes of which some share a place."""

    def __init__(self, image: Numbers, beyond: int) -> None:
        """image: by byte its new place, `NOBODY` where no access goes. beyond: places behind the last byte."""
        self.bytes_ = len(image) + beyond
        super().__init__(2 * self.bytes_, follows=True)
        self.image = image
        self.used = image != NOBODY
        self.room = int(image.max(initial=0)) + 1

    def bytes(self, ranges: list[Range], size: int) -> Mask:
        """Return the bytes that accesses of `size` bytes touch, whose addresses are in `ranges`."""
        mask = np.zeros(self.span, np.bool_)
        for low, high in ranges:
            mask[min(low, self.bytes_ - 1) : min(high + size, self.bytes_)] = True
        return mask

    def displaced(self, touched: Mask) -> Mask:
        """Return the other bytes in the places of some that are touched."""
        count = len(self.image)
        own = touched[:count] & self.used
        taken = np.zeros(self.room, np.bool_)
        taken[self.image[own]] = True
        found = np.zeros(self.span, np.bool_)
        found[:count] = self.used & ~own & taken[self.image]
        return found

    def store(self, state: State, address: Spread, size: int, surely: Mask, touched: Mask) -> None:
        """Let threads store; see `Memory.store`. Only bytes can lose something that were written on the way here."""
        super().store(state, address, size, surely, touched)
        shadows = np.roll(self.displaced(touched) & state.written, self.bytes_)
        if (shadows & ~state.written).any():
            state.written = state.written | shadows

    def open(self, state: State, present: Mask, others: Mask | None) -> None:
        """Let a barrier open: what has lost its place becomes stale."""
        super().open(state, present, others)
        shadows = state.written[self.bytes_ :]
        if shadows.any():
            state.stale = state.stale.copy()
            state.stale[: self.bytes_] |= state.written[: self.bytes_] & shadows
            state.written = state.written.copy()
            state.written[self.bytes_ :] = False

"""This module counts the pages that the resident blocks of an SM touch at once: what a TLB must reach.

Blocks come to SMs in the order of their numbers, SMs in turn: SM s has the blocks s, s + SMs, s + 2 * SMs and so on. At
any time it holds a window of them, as many in a row as occupancy allows. Blocks that end out of order are not
modelled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from binalloc.models.batches.touches import Flags, Ints, PageTouches


@dataclass(frozen=True)
class ResidentPages:
    """Resident pages are those of one window of blocks, over all windows of all SMs."""

    most: int  #: pages of the window with most
    mean: float  #: pages of a window on average


class Windows:
    """Windows know for each touch in which windows of blocks it is the first touch of its page."""

    def __init__(self, touches: PageTouches, sms: int, resident: int) -> None:
        """Find the windows. sms: SMs that blocks come to. resident: most resident blocks of an SM."""
        sm, place = touches.numbers % sms, touches.numbers // sms
        order = np.lexsort((place, touches.pages, sm))
        sm, place = sm[order], place[order]
        blocks = np.array([len(range(s, touches.blocks, sms)) for s in range(min(sms, touches.blocks))])
        windows = np.maximum(blocks - resident, 0) + 1  # of each SM
        begin = np.cumsum(windows) - windows
        again = np.zeros(len(order), bool)
        again[1:] = (np.diff(sm) == 0) & (np.diff(touches.pages[order]) == 0)
        before = np.where(again, np.roll(place, 1), -1)
        first = np.maximum(before + 1, place - resident + 1)
        last = np.minimum(place, windows[sm] - 1) if len(sm) else place
        self._counted = first <= last
        self._first, self._last = begin[sm] + first, begin[sm] + last
        self._order, self._windows = order, int(windows.sum())

    def pages(self, wanted: Flags | None = None) -> ResidentPages:
        """Return the pages of all windows. wanted: whether each touch counts; all where it is not given."""
        kept = self._counted if wanted is None else self._counted & wanted[self._order]
        come, go = (np.bincount(at, minlength=self._windows + 1) for at in (self._first[kept], self._last[kept] + 1))
        pages: Ints = np.cumsum(come - go)[: self._windows]
        return ResidentPages(int(pages.max()), float(pages.mean()))

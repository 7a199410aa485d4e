"""This module estimates what an order of blocks costs L2 and DRAM, from the sectors of lines that each block touches.

Blocks are dealt one after the other, so the place of a block in the order is its time. Two touches of a line that are d
places apart have the lines between them that d blocks in a row touch. L2 drops those that were not used for longest, so
it still has the line if these fit. Their number is taken to be the *footprint* of d blocks, which is the mean over all
windows of d blocks (Xiang, Ding, Luo, Bao, "HOTL: a higher order theory of locality", ASPLOS 2013, section 2). It grows
with d, so there is one largest distance at which L2 still has a line: its *reach*. A sector is fetched by its first
touch, and by every touch out of reach of the one before. Blocks that run in step may share more than that, but nothing
keeps them in step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from binalloc.models.batches.touches import Flags, Ints, PageTouches

Floats = NDArray[np.float64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, of Fibonacci hashing (Knuth, vol. 3, 6.4)


def sampled(lines: Ints, bits: int) -> Flags:
    """Return which lines belong to a sample of one in 2^bits, chosen by a hash of their numbers, so that the pattern of
    accesses has no say (Waldspurger et al., "Efficient MRC construction with SHARDS", FAST 2015). A smaller sample is
    part of a larger one."""
    if bits == 0:
        return np.ones(lines.shape, bool)
    found: Flags = lines.astype(np.uint64) * _GOLDEN >> np.uint64(64 - bits) == 0
    return found


def footprints(touches: PageTouches, places: Ints) -> Floats:
    """Return for each w from 0 to the number of blocks how many pages w blocks in a row touch, the mean over all
    windows. places: of the blocks in the order in which they are dealt."""
    blocks = touches.blocks
    begins, ordered = touches.begins, _in_order(touches, places)
    before = np.diff(ordered, prepend=-1) - 1  # blocks in a row that do not touch the page, in front of each touch
    before[begins] = ordered[begins]
    ends = blocks - 1 - ordered[begins + touches.counts - 1]
    gaps = np.bincount(np.concatenate([before, ends]), minlength=blocks + 1)
    number = np.cumsum(gaps[::-1])[::-1]  # gaps of w blocks or more
    length = np.cumsum((gaps * np.arange(blocks + 1))[::-1])[::-1]
    w = np.arange(blocks + 1)
    missing = length - (w - 1) * number  # windows of w blocks that lie in a gap, over all pages
    found: Floats = len(begins) - missing / (blocks + 1 - w)
    return found


def _in_order(touches: PageTouches, places: Ints) -> Ints:
    """Return the places of the blocks that touch each page, in ascending order, page by page."""
    which = np.repeat(np.arange(len(touches.counts)), touches.counts)
    found: Ints = np.sort(which * touches.blocks + places[touches.numbers]) - which * touches.blocks
    return found


class Reuse:
    """Reuse knows what each order of blocks costs.

    sectors: which block touches which sector. per_line: sectors of a line. held: lines that L2 holds. resident: blocks
    that run at one time on all SMs.
    """

    def __init__(self, sectors: PageTouches, per_line: int, held: float, resident: int) -> None:
        self.sectors, self.lines = sectors, sectors.coarser(per_line)
        self._held, self._resident = held, resident

    @property
    def least(self) -> int:
        """Return how many sectors are touched: any order fetches these."""
        return len(self.sectors.begins)

    @property
    def shared(self) -> int:
        """Return how many sectors several blocks touch."""
        return int((self.sectors.counts > 1).sum())

    def reach(self, dealt: Ints, part: float = 1) -> int:
        """Return how many places two touches of a line may be apart at most. dealt: number of the block at each
        place. part: of L2."""
        fits = np.flatnonzero(footprints(self.lines, _places(dealt)) <= self._held * part)
        return int(fits[-1])

    def fetched(self, dealt: Ints, part: float = 1) -> int:
        """Return how many sectors L2 fetches. dealt, part: as for `reach`."""
        ordered = _in_order(self.sectors, _places(dealt))
        apart = np.diff(ordered, prepend=0)
        apart[self.sectors.begins] = 0
        return self.least + int((apart > self.reach(dealt, part)).sum())

    def asked(self, dealt: Ints, sms: int) -> int:
        """Return how many sectors the SMs ask L2 for, if each asks once for all blocks that it runs at one time. dealt:
        as for `reach`, to `sms` SMs in turn."""
        place = _places(dealt)[self.sectors.numbers]
        at_once = place // max(self._resident, 1) * sms + place % sms
        pages = np.repeat(np.arange(len(self.sectors.counts)), self.sectors.counts)
        keys = np.sort(pages * (int(at_once.max(initial=0)) + 1) + at_once)
        return int(np.count_nonzero(np.diff(keys, prepend=-1)))


def _places(dealt: Ints) -> Ints:
    """Return the place of each block."""
    found = np.empty_like(dealt)
    found[dealt] = np.arange(len(dealt))
    return found

"""This module finds the formula of a grid's batches from the pages that its blocks touch.

"Thread Batching for High-performance Energy-efficient GPU Memory Design", section 3.1, takes the stride that suppresses
the most sharing of pages between batches. Read to the letter that is the whole grid, so this rule is ours. It prefers
small batches:

1. Pages that more than half of the blocks touch are *global*, and left out: no batch but the whole grid has them.
   Of the others, a page is *shared* under a formula where several batches touch it.
2. Where at most a quarter of the pages is shared by blocks, each block is a batch (stride 1). Fig. 8 of the paper has
   three quarters of the pages in one batch alone.
3. Else it is the formula with the smallest batches that suppresses sharing: `held`, the share of the pages of several
   blocks that are within one batch, is 1/K + (1 - 1/K) / 3 or more. K is the number of batches, and 1/K is what chance
   gives two blocks. Strides and moduli from 2 to half of the blocks are tried, all of them.
4. Batches up to sixteen times as large replace it where sharing falls by at least twice what the size alone gives: the
   number of shared pages times the size of a batch is at most half. So boundaries of the data are found, where there
   are some, and where all boundaries are alike (neighbours that share their edges) batches stay small.
5. Where nothing fits, pages that more than half of the *batches* touch are left out too, and a few strides and moduli
   that follow from the width of the grid are tried again: a matrix's rows may be had by a batch, while its columns
   belong to all. At least a tenth of the shared pages must be within batches then.
6. Else no formula fits.

Of two equal sizes the one with fewer shared pages is taken, then the stride.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from binalloc.models.batches.crossings import Crossings
from binalloc.models.batches.formula import MODULUS, NONE, STRIDE, BatchFormula
from binalloc.models.batches.touches import Flags, Ints, PageTouches, most

QUARTER = 4  # one shared page in so many is few: Fig. 8 of the paper has about 75 % of the pages in one batch
LARGER = 16  # step 4 looks at batches up to so many times as large; chosen by hand, so that batches stay small
ALONE, FOUND, NO_PAGES, ALL_GLOBAL, SCATTERED = "alone", "found", "no_pages", "all_global", "scattered"
"""Reasons: blocks share few pages, or are shared by no others; a formula keeps shared pages within batches; no page is
touched; all pages are global; no formula keeps the shared pages within batches."""


@dataclass(frozen=True)
class Fit:
    """A fit is the formula of a grid, with the pages that were left out."""

    formula: BatchFormula
    reason: str  #: one of the reasons above
    is_global: Flags  #: whether each page is global


@dataclass(frozen=True)
class _Tried:
    """A tried formula has its number of shared pages."""

    formula: BatchFormula
    size: int  #: blocks of a batch
    shared: int

    @property
    def rank(self) -> tuple[int, int, bool]:
        """Return what is compared: the smallest is preferred."""
        return self.size, self.shared, self.formula.kind != STRIDE


class Sharing:
    """Sharing counts the pages that several batches of a formula touch, without the global ones."""

    def __init__(self, touches: PageTouches) -> None:
        self._touches, self.blocks = touches, touches.blocks
        self.left = ~touches.everywhere  #: pages that are not global
        several = self.left & (touches.counts > 1)
        self.by_blocks = int(several.sum())  #: pages of several blocks
        self.most = -(-self.blocks // 2)  #: largest stride that is tried
        self._lowest, self._highest = touches.lowest[several], touches.highest[several]
        self._steps = touches.steps[several]

    @cached_property
    def crossings(self) -> Crossings:
        """Return the counts for strides."""
        return Crossings(self.blocks, self._lowest, self._highest)

    @cached_property
    def moduli(self) -> Ints:
        """Return the number of shared pages for each modulus, from 0 (which means nothing) to the last one that has
        fewer than the blocks have by themselves, or to half of the blocks. A page is within one batch where the modulus
        divides all differences between its blocks."""
        last = min(int(self._steps.max(initial=1)), self.blocks // 2)
        counts = np.bincount(self._steps, minlength=last + 1)
        held = [0, self.by_blocks, *(int(counts[m::m].sum()) for m in range(2, last + 1))]
        return self.by_blocks - np.array(held[: last + 1], np.int64)

    def of(self, formula: BatchFormula) -> int:
        """Return the number of shared pages under a formula."""
        if formula.kind == STRIDE:
            return int(self.crossings.shared(np.array([formula.value]))[0])
        if formula.kind == NONE:
            return self.by_blocks
        known = self.moduli
        if formula.value < len(known):
            return int(known[formula.value])
        return int((self._steps % formula.value != 0).sum())


def fit(touches: PageTouches, width: int) -> Fit:
    """Return the formula of a grid's batches by the rule above. width: gridDim.x."""
    lost = touches.everywhere
    if not len(touches.counts):
        return Fit(BatchFormula(NONE), NO_PAGES, lost)
    if touches.blocks == 1:
        return Fit(BatchFormula(STRIDE, 1), ALONE, lost)
    if lost.all():
        return Fit(BatchFormula(NONE), ALL_GLOBAL, lost)
    sharing = Sharing(touches)
    first = _first(sharing)
    if first is None:
        return _among_wide(touches, sharing, width)
    better = _boundaries(sharing, first)
    return Fit(better.formula, ALONE if better.size == 1 else FOUND, lost)


def _suppresses(held: int | Ints, pages: int | Ints, batches: int | Ints) -> Flags:
    """Return whether step 3 of the rule holds: held / pages >= 1/K + (1 - 1/K) / 3 of K batches."""
    return np.asarray((held > 0) & (3 * batches * held >= (batches + 2) * pages))


def _first(sharing: Sharing) -> _Tried | None:
    """Return the formula of step 2, else that of step 3; None where there is none."""
    if QUARTER * sharing.by_blocks <= int(sharing.left.sum()):
        return _Tried(BatchFormula(STRIDE, 1), 1, sharing.by_blocks)
    found = [each for each in (_first_modulus(sharing), _first_stride(sharing)) if each is not None]
    return min(found, key=lambda each: each.rank, default=None)


def _first_modulus(sharing: Sharing) -> _Tried | None:
    shared = sharing.moduli
    moduli = np.arange(len(shared))
    fits = _suppresses(sharing.by_blocks - shared, sharing.by_blocks, moduli) & (moduli >= 2)
    if not fits.any():
        return None
    last = int(moduli[fits][-1])
    size = -(-sharing.blocks // last)
    same = moduli[fits & (-(-sharing.blocks // np.maximum(moduli, 1)) == size)]
    best = int(same[np.argmin(shared[same])])
    return _Tried(BatchFormula(MODULUS, best), size, int(shared[best]))


def _first_stride(sharing: Sharing) -> _Tried | None:
    """Return the smallest stride that suppresses sharing. Strides are asked about in turns of twice as many, as small
    ones are likely, and only where pages are near enough to lie in one batch."""
    begin = 2
    while begin <= sharing.most:
        strides = np.arange(begin, min(2 * begin, sharing.most + 1))
        batches = -(-sharing.blocks // strides)
        strides = strides[_suppresses(sharing.crossings.nearer(strides), sharing.by_blocks, batches)]
        shared = sharing.crossings.shared(strides)
        fits = _suppresses(sharing.by_blocks - shared, sharing.by_blocks, -(-sharing.blocks // strides))
        if fits.any():
            at = int(np.argmax(fits))
            stride = int(strides[at])
            return _Tried(BatchFormula(STRIDE, stride), stride, int(shared[at]))
        begin *= 2
    return None


def _boundaries(sharing: Sharing, first: _Tried) -> _Tried:
    """Return the formula of step 4, else the first one."""
    if first.shared == 0:
        return first
    last = min(LARGER * first.size, sharing.most)
    strides = np.arange(first.size + 1, last + 1)
    tried = [
        _Tried(BatchFormula(STRIDE, int(stride)), int(stride), int(shared))
        for stride, shared in zip(strides, sharing.crossings.shared(strides), strict=True)
    ]
    shared_of = sharing.moduli
    moduli = np.arange(2, len(shared_of))
    sizes = -(-sharing.blocks // moduli)
    near = (sizes > first.size) & (sizes <= last)
    tried += [
        _Tried(BatchFormula(MODULUS, int(modulus)), int(size), int(shared_of[modulus]))
        for modulus, size in zip(moduli[near], sizes[near], strict=True)
    ]
    best = min(tried, key=lambda each: (each.shared * each.size, *each.rank), default=first)
    return best if 2 * best.shared * best.size <= first.shared * first.size else first


def _among_wide(touches: PageTouches, sharing: Sharing, width: int) -> Fit:
    """Return the fit of step 5, else that of step 6."""
    strides = {width * 2**k for k in range(3)} | {2**k for k in range(1, sharing.most.bit_length())}
    parts = {width >> k for k in range(4) if width % 2**k == 0}
    tried = [BatchFormula(STRIDE, s) for s in strides | parts if 2 <= s <= sharing.most]
    tried += [BatchFormula(MODULUS, m) for m in parts if 2 <= m <= touches.blocks // 2]
    several = sharing.left & (touches.counts > 1)
    size = {each: each.value if each.kind == STRIDE else -(-touches.blocks // each.value) for each in tried}
    best: tuple[_Tried, Flags] | None = None
    for each in sorted(tried, key=lambda each: (size[each], each.kind != STRIDE)):
        if best is not None and size[each] > best[0].size:
            break
        if 10 * (sharing.by_blocks - sharing.of(each)) < sharing.by_blocks:
            continue
        batches = touches.batches(each)
        wide = most(batches, each.count(touches.blocks))
        left, held = int((several & ~wide).sum()), int((several & (batches == 1)).sum())
        if _suppresses(held, left, each.count(touches.blocks)):
            one = _Tried(each, size[each], left - held)
            if best is None or one.rank < best[0].rank:
                best = one, wide
    if best is None:
        return Fit(BatchFormula(NONE), SCATTERED, touches.everywhere)
    return Fit(best[0].formula, FOUND, touches.everywhere | best[1])

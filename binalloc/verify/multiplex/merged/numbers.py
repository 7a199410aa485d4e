"""Numbers that inserted words of a merged kernel compute: what they are in each thread of one virtual block.

Needs the block's size and the number of the virtual block. A number may depend on two things that a launch decides: the
merged block's number along the axis of the merge, and the extent of the original's grid. Everything else is exact, but
for addresses: they are expressions over the original's registers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

import numpy as np

from binalloc.isa.interface.formulas import Act, Formula, Order
from binalloc.isa.interface.instruction_set import SetLimits
from binalloc.isa.interface.places import LANES, PRED_BASE, TRUE
from binalloc.isa.interface.sums import Sum
from binalloc.isa.interface.view import Guard
from binalloc.verify.multiplex.addressing.expressions import (
    Choice,
    Expression,
    Fact,
    Place,
    guarded,
    registers,
    results,
)
from binalloc.verify.multiplex.addressing.expressions import number as constant
from binalloc.verify.multiplex.spread import LAST, Mask, Numbers, Spread, known, logic, opposite
from binalloc.verify.multiplex.words import Setting, Word

Three = tuple[int, int, int]
DEEPEST = 64  # most threads of a block along z, on every GPU that Loom is modelled on
IN_GRID = 3  # places and sizes of axes from this one on are those of the grid


@dataclass(frozen=True)
class Merge:
    """A merge says how blocks of the original became one."""

    count: int  #: virtual blocks of a merged block
    block: Three  #: threads of the original's block along x, y and z
    axis: int  #: of the grid, along which neighbours were merged: 0, 1 or 2
    extent: int  #: byte of the parameters with the extent of the original's grid along it

    @property
    def threads(self) -> int:
        """Return the threads of a virtual block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps(self) -> int:
        """Return the warps of a virtual block: the last one may have fewer threads."""
        return -(-self.threads // LANES)

    @property
    def stacked(self) -> bool:
        """Return whether virtual blocks lie one behind the other along z: they are of whole warps, and a block may be
        so deep."""
        return self.threads % LANES == 0 and self.block[2] * self.count <= DEEPEST

    @property
    def merged(self) -> Three:
        """Return the threads of a merged block along x, y and z. Where virtual blocks are not stacked it has one
        dimension, and behind each one are padding threads up to the next whole warp."""
        x, y, z = self.block
        return (x, y, z * self.count) if self.stacked else (self.warps * LANES * self.count, 1, 1)


@dataclass(frozen=True)
class Number:
    """A number is a word of each thread, modulo the words' range: `at`, plus multiples of what the launch decides."""

    at: bytes  #: as an array of 64-bit integers
    block: int = 0  #: how many times the merged block's number along the axis
    extent: int = 0  #: how many times the extent of the original's grid

    @property
    def array(self) -> Numbers:
        return np.frombuffer(self.at, np.int64)

    @property
    def exact(self) -> bool:
        return not self.block and not self.extent

    @property
    def uniform(self) -> bool:
        return bool((self.array == self.array[0]).all())


@dataclass(frozen=True)
class Decided:
    """A predicate is decided where it is known in each thread."""

    at: bytes  #: as an array of truth values

    @property
    def array(self) -> Mask:
        return np.frombuffer(self.at, np.bool_)

    @property
    def all(self) -> bool:
        return bool(self.array.all())

    @property
    def none(self) -> bool:
        return not self.array.any()


Value = Number | Decided | Fact
Known = dict[int, Value]
"""What is known of places."""


def forget(values: Known, changed: Collection[int]) -> None:
    """Forget expressions over places that have other values now."""
    for at, value in list(values.items()):
        if not isinstance(value, Number | Decided) and not registers(value).isdisjoint(changed):
            del values[at]


def expression(values: Known, at: int, original: Callable[[int], bool]) -> Expression | None:
    """Return what a register holds, as an expression. original: whether a place has the original's value."""
    value = values.get(at)
    if value is None:
        return Place(False, at, 0) if original(at) else None
    if isinstance(value, Number):
        return constant(int(value.array[0])) if value.exact and value.uniform else None
    return value if isinstance(value, Place | Choice) else None


def nothing(at: int) -> bool:
    return False


def number(values: Numbers, block: int = 0, extent: int = 0) -> Number:
    return Number((values & LAST).astype(np.int64).tobytes(), block & LAST, extent & LAST)


class Machine:
    """The machine executes inserted words in the threads of virtual block `virtual`. goes_on: whether its number is
    within the original's grid. present: how many virtual blocks of its merged block are; None where that is left open.
    padding: the threads are those with which it is padded, of which there is at least one.
    """

    def __init__(
        self, merge: Merge, limits: SetLimits, virtual: int, goes_on: bool = True, present: int | None = None,
        padding: bool = False,
    ) -> None:  # fmt: skip
        self.merge, self.limits, self.virtual, self.present = merge, limits, virtual, present
        #: virtual blocks of lower numbers are within the grid, those of so high ones are not, nor are others behind
        self.least = virtual + goes_on if present is None else present
        self.most = None if goes_on and present in (None, merge.count) else self.least
        names = {k: name for name, k in limits.places.items()}
        sizes = {k: name for name, k in limits.sizes.items()}
        self.block_number = names[IN_GRID + merge.axis]
        first, end = (merge.threads, merge.warps * LANES) if padding else (0, merge.threads)
        self.setting = Setting((end - first, 1, 1), limits)
        self.threads = end - first
        every = np.full(self.threads, 1, np.int64)
        own = Setting(merge.block, limits).special  # of the original's block
        #: what the original reads from special registers that have other values in the merged kernel
        self.expected: dict[str, Number] = {}
        if not padding:
            axes = (2,) if merge.stacked else (0, 1, 2)
            differing = [limits.warp, *(of[k] for of in (names, sizes) for k in axes)]
            self.expected = {name: number(own[name].low) for name in differing}
            self.expected[limits.warps] = number(every * merge.warps)
            self.expected[self.block_number] = number(every * virtual, block=merge.count)
            self.expected[sizes[IN_GRID + merge.axis]] = number(every * 0, extent=1)
        at = virtual * merge.warps * LANES + np.arange(first, end, dtype=np.int64)  # in the merged block, along x first
        x, y, _ = merge.merged
        special = self.setting.special
        for k, numbers in enumerate((at % x, at // x % y, at // (x * y))):
            special[names[k]] = known(numbers)
            special[sizes[k]] = known(every * merge.merged[k])
        special[limits.lane] = known(at % LANES)
        special[limits.warp] = known(at // LANES)
        special[limits.warps] = known(every * (merge.warps * merge.count))

    def decided(self, truth: bool) -> Decided:
        """Return a predicate that is the same in all threads."""
        return Decided(np.full(self.threads, truth).tobytes())

    def truth(self, guard: Guard | None, values: Known) -> Decided | None:
        """Return whether a guard holds, None where that is not known."""
        if guard is None or guard[0] == TRUE:
            return self.decided(guard is None or not guard[1])
        value = values.get(PRED_BASE + guard[0])
        if not isinstance(value, Decided):
            return None
        return Decided((~value.array).tobytes()) if guard[1] else value

    def execute(self, word: Word, values: Known, original: Callable[[int], bool] = nothing) -> None:
        """Execute an inserted word that is pure: change what is known of places. original: whether a place has the
        original's value."""

        def read(at: int) -> Expression | None:
            return expression(values, at, original)

        guard = word.view.guard
        truth, test = self.truth(guard, values), None if guard is None else values.get(PRED_BASE + guard[0])
        found = dict(self._results(word, values)) if truth is not None else {}
        made = results(word.instr, word.uses, read)
        for k, place in enumerate(word.defs):
            old = values.get(place)
            new: Value | None = found.get(place, made.get(k))
            if truth is None:
                new = guarded(guard, made.get(k), test, read(place))
            elif not truth.all:
                new = old if truth.none else _chosen(truth.array, new, old)
            if new is None:
                values.pop(place, None)
            else:
                values[place] = new
        forget(values, word.defs)

    def _results(self, word: Word, values: Known) -> Iterator[tuple[int, Number | Decided]]:
        def read(at: int) -> Spread:
            value = values.get(at)
            if isinstance(value, Decided):
                array = value.array.astype(np.int64)
                return Spread(array, array, False)
            if isinstance(value, Number) and value.exact:
                return Spread(value.array, value.array, False)
            return self.setting.either if at >= PRED_BASE else self.setting.different

        for k, (place, spread) in enumerate(zip(word.defs, word.results(self.setting, read), strict=True)):
            if place < PRED_BASE:
                value = number(spread.low) if spread.all_exact else None
                if value is None and k in word.sums:
                    value = self._sum(word.sums[k], word, values)
                if value is not None:
                    yield place, value
                continue
            if not spread.all_exact and k in word.formulas:
                spread = self._compared(word.formulas[k], word, values, read) or spread
            if spread.all_exact:
                yield place, Decided((spread.low == 1).tobytes())

    def _sum(self, s: Sum, word: Word, values: Known) -> Number | None:
        """Return a sum with what the launch decides."""
        at = np.full(self.threads, s.constant, np.int64)
        block = extent = 0
        for use, factor in s.uses:
            value = values.get(word.uses[use])
            if not isinstance(value, Number):
                return None
            at = (at + value.array * (factor & LAST) % (LAST + 1)) & LAST if factor != 1 else at + value.array
            block, extent = block + value.block * factor, extent + value.extent * factor
        for bank, offset, factor in s.reads:
            if bank != 0 or offset != self.merge.extent:
                return None
            extent += factor
        for name in s.special:
            if name == self.block_number:
                block += 1
            elif name in self.setting.special:
                at = at + self.setting.special[name].low
            else:
                return None
        return number(at, block, extent)

    def _compared(self, f: Formula, word: Word, values: Known, read: object) -> Spread | None:
        """Return the truth of a comparison of the virtual block's number with the extent of the grid."""
        if f.act != Act.COMPARE or f.signed:
            return None
        one, other = (self._sum(s, word, values) for s in f.words)
        limit = number(np.zeros(self.threads, np.int64), extent=1)
        if other == limit and f.order in (Order.LESS, Order.GREATER_EQUAL):
            within = self._within(one)
        elif one == limit and f.order in (Order.GREATER, Order.LESS_EQUAL):
            within = self._within(other)
        else:
            return None
        if within is None:
            return None
        holds = within == (f.order in (Order.LESS, Order.GREATER))
        assert callable(read)
        truth = f.truths[0]
        value: Spread = self.setting.always if truth.use is None else read(word.uses[truth.use])
        compared = self.setting.always if holds else opposite(self.setting.always)
        return logic([compared, opposite(value) if truth.negated else value], f.table, same=False)

    def _within(self, of: Number | None) -> bool | None:
        """Return whether a virtual block's number is within the original's grid, None where that is not known."""
        if of is None or (of.block, of.extent) != (self.merge.count, 0) or not of.uniform:
            return None
        virtual = int(of.array[0])
        if virtual < self.least:
            return True
        return False if self.most is not None and virtual >= self.most else None


def _chosen(truth: Mask, yes: Value | None, no: Value | None) -> Value | None:
    if isinstance(yes, Number) and isinstance(no, Number) and (yes.block, yes.extent) == (no.block, no.extent):
        return number(np.where(truth, yes.array, no.array), yes.block, yes.extent)
    if isinstance(yes, Decided) and isinstance(no, Decided):
        return Decided(np.where(truth, yes.array, no.array).tobytes())
    return None

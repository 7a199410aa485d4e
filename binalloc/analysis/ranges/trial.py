"""This module finds bounds of symbols that depend on one another, as values in loops do.

Needs what computes the bounds of one symbol of those of others; leaves bounds that hold all at once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from heapq import heappop, heappush
from typing import NamedTuple

from binalloc.analysis.ranges.value import SIGNED, UNSIGNED, Interval, Symbol

_TRIES = 4  # chosen by hand: times that bounds grow as they need to, before they grow to the ends of all numbers
_NARROWED = 2  # chosen by hand: times that bounds are computed again of bounds that have grown too far


class Both(NamedTuple):
    """Bounds of a word are an interval of unsigned and one of signed numbers."""

    unsigned: Interval
    signed: Interval

    def joined(self, other: Both) -> Both:
        return Both(self.unsigned.joined(other.unsigned), self.signed.joined(other.signed))

    def within(self, other: Both) -> bool:
        return self.unsigned.within(other.unsigned) and self.signed.within(other.signed)

    def shorter(self) -> Interval:
        return min(self, key=lambda interval: interval.high - interval.low)


WHOLE = Both(UNSIGNED, SIGNED)


class NoValueError(Exception):
    """A symbol has no bounds yet, as no thread has come to it in a trial so far."""


class Trial:
    """A trial finds bounds of symbols that depend on one another.

    once: computes the bounds of a symbol of those that `read` gives for others; None where no way has a value yet.

    A trial begins without any, and lets them grow until those that follow from them are within them. Then they hold
    for the first words of all threads, and for each word if they hold for those before. (Cousot and Cousot, "Abstract
    Interpretation", POPL 1977: growth that goes on is widened, and narrowed at the end.)
    """

    def __init__(self, once: Callable[[Symbol], Both | None]) -> None:
        self._once = once
        self.bounds: dict[Symbol, Both | None] = {}
        self.made: dict[Hashable, Interval] = {}  #: other bounds that were computed for the same symbol
        self._users: dict[Symbol, set[Symbol]] = defaultdict(set)  #: symbols whose bounds follow from these
        self._work: list[Symbol] = []  #: a heap of symbols to compute, each once
        self._waiting: set[Symbol] = set()  #: the same symbols
        self._for = -1  #: the symbol that is being computed
        self._grown: Counter[Symbol] = Counter()

    def read(self, symbol: Symbol) -> Interval:
        """Return the present bounds of a symbol."""
        self._users[symbol].add(self._for)
        if symbol not in self.bounds:
            self.bounds[symbol] = None
            self._wait(symbol)
        found = self.bounds[symbol]
        if found is None:
            raise NoValueError
        return found.shorter()

    def run(self, symbol: Symbol) -> dict[Symbol, Interval]:
        """Return bounds of a symbol, and of all those on which it depends."""
        self.bounds[symbol] = None
        self._wait(symbol)
        self._grow()
        while None in self.bounds.values():  # no thread comes to these
            for each in [each for each, found in self.bounds.items() if found is None]:
                self._put(each, WHOLE)
            self._grow()
        if max(self._grown.values(), default=0) > _TRIES:
            for _ in range(_NARROWED):
                for each in sorted(self.bounds):
                    self._narrow(each)
        return {each: found.shorter() for each, found in self.bounds.items() if found is not None}

    def _grow(self) -> None:
        """Let bounds grow until they hold."""
        while self._work:
            symbol = heappop(self._work)
            self._waiting.discard(symbol)
            found, old = self._computed(symbol), self.bounds[symbol]
            if found is None or (old is not None and found.within(old)):
                continue
            self._grown[symbol] += 1
            if old is not None:
                found = old.joined(found)
                if self._grown[symbol] > _TRIES:
                    pairs = zip(old, found, WHOLE, strict=True)
                    found = Both(*(_widened(before, now, whole) for before, now, whole in pairs))
            self._put(symbol, found)

    def _put(self, symbol: Symbol, found: Both) -> None:
        self.bounds[symbol] = found
        for user in self._users[symbol]:
            self._wait(user)

    def _wait(self, symbol: Symbol) -> None:
        if symbol not in self._waiting:
            self._waiting.add(symbol)
            heappush(self._work, symbol)

    def _computed(self, symbol: Symbol) -> Both | None:
        self._for = symbol
        self.made.clear()
        return self._once(symbol)

    def _narrow(self, symbol: Symbol) -> None:
        """Take what follows from bounds that hold."""
        found, old = self._computed(symbol), self.bounds[symbol]
        if found is not None and old is not None:
            both = [Interval(max(x.low, y.low), min(x.high, y.high)) for x, y in zip(old, found, strict=True)]
            if all(interval.low <= interval.high for interval in both):
                self.bounds[symbol] = Both(*both)


def _widened(before: Interval, now: Interval, whole: Interval) -> Interval:
    """Return an interval that has grown, with the ends at which it has grown moved as far as they may have to."""
    low = now.low if now.low == before.low else 0 if now.low >= 0 else whole.low
    high = now.high if now.high == before.high else SIGNED.high if now.high <= SIGNED.high else whole.high
    return Interval(low, high)

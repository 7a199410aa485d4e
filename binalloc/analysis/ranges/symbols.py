"""Symbols are the unknown parts of values; this module finds bounds of them, and of values at a place.

A symbol stands for a word that each thread has by itself, from the place where it gets it until it comes there again.
Bounds are integers that are equal to the word modulo 2^32: so sums of bounds are bounds of sums, whatever wraps around.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from binalloc.analysis.ranges import acts
from binalloc.analysis.ranges.value import SIGNED, UNSIGNED, Interval, Symbol, Value, window
from binalloc.isa.interface.formulas import Formula, Order

_DEEPEST = 5  # chosen by hand: joins and rounds whose bounds are sought one for another
_TRIES = 4  # chosen by hand: times that the bounds of a join in a loop are widened, to the ends of all numbers at last


class Fact(NamedTuple):
    """A fact is a comparison that holds at a place."""

    value: Value
    order: Order
    other: Value
    signed: bool

    def both(self) -> Iterator[Fact]:
        """Yield the fact as it is said of either value."""
        yield self
        yield Fact(self.other, acts.TURNED[self.order], self.value, self.signed)


Facts = tuple[Fact, ...]


@dataclass
class Made:
    """A made symbol is what a formula gives."""

    formula: Formula
    words: tuple[Value, ...]


@dataclass
class Joined:
    """A joined symbol is one of several values, each with what is known where it comes from."""

    ways: list[tuple[Value, Facts]] = field(default_factory=list)
    #: the ways that lead around a loop to the join, whose values may depend on the symbol itself
    around: list[tuple[Value, Facts]] = field(default_factory=list)
    unknown: bool = False  #: there is another way, of which nothing is known


@dataclass
class Round:
    """A round is how often a thread has come back to the head of a loop since it entered it."""

    function: str  #: name of the function
    loop: int  #: index of the loop in its nest
    #: for each exit that is asked in every round, what holds in a thread that goes on
    exits: list[Facts] = field(default_factory=list)
    before: Facts = ()  #: what holds in threads that come to the loop


Source = Interval | Made | Joined | Round


class Symbols:
    """A table of symbols: where each comes from, and its bounds."""

    def __init__(self) -> None:
        self.sources: list[Source] = []
        self._numbers: dict[Hashable, Symbol] = {}
        self._always: dict[Symbol, Fact] = {}  #: what holds everywhere of values with this symbol
        self._bounds: dict[tuple[Symbol, Facts], Interval] = {}
        self._pending: set[tuple[Symbol, Facts]] = set()  #: whose bounds are being sought
        self._assumed: dict[Symbol, Interval] = {}  #: while bounds of these are sought, `_bounds` is left alone

    def symbol(self, label: Hashable, source: Source) -> Symbol:
        """Return the symbol with that label, a new one if there is none."""
        if label not in self._numbers:
            self._numbers[label] = len(self.sources)
            self.sources.append(source)
        return self._numbers[label]

    def value(self, label: Hashable, source: Source) -> Value:
        """Return the symbol with that label as a value."""
        return Value(0, ((self.symbol(label, source), 1),))

    def always(self, symbol: Symbol, fact: Fact) -> None:
        """Note a fact that holds everywhere of values with a symbol."""
        self._always[symbol] = fact

    def within(self, value: Value, signed: bool, facts: Facts = ()) -> Interval:
        """Return an interval that contains the numbers that a value may be, where the facts hold."""
        found = whole = window(signed)
        for interval in self._intervals(value, facts):
            moved = interval.moved_into(whole)
            if moved is not None:
                low, high = max(found.low, moved.low), min(found.high, moved.high)
                if low > high:
                    return found  # no thread comes here
                found = Interval(low, high)
        return found

    def _intervals(self, value: Value, facts: Facts) -> Iterator[Interval]:
        """Yield intervals of integers, each of which contains a value modulo 2^32."""
        yield self.integers(value, facts)
        symbols = {symbol for symbol, _ in value.terms}
        for fact in facts:
            yield from self._by(fact, value, facts, lambda said: self.within(said.value, said.signed))
        for symbol in sorted(symbols & self._always.keys()):
            yield from self._by(self._always[symbol], value, facts, lambda said: window(said.signed))

    def _by(self, fact: Fact, value: Value, facts: Facts, known: Callable[[Fact], Interval]) -> Iterator[Interval]:
        """Yield intervals that contain a value which has symbols with the fact's in common. known: an interval that
        contains the fact's value anyway."""
        for said in fact.both():
            factors = {
                value.factor(symbol) // factor
                for symbol, factor in said.value.terms
                if value.factor(symbol) and value.factor(symbol) % factor == 0
            }
            if not factors:
                continue
            narrowed = acts.allowed(said.order, self.within(said.other, said.signed), known(said))
            if narrowed is not None:
                for times in sorted(factors):
                    yield self.integers(value.plus(said.value, -times), facts).plus(narrowed.times(times))

    def integers(self, value: Value, facts: Facts = ()) -> Interval:
        """Return an interval of integers that contains the sum of a value's base and terms, modulo 2^32."""
        found = value.spread()
        for symbol, factor in value.terms:
            found = found.plus(self.bounds(symbol, facts).times(factor))
        return found

    def bounds(self, symbol: Symbol, facts: Facts = ()) -> Interval:
        """Return an interval of integers that contains a symbol's word, modulo 2^32, where the facts hold."""
        if symbol in self._assumed:
            return self._assumed[symbol]
        if not isinstance(self.sources[symbol], Made):
            facts = ()
        key = symbol, facts
        if key in self._pending:  # a fact led back to the symbol: without facts it cannot
            key = symbol, ()
        if key in self._bounds:
            return self._bounds[key]
        self._pending.add(key)
        found = self._sought(*key)
        self._pending.discard(key)
        if not self._assumed:
            self._bounds[key] = found
        return found

    def _sought(self, symbol: Symbol, facts: Facts) -> Interval:
        if len(self._assumed) > _DEEPEST:
            return UNSIGNED
        source = self.sources[symbol]
        match source:
            case Interval():
                return source
            case Made():
                return acts.bounded_word(source.formula, lambda k, signed: self.within(source.words[k], signed, facts))
            case Round():
                with _Assumption(self, symbol, UNSIGNED):
                    return Interval(0, min([UNSIGNED.high, *self._last_rounds(symbol, source)]))
            case Joined():
                return self._joined(symbol, source)

    def _joined(self, symbol: Symbol, source: Joined) -> Interval:
        """Return the bounds of a join. Those of its ways around are assumed, tried, and widened until they hold."""
        best = UNSIGNED
        if source.unknown:
            return best
        for signed in (False, True):
            found = self._all(source.ways, signed)
            for _ in range(_TRIES if source.around else 0):
                with _Assumption(self, symbol, found):
                    wider = self._all(source.around, signed)
                if wider.within(found):
                    break
                low = found.low if found.low <= wider.low else 0 if wider.low >= 0 else SIGNED.low
                high = found.high if found.high >= wider.high else SIGNED.high
                found = Interval(low, high if high >= wider.high else UNSIGNED.high)
            else:
                if source.around:
                    found = window(signed)
            if found.high - found.low < best.high - best.low:
                best = found
        return best

    def _all(self, ways: list[tuple[Value, Facts]], signed: bool) -> Interval:
        found = [self.within(value, signed, facts) for value, facts in ways]
        return Interval(min(x.low for x in found), max(x.high for x in found))

    def _last_rounds(self, symbol: Symbol, source: Round) -> Iterator[int]:
        """Yield upper limits of a round: one for each fact of an exit that fails sooner or later."""
        for facts in source.exits:
            for fact in facts:
                for said in fact.both():
                    factor = said.value.factor(symbol)
                    if factor:
                        rest = said.value.plus(Value(0, ((symbol, 1),)), -factor)
                        last = self._last(said, rest, factor, source.before)
                        if last is not None:
                            yield last

    def _moved(self, value: Value, whole: Interval, facts: Facts) -> Interval | None:
        """Return an interval of numbers in which a value is; None where nothing is known of it."""
        found = self.within(value, whole.low < 0, facts)
        return None if found == whole else found

    def _until_equal(self, rest: Value, other: Value, factor: int, before: Facts) -> int | None:
        """Return a round in which `rest` plus `factor` times the round has become `other` in every thread."""
        away = other.plus(rest, -1) if factor > 0 else rest.plus(other, -1)
        step = abs(factor)
        whole = step & step - 1 == 0 and all(times % step == 0 for _, times in away.terms)
        if (not whole and away.terms) or np.any(away.base % step):
            return None
        last = self.within(away, False, before).high // step
        return last if last < UNSIGNED.high // step else None

    def _last(self, fact: Fact, rest: Value, factor: int, before: Facts) -> int | None:
        """Return the last round that a thread may come to if it goes on while the fact holds of `rest` plus `factor`
        times the round.

        In no round before does the sum leave the numbers that its word stands for, so it is compared as an integer.
        """
        if fact.order == Order.UNEQUAL:
            return self._until_equal(rest, fact.other, factor, before)
        whole = window(fact.signed)
        start = self._moved(rest, whole, before)
        allowed = acts.allowed(fact.order, self.within(fact.other, fact.signed), whole)
        if start is None:
            return None
        if allowed is None:
            return 0
        if factor < 0:  # the same downwards
            start, allowed = Interval(-start.high, -start.low), Interval(-allowed.high, -allowed.low)
            whole, factor = Interval(-whole.high, -whole.low), -factor
        if allowed.high + factor + start.high - start.low > whole.high:
            return None
        return max(0, (allowed.high - start.low) // factor + 1)


class _Assumption:
    """While an assumption lasts, a symbol has these bounds, and bounds that follow from them are not kept."""

    def __init__(self, symbols: Symbols, symbol: Symbol, bounds: Interval) -> None:
        self.assumed, self.symbol, self.bounds = symbols._assumed, symbol, bounds

    def __enter__(self) -> None:
        self.assumed[self.symbol] = self.bounds

    def __exit__(self, *_: object) -> None:
        del self.assumed[self.symbol]

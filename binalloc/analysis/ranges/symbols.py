"""Symbols are the unknown parts of values; this module finds bounds of them, and of values at a place.

A symbol stands for a word that each thread has by itself, from the place where it gets it until it comes there again.
Bounds are integers that are equal to the word modulo 2^32: so sums of bounds are bounds of sums, whatever wraps around.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from binalloc.analysis.flow.cfg import BlockNumber
from binalloc.analysis.ranges import acts
from binalloc.analysis.ranges.trial import WHOLE, Both, NoValueError, Trial
from binalloc.analysis.ranges.value import SIGNED, UNSIGNED, Interval, Symbol, Value, window
from binalloc.isa.interface.formulas import Formula, Order

_DEEPEST = 16  # made symbols whose bounds are sought one for another: each takes nine of Python's thousand calls


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
    blocks: frozenset[BlockNumber]  #: blocks of the loop
    #: for each exit that is asked in every round, what holds in a thread that goes on
    exits: list[Facts] = field(default_factory=list)
    before: Facts = ()  #: what holds in threads that come to the loop


Source = Interval | Made | Joined | Round


class Home(NamedTuple):
    """A home is the block in which a thread gets a symbol's word; one without a home is the same all through a call."""

    function: str
    block: BlockNumber


class Symbols:
    """A table of symbols: where each comes from, and its bounds."""

    def __init__(self) -> None:
        self.sources: list[Source] = []
        self._numbers: dict[Hashable, Symbol] = {}
        self._homes: dict[Symbol, Home] = {}  #: where symbols get their words, but for those made of others' words
        self._always: dict[Symbol, Fact] = {}  #: what holds everywhere of values with this symbol
        self._bounds: dict[tuple[Symbol, Facts], Interval] = {}
        self._pending: set[tuple[Symbol, Facts]] = set()  #: made symbols whose bounds are being sought
        self._trial: Trial | None = None  #: while bounds of joins and rounds are sought, `_bounds` is left alone

    def value(self, label: Hashable, source: Source, home: Home | None = None) -> Value:
        """Return the symbol with that label as a value, a new one if there is none."""
        if label not in self._numbers:
            symbol = self._numbers[label] = len(self.sources)
            self.sources.append(source)
            if home is not None:
                self._homes[symbol] = home
        return Value(0, ((self._numbers[label], 1),))

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
        factors = dict(value.terms)
        if not factors:
            return
        for fact in facts:
            yield from self._by(fact, value, factors, facts, lambda said: self.within(said.value, said.signed))
        for symbol in factors:
            if symbol in self._always:
                yield from self._by(self._always[symbol], value, factors, facts, lambda said: window(said.signed))

    def _by(
        self, fact: Fact, value: Value, factors: dict[Symbol, int], facts: Facts, known: Callable[[Fact], Interval]
    ) -> Iterator[Interval]:
        """Yield intervals that contain a value which has symbols with the fact's in common.

        factors: of the value, by symbol. known: gives an interval that contains the fact's value anyway.
        """
        for said in fact.both():
            shared = ((factors[symbol], factor) for symbol, factor in said.value.terms if symbol in factors)
            multiples = sorted({mine // factor for mine, factor in shared if mine % factor == 0})
            if not multiples:
                continue
            narrowed = acts.allowed(said.order, self.within(said.other, said.signed), known(said))
            if narrowed is not None:
                for times in multiples:
                    yield self.integers(value.plus(said.value, -times), facts).plus(narrowed.times(times))

    def integers(self, value: Value, facts: Facts = ()) -> Interval:
        """Return an interval of integers that contains the sum of a value's base and terms, modulo 2^32."""
        found = value.spread()
        for symbol, factor in value.terms:
            found = found.plus(self.bounds(symbol, facts).times(factor))
        return found

    def bounds(self, symbol: Symbol, facts: Facts = ()) -> Interval:
        """Return an interval of integers that contains a symbol's word, modulo 2^32, where the facts hold."""
        source = self.sources[symbol]
        if isinstance(source, Interval):
            return source
        if isinstance(source, Made):
            return self._of_made(symbol, source, facts)
        if (symbol, ()) not in self._bounds:
            if self._trial is not None:
                return self._trial.read(symbol)
            pending, self._pending = self._pending, set()
            self._trial = Trial(self.once)
            found = self._trial.run(symbol)
            self._trial, self._pending = None, pending
            self._bounds |= {(each, ()): bounds for each, bounds in found.items()}
        return self._bounds[symbol, ()]

    def _of_made(self, symbol: Symbol, source: Made, facts: Facts) -> Interval:
        """Return bounds of a made symbol, which follow from those of its words."""
        key = symbol, facts
        if key in self._pending:  # a fact led back to the symbol: without facts it cannot
            key = symbol, ()
        kept = self._bounds if self._trial is None else self._trial.made
        if key in kept or key in self._bounds:
            return kept[key] if key in kept else self._bounds[key]
        if len(self._pending) > _DEEPEST:
            return UNSIGNED
        before, self._pending = self._pending, self._pending | {key}
        try:
            kept[key] = acts.bounded_word(
                source.formula, lambda k, signed: self.within(source.words[k], signed, key[1])
            )  # fmt: skip
        finally:
            self._pending = before
        return kept[key]

    def once(self, symbol: Symbol) -> Both | None:
        """Return bounds of a join or round that follow from the present bounds of other symbols; None where no way
        has a value yet."""
        source = self.sources[symbol]
        if isinstance(source, Round):
            return Both(Interval(0, min([UNSIGNED.high, *self._last_rounds(symbol, source)])), SIGNED)
        assert isinstance(source, Joined)
        if source.unknown:
            return WHOLE
        found: Both | None = None
        for value, facts in (*source.ways, *source.around):
            try:
                way = Both(self.within(value, False, facts), self.within(value, True, facts))
            except NoValueError:
                continue
            found = way if found is None else found.joined(way)
        return found

    def _last_rounds(self, symbol: Symbol, source: Round) -> Iterator[int]:
        """Yield upper limits of a round: one for each fact of an exit that fails sooner or later."""
        for said in (said for facts in source.exits for fact in facts for said in fact.both()):
            factor = said.value.factor(symbol)
            if factor:
                rest = said.value.plus(Value(0, ((symbol, 1),)), -factor)
                try:
                    last = self._last(said, rest, factor, source)
                except NoValueError:
                    last = 0  # no thread has come to the exit yet
                if last is not None:
                    yield last

    def _fixed(self, value: Value, source: Round) -> bool:
        """Return whether a value is the same in all rounds of a loop."""
        work, seen = [symbol for symbol, _ in value.terms], set()
        while work:
            symbol = work.pop()
            home, made = self._homes.get(symbol), self.sources[symbol]
            if home is not None and home.function == source.function and home.block in source.blocks:
                return False
            if isinstance(made, Made) and symbol not in seen:
                seen.add(symbol)
                work += [inner for word in made.words for inner, _ in word.terms]
        return True

    def _moved(self, value: Value, whole: Interval, facts: Facts) -> Interval | None:
        """Return an interval of numbers in which a value is; None where nothing is known of it."""
        found = self.within(value, whole.low < 0, facts)
        return None if found == whole else found

    def _until_equal(self, rest: Value, other: Value, factor: int, source: Round) -> int | None:
        """Return a round in which `rest` plus `factor` times the round has become `other` in every thread."""
        away = other.plus(rest, -1) if factor > 0 else rest.plus(other, -1)
        step = abs(factor)
        whole = step & step - 1 == 0 and all(times % step == 0 for _, times in away.terms)
        if (not whole and away.terms) or np.any(away.base % step) or not self._fixed(away, source):
            return None
        last = self.within(away, False, source.before).high // step
        return last if last < UNSIGNED.high // step else None

    def _last(self, fact: Fact, rest: Value, factor: int, source: Round) -> int | None:
        """Return the last round that a thread may come to if it goes on while the fact holds of `rest` plus `factor`
        times the round.

        In no round before does the sum leave the numbers that its word stands for, so it is compared as an integer.
        """
        if fact.order == Order.UNEQUAL:
            return self._until_equal(rest, fact.other, factor, source)
        whole = window(fact.signed)
        start = self._moved(rest, whole, source.before)
        allowed = acts.allowed(fact.order, self.within(fact.other, fact.signed), whole)
        if start is None:
            return None
        if allowed is None:
            return 0
        if factor < 0:  # the same downwards
            start, allowed = Interval(-start.high, -start.low), Interval(-allowed.high, -allowed.low)
            whole, factor = Interval(-whole.high, -whole.low), -factor
        differs = 0 if self._fixed(rest, source) else start.high - start.low  # from one round to the next
        if allowed.high + factor + differs > whole.high:
            return None
        return max(0, (allowed.high - start.low) // factor + 1)

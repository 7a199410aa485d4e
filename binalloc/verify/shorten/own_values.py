"""This module follows what registers hold in each thread of a block, as far as own words need it.

Needs the words of a kernel and the block's size; leaves facts in front of each word. A register's word is *exact* if it
is a known number in each thread; else its *residue* may be known, the number modulo a power of two. Registers that only
inserted words write also have *expressions* over the original's registers, which hold until one of these is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np

from binalloc.isa.interface.places import PRED_BASE
from binalloc.isa.interface.sums import Sum
from binalloc.isa.kinds import CALLS
from binalloc.verify.multiplex.cases import Cases, CaseSetting
from binalloc.verify.multiplex.kernels.pairing import INSERTED
from binalloc.verify.multiplex.spread import LAST, RANGE, Numbers, Spread, known
from binalloc.verify.multiplex.words import Setting, Word

_VISITS = 64
"""Most visits of a word on the average. Chosen by hand: it bounds the time on hostile code."""


class TooLong(Exception):
    """`TooLong` is raised where facts do not settle in time."""


@dataclass(frozen=True, eq=False)
class Fact:
    """A fact is what is known of a register in each thread."""

    numbers: Numbers
    exact: bool  #: else they are residues

    def same(self, other: Fact) -> bool:
        return self is other or (self.exact == other.exact and np.array_equal(self.numbers, other.numbers))


@dataclass(frozen=True)
class Register:
    """An expression that is a register of the original."""

    index: int


@dataclass(frozen=True)
class Applied:
    """An expression that is what an inserted word gives for others."""

    word: int
    operands: tuple[Expression, ...]


Expression = Register | Applied


@dataclass
class Before:
    """`Before` is what holds in front of a word, whichever way a thread has come."""

    facts: dict[int, Fact] = field(default_factory=dict)
    expressions: dict[int, Expression] = field(default_factory=dict)


class Values:
    """The values of one kernel. after: successors of each word. label: the original word of each, or INSERTED.
    modulus: a power of two, of residues. clobbered: places that calls write."""

    def __init__(
        self, words: list[Word], after: Sequence[Sequence[int]], label: list[int], setting: Setting, modulus: int,
        clobbered: Iterable[int],
    ) -> None:  # fmt: skip
        self.words, self.after, self.label, self.setting, self.modulus = words, after, label, setting, modulus
        self.clobbered = list(clobbered)
        self.inserted = {at for word, m in zip(words, label, strict=True) if m == INSERTED for at in word.defs}
        self.before: dict[int, Before] = {0: Before()}
        self._run()

    def _run(self) -> None:
        heap, waiting, visits = [0], {0}, _VISITS * len(self.words)
        while heap:
            n = heappop(heap)
            waiting.discard(n)
            visits -= 1
            if visits < 0:
                raise TooLong
            behind = self._behind(n)
            for to in self.after[n]:
                old = self.before.get(to)
                new = behind if old is None else self._met(old, behind)
                if new is None:
                    continue
                self.before[to] = new
                if to not in waiting:
                    waiting.add(to)
                    heappush(heap, to)

    def fact(self, n: int, place: int | None) -> Fact | None:
        """Return what is known of an address register in front of a word; a missing one holds zero."""
        if place is None:
            return Fact(np.zeros(self.setting.threads, np.int64), True)
        return self.before[n].facts.get(place)

    def residues(self, n: int, place: int | None, offset: int) -> Numbers | None:
        """Return the residues of a register plus a number in front of a word, None where they are not known."""
        fact = self.fact(n, place)
        return None if fact is None else (fact.numbers + offset) % self.modulus

    def exact(self, n: int, place: int | None, offset: int) -> Numbers | None:
        """Return a register plus a number in front of a word in each thread, None where it is not known."""
        fact = self.fact(n, place)
        return None if fact is None or not fact.exact else (fact.numbers + offset) % RANGE

    def evaluated(self, expression: Expression, register: int, values: Numbers, threads: Numbers) -> Numbers | None:
        """Return an expression for some values of the only register in it, each in a thread; None where it is no known
        number."""
        if isinstance(expression, Register):
            return values if expression.index == register else None
        given = [self.evaluated(each, register, values, threads) for each in expression.operands]
        if any(each is None for each in given):
            return None
        word = self.words[expression.word]
        spreads = {at: known(each) for at, each in zip(word.uses, given, strict=True) if each is not None}
        setting = CaseSetting(self.setting, Cases(0, threads, values, values))
        found = word.results(setting, lambda at: spreads.get(at, setting.different))[0]
        return found.low if found.all_exact else None

    # -- steps

    def _behind(self, n: int) -> Before:
        """Return what holds behind a word."""
        word, before = self.words[n], self.before[n]
        if word.view.control in CALLS:
            gone = set(self.clobbered)
            return Before({at: x for at, x in before.facts.items() if at not in gone},
                          {at: x for at, x in before.expressions.items() if not _reads(x, gone)})  # fmt: skip
        if not word.defs:
            return before
        facts, expressions = dict(before.facts), dict(before.expressions)
        written = self._facts(word, before.facts)
        for k, place in enumerate(word.defs):
            fact, old = written.get(k), before.facts.get(place)
            if word.view.guard is not None:
                fact = self._either(old, fact)
            facts.pop(place, None)
            if fact is not None and place < PRED_BASE:
                facts[place] = fact
            expressions.pop(place, None)
        gone = set(word.defs)
        expressions = {at: x for at, x in expressions.items() if not _reads(x, gone)}
        if self.label[n] == INSERTED:
            expression = self._expression(n, before.expressions)
            if expression is not None and not _reads(expression, gone):
                expressions[word.defs[0]] = expression
        return Before(facts, expressions)

    def _expression(self, n: int, held: dict[int, Expression]) -> Expression | None:
        """Return what an inserted word writes."""
        word = self.words[n]
        pure = word.view.pure and word.view.guard is None and word.view.memory is None
        if not pure or len(word.defs) != 1 or word.special is not None:
            return None
        operands = [held.get(at) if at in self.inserted else Register(at) for at in word.uses]
        found = tuple(each for each in operands if each is not None)
        return Applied(n, found) if len(found) == len(operands) else None

    def _facts(self, word: Word, facts: dict[int, Fact]) -> dict[int, Fact]:
        """Return what is known of the words that a word writes, by position."""
        if word.view.memory is not None:
            return {}
        given = [facts.get(at) for at in word.uses]
        found = {k: fact for k, s in word.sums.items() if (fact := self._sum(s, given)) is not None}
        if word.formulas and all(each is not None and each.exact for each in given):
            spreads = {at: known(each.numbers) for at, each in zip(word.uses, given, strict=True) if each is not None}
            results = word.results(self.setting, lambda at: spreads[at])
            for k in word.formulas:
                if results[k].all_exact and k not in found:
                    found[k] = Fact(results[k].low, True)
        return found

    def _sum(self, s: Sum, given: list[Fact | None]) -> Fact | None:
        """Return a sum, None where not even its residue is known."""
        terms: list[tuple[Fact | None, int]] = [(given[at], factor) for at, factor in s.uses]
        terms += [(None, factor) for _, _, factor in s.reads]
        for name in s.special:
            spread: Spread = self.setting.register(name)
            terms.append((Fact(spread.low, True) if spread.all_exact else None, 1))
        total = np.full(self.setting.threads, s.constant & LAST, np.int64)
        exact = True
        for fact, factor in terms:
            if fact is None or not fact.exact:
                exact = False
            if fact is not None:
                product = fact.numbers.astype(np.uint64) * np.uint64(factor % RANGE)
                total = (total + (product & np.uint64(LAST)).astype(np.int64)) % RANGE
            elif factor % self.modulus:
                return None
        return Fact(total, True) if exact else Fact(total % self.modulus, False)

    def _met(self, old: Before, new: Before) -> Before | None:
        """Return what holds on both ways, None if that is what held on the old one."""
        facts: dict[int, Fact] = {}
        for at, fact in old.facts.items():
            both = self._either(fact, new.facts.get(at))
            if both is not None:
                facts[at] = both
        expressions = {at: x for at, x in old.expressions.items() if new.expressions.get(at) == x}
        same = len(facts) == len(old.facts) and len(expressions) == len(old.expressions)
        if same and all(fact is old.facts[at] for at, fact in facts.items()):
            return None
        return Before(facts, expressions)

    def _either(self, old: Fact | None, new: Fact | None) -> Fact | None:
        """Return what two facts have in common."""
        if old is None or new is None:
            return None
        if old.same(new):
            return old
        one, other = old.numbers % self.modulus, new.numbers % self.modulus
        if not np.array_equal(one, other):
            return None
        return Fact(one, False) if old.exact else old


def _reads(expression: Expression, places: set[int]) -> bool:
    """Return whether an expression depends on one of some places."""
    if isinstance(expression, Register):
        return expression.index in places
    return any(_reads(each, places) for each in expression.operands)

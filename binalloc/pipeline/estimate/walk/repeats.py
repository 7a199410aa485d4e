"""This module finds rounds of a loop that need not be walked: they go the way of the last ones, with values that grow
evenly.

Needs the state of a walk each time that it goes back the same branch, and the sources of the predicates since. Three
rounds are alike if their integer comparisons see numbers that change by the same amounts. Further rounds are alike
until one of the comparisons has another outcome.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from binalloc.emulator.known.values import Known, Values
from binalloc.emulator.state.layout import FULL

Test = tuple[int, tuple[int, ...], bool]
"""The source of a predicate: the code word, the numbers, and whether it compares the first number with the second."""
ROUNDS = 3
"""Rounds that are compared; two steps of growth must be equal, for which three are the fewest."""
MOST_NOTED = 120
"""Addresses noted of one code word; more cost time and memory, and say little more. Chosen by hand."""


@dataclass(frozen=True)
class Again:
    """An `Again` stands for a part of the way that is gone several times more."""

    start: int  #: place in the way at which the part begins
    end: int  #: place at which it ends
    times: int  #: how many times more it is gone


Going = int | Again
"""A code word that is executed, or a part of the way that is gone again."""


@dataclass
class Arrival:
    """An arrival is the state of a walk on the way back of a loop."""

    registers: list[Known]
    local: dict[int, Known]
    counts: list[float]  #: how often each code word was executed
    tests: int  #: how many predicates were tested
    way: int  #: length of the way
    accesses: dict[int, int]  #: how many addresses of each code word were noted


@dataclass(frozen=True)
class SkippedRounds:
    """The accesses of a code word in rounds that were left out are kept, to be filled in at the end of the walk."""

    word: int
    at: int  #: their place among the word's addresses
    rounds: int  #: how many rounds were left out
    last: list[int]  #: the addresses in the round before
    growth: list[int]  #: how much each of them grew in each of the rounds before

    @staticmethod
    def of(addresses: dict[int, list[Known]], arrivals: Sequence[Arrival], rounds: int) -> Iterator[SkippedRounds]:
        """Yield an object for each word whose addresses are known and grew evenly in all rounds between these
        arrivals."""
        for word, known in addresses.items():
            ends = [arrival.accesses.get(word, 0) for arrival in arrivals]
            each = [[x for x in known[start:end] if x is not None] for start, end in pairwise(ends)]
            if not each[-1] or len({len(one) for one in each}) > 1 or ends[-1] - ends[0] != sum(map(len, each)):
                continue
            older, newer = ([y - x for x, y in zip(*two, strict=True)] for two in pairwise(each))
            if older == newer:
                yield SkippedRounds(word, ends[-1], rounds, each[-1], newer)

    def fill(self, known: list[Known]) -> None:
        """Insert the addresses, if the round after them has those that follow. Rings and toggles grow evenly for some
        rounds only."""
        after = [x + (self.rounds + 1) * more for x, more in zip(self.last, self.growth, strict=True)]
        if known[self.at : self.at + len(after)] != after:
            return
        many = min(self.rounds, max(0, MOST_NOTED - len(known)) // len(after))
        known[self.at : self.at] = [
            x + k * more for k in range(1, many + 1) for x, more in zip(self.last, self.growth, strict=True)
        ]


class Repeats:
    """`Repeats` finds the repeats of one walk."""

    def __init__(self) -> None:
        self.tests: list[Test] = []
        self._left_out: list[SkippedRounds] = []
        self._arrivals: dict[tuple[int, int], list[Arrival]] = {}

    def skip(
        self,
        branch: int,
        depth: int,
        values: Values,
        counts: list[float],
        way: list[Going],
        addresses: dict[int, list[Known]],
    ) -> None:
        """Skip rounds as the walk goes back `branch`, `depth` calls deep.

        Adds all rounds that may be left out to values, counts and way. Their addresses are for `fill`.
        """
        before = self._arrivals.setdefault((branch, depth), [])
        noted = {word: len(known) for word, known in addresses.items()}
        there = values.registers.copy(), values.local.copy(), counts.copy()
        before.append(Arrival(*there, len(self.tests), len(way), noted))
        if len(before) <= ROUNDS:
            return
        earliest = before.pop(0)
        rounds = self._rounds(before)
        if not rounds:
            return
        self._left_out += SkippedRounds.of(addresses, [earliest, *before], rounds)
        _advance(values, before, rounds)
        last, last_but_one = before[-1].counts, before[-2].counts
        for word, (n, less) in enumerate(zip(last, last_but_one, strict=True)):
            if n != less:
                counts[word] += rounds * (n - less)
        way.append(Again(before[-2].way, before[-1].way, rounds))
        del self._arrivals[branch, depth]

    def fill(self, addresses: dict[int, list[Known]]) -> None:
        """Add the addresses of the first left-out rounds, at the end of the walk, where they have grown evenly up to
        the last round."""
        for left_out in reversed(self._left_out):  # the last first, so that the places of earlier ones stay valid
            left_out.fill(addresses[left_out.word])

    def _rounds(self, arrivals: Sequence[Arrival]) -> int:
        """Return how many rounds like the last ones surely follow; 0 also where that is unknown."""
        a, b, c = arrivals[-3:]
        older, newer = self.tests[a.tests : b.tests], self.tests[b.tests : c.tests]
        if len(older) != len(newer):
            return 0
        most = None
        for (at, first, compares), (there, second, _) in zip(older, newer, strict=True):
            if at != there:
                return 0
            if first == second:
                continue
            if not compares:
                return 0
            left = _same_sign(first[0] - first[1], second[0] - second[1])
            most = left if most is None else min(most, left)
        if not most or any(z - y != y - x for x, y, z in zip(a.counts, b.counts, c.counts, strict=True)):
            return 0
        return most


def _same_sign(before: int, now: int) -> int:
    """Return how many more steps of the same size leave the sign as it is; a large number where all do."""
    step = now - before
    if now == 0 or step == 0 or (before > 0) != (now > 0):
        return 0 if step else FULL
    if (now > 0) == (step > 0):
        return FULL
    return (abs(now) - 1) // abs(step)


def _advance(values: Values, arrivals: Sequence[Arrival], rounds: int) -> None:
    """Change the values to those after `rounds` more rounds. A value that grew twice by the same goes on growing; any
    other changed value becomes unknown."""
    a, b, c = arrivals[-3:]
    each = zip(a.registers, b.registers, c.registers, strict=True)
    values.registers = [_later(x, y, z, rounds) for x, y, z in each]
    values.local = {at: _later(a.local.get(at), b.local.get(at), z, rounds) for at, z in c.local.items()}


def _later(x: Known, y: Known, z: Known, rounds: int) -> Known:
    if x is None or y is None or z is None or (z - y - (y - x)) & FULL:
        return None
    return (z + rounds * (z - y)) & FULL

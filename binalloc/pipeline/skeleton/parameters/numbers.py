"""This module decides what kind of number a value is, from the votes of instructions on it and on its copies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from binalloc.isa.interface.places import WORD
from binalloc.isa.interface.roles import Number
from binalloc.pipeline.skeleton.parameters.closures import classes
from binalloc.pipeline.skeleton.parameters.values import CodePlace, Node, ValueGraph, Vote

_SIGNS = (Number.SIGNED, Number.UNSIGNED)  # integers with a known sign, in the order of the counts in `_sign`
_HALVES = (Number.HALF, Number.BFLOAT)  # numbers of 16 bits, two of which may be in a word
_INTEGERS = (*_SIGNS, Number.INTEGER, Number.MASK)  # integers, whose votes are counted together


class Element(NamedTuple):
    """An element of memory has a size and a kind of number."""

    bytes: int  #: size
    number: Number  #: kind of number


class ValueNumbers:
    """`ValueNumbers` decides the kind of number of each value of one kernel, from the votes on it."""

    def __init__(self, values: ValueGraph) -> None:
        self._values = values
        pieces = values.pieces
        direct = {
            source: [t for t in targets if t not in pieces]
            for source, targets in values.copied.items() if source not in pieces
        }  # fmt: skip
        self._direct, self._copies = classes(values, direct), classes(values, values.copied)
        self._kin = classes(values, values.carried)
        self._votes = [Counter[tuple[int, Vote]]() for _ in range(3)]
        self._members: dict[int, list[Node]] = {}
        for node, votes in values.votes.items():
            for kept, sets in zip(self._votes, (self._direct, self._copies, self._kin), strict=True):
                root = sets.find(node)
                for vote, n in votes.items():
                    kept[root, vote] += n
            self._members.setdefault(self._copies.find(node), []).append(node)

    def of(self, node: Node) -> Vote:
        """Return the kind of a word: by itself and its copies in registers, else by copies that go through memory."""
        direct = self._decided(0, self._direct.find(node))
        found = direct if direct.number != Number.BITS else self._decided(1, self._copies.find(node))
        if found.number == Number.INTEGER:
            return Vote(self._sign(node), found.wide)
        return found

    def element(self, nodes: Sequence[Node], size: int, taken: Number) -> Element:
        """Return the element of an access of `size` bytes whose words are `nodes`.

        taken: how the access itself interprets the data.
        """
        found = [self.of(node) for node in nodes] or [Vote(taken, False)]
        numbers = [vote.number for vote in found if vote.number != Number.BITS]
        number = numbers[0] if numbers else taken
        if size < WORD:
            narrow = any(self._narrow(node) for node in nodes)
            return Element(size, self._small(number, size, Number.SIGNED if narrow else taken))
        if number in _HALVES:
            return Element(2, number)
        if size > WORD and any(vote.wide for vote in found):
            return Element(2 * WORD, found[1].number if number in _INTEGERS else number)  # the sign is in this word
        return Element(WORD, number)

    def places(self, node: Node, number: Number) -> list[CodePlace]:
        """Return the places where a word or a copy of it is interpreted as that number."""
        found = self._values.places
        members = self._members.get(self._copies.find(node), [])
        return sorted({place for member in members for place in found.get((member, number), ())})

    def _narrow(self, node: Node) -> bool:
        """Return whether the sign of a shorter number is extended to make the word."""
        return self._votes[1][self._copies.find(node), Vote(Number.NARROW, False)] > 0

    def _decided(self, which: int, root: int) -> Vote:
        """Return the kind for which most votes are. which: index in `_votes`. root: of the set of nodes."""
        votes = self._votes[which]

        def count(number: Number, wide: bool) -> int:
            return votes[root, Vote(number, wide)]

        narrow, wide = count(Number.FLOAT, False), count(Number.FLOAT, True)
        if narrow or wide:
            return Vote(Number.FLOAT, wide > narrow)
        for number in (Number.HANDLE, *_HALVES):
            if count(number, False) or count(number, True):
                return Vote(number, False)
        both = {number: count(number, False) + count(number, True) for number in _INTEGERS}
        longer = sum(count(number, True) for number in _INTEGERS)
        signed, unsigned = both[Number.SIGNED] + count(Number.NARROW, False), both[Number.UNSIGNED]
        if signed or unsigned:
            return Vote(Number.UNSIGNED if unsigned > signed else Number.SIGNED, longer > 0)
        if both[Number.MASK]:
            return Vote(Number.MASK, longer > 0)
        return Vote(Number.INTEGER if both[Number.INTEGER] else Number.BITS, longer > 0)

    def _sign(self, node: Node) -> Number:
        """Return the sign of an integer, from the values that it is added to or comes from."""
        root = self._kin.find(node)
        counts = [sum(self._votes[2][root, Vote(sign, wide)] for wide in (False, True)) for sign in _SIGNS]
        if not any(counts):
            return Number.INTEGER
        return Number.UNSIGNED if counts[1] > counts[0] else Number.SIGNED

    @staticmethod
    def _small(number: Number, size: int, taken: Number) -> Number:
        """Return the kind of a value shorter than a word.

        The instruction that widens it says whether it has a sign; a stored value may have any.
        """
        if number in _HALVES and size == 2:
            return number
        return Number.SIGNED if taken == Number.SIGNED else Number.UNSIGNED

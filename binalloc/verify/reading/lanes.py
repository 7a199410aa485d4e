"""This module finds accesses of the original that never touch the same bytes in any two lanes.

Needs the original's code, its blocks and the places that its calls may write; leaves them unchanged. A value is
described as a sum of words, modulo a power of two. The words are the same in all lanes and at all times: constants,
constant memory, some special registers. So the difference between lanes is a multiple of that power. If the sums of two
addresses differ by a number alone, the addresses are that far apart, modulo the power of two.

A register is described where it is read, by the definitions that reach it there: a later call that may write it says
nothing of it before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Mapping

from binalloc.isa.interface.places import WORD
from binalloc.isa.interface.sums import Sum
from binalloc.isa.interface.view import Memory
from binalloc.isa.sets.table import set_of
from binalloc.verify.reading.blocks import Blocks
from binalloc.verify.reading.code import FunctionCode, ref_bits

_WHOLE = 1 << 8 * WORD  # the modulus at which nothing is lost: words have 32 bits
_NUMBER = ""  # key of the number among the factors; words have other keys
Description = tuple[int, Mapping[Hashable, int]]
"""(modulus, factors by word; the factor of `_NUMBER` is the number itself): a sum of words, known modulo `modulus`."""
Spot = tuple[int, int]
"""(word, place): the content of the place after the word; -1 - b in place of a word: its content where block b
begins."""
_NOTHING: Description = (1, {})  # describes any value: modulo 1


class Lanes:
    """`Lanes` describes the addresses of a function's accesses, as far as they are known.

    calls: for each call word the places that it may write.
    """

    def __init__(self, code: FunctionCode, blocks: Blocks, calls: Mapping[int, frozenset[int]]) -> None:
        self.code, self.blocks, self.calls = code, blocks, calls
        self.differ = set_of(code.instrs[0]).limits.lane_registers if len(code) else frozenset()
        self.writers: list[dict[int, list[int]]] = [{} for _ in range(len(blocks))]
        for b, found in enumerate(self.writers):
            for i in range(blocks.starts[b], blocks.starts[b + 1]):
                for place in (*(x for ref in code.views[i].defs for x in ref_bits(ref)), *sorted(calls.get(i, ()))):
                    found.setdefault(place, []).append(i)
        self.sums: dict[int, dict[int, Sum]] = {}
        self.described: dict[Spot, Description | None] = {}
        self.at: dict[int, Description] = {}

    def apart(self, i: int, j: int) -> bool:
        """Return whether the accesses at words i and j touch no byte in common, in any two lanes."""
        modulus, factors = _sum(self._address(i), self._address(j), -1)
        for word, factor in factors.items():
            if word != _NUMBER:
                modulus = min(modulus, factor & -factor)
        one, other = self._memory(i), self._memory(j)
        distance = factors.get(_NUMBER, 0) % modulus
        return other.size <= distance <= modulus - one.size

    def _memory(self, i: int) -> Memory:
        memory = self.code.views[i].memory
        assert memory is not None
        return memory

    def _address(self, i: int) -> Description:
        """Return the description of the address at word i."""
        found = self.at.get(i)
        if found is None:
            memory = self._memory(i)
            found = _reduced(_WHOLE, {_NUMBER: memory.offset})
            if memory.base is not None:
                spot = self._before(i, ref_bits(memory.base)[0])
                self._solve(spot)
                found = _sum(found, self.described[spot] or _NOTHING, 1)
            self.at[i] = found
        return found

    # -- dependences

    def _before(self, i: int, place: int) -> Spot:
        """Return the spot that decides the place just before word i."""
        return self._last(self.blocks.of(i), i, place)

    def _last(self, b: int, end: int, place: int) -> Spot:
        """Return the spot that decides the place in block b just before word `end`."""
        words = self.writers[b].get(place, [])
        count = bisect_left(words, end)
        return (words[count - 1] if count else -1 - b), place

    def _needs(self, spot: Spot) -> Iterator[Spot]:
        """Yield the spots on which a spot depends."""
        i, place = spot
        if i < 0:
            for p in self.blocks.before[-1 - i]:
                yield self._last(p, self.blocks.starts[p + 1], place)
        elif i not in self.calls:
            if self.code.views[i].guard is not None:
                yield self._before(i, place)
            total = self._sum_of(i, place)
            if total is not None:
                for used, _ in total.uses:
                    yield self._before(i, self._used(i, used))

    def _used(self, i: int, number: int) -> int:
        """Return the place that is read by the operand unit of that number."""
        return [x for ref in self.code.views[i].uses for x in ref_bits(ref)][number]

    def _sum_of(self, i: int, place: int) -> Sum | None:
        """Return the sum that word i writes to the place; None where it is no sum."""
        found = self.sums.get(i)
        if found is None:
            instr, places = self.code.instrs[i], [x for ref in self.code.views[i].defs for x in ref_bits(ref)]
            found = self.sums[i] = {places[total.result]: total for total in set_of(instr).sums(instr)}
        return found.get(place)

    # -- descriptions

    def _solve(self, spot: Spot) -> None:
        """Describe a spot, and all spots on which it depends, until nothing changes. Moduli only fall, so it ends."""
        if spot in self.described:
            return
        readers: dict[Spot, list[Spot]] = {}
        work, found = [spot], {spot: None}
        while work:
            reader = work.pop()
            for needed in self._needs(reader):
                readers.setdefault(needed, []).append(reader)
                if needed not in found and needed not in self.described:
                    found[needed] = None
                    work.append(needed)
        self.described.update(found)
        anew = dict.fromkeys(reversed(found))
        while anew:
            at = next(iter(anew))
            del anew[at]
            new = self._defined(at)
            if new is not None and new != self.described[at]:
                self.described[at] = new
                anew.update(dict.fromkeys(readers.get(at, ())))

    def _defined(self, spot: Spot) -> Description | None:
        """Return the common description of all definitions that reach a spot; None where none is described yet."""
        i, place = spot
        if i < 0:
            ways = [self.described[needed] for needed in self._needs(spot)]
            if i == -1:  # the function's entry
                ways.append(_NOTHING)
        elif i in self.calls:
            ways = [_NOTHING]
        else:
            total = self._sum_of(i, place)
            ways = [_NOTHING if total is None else self._evaluated(i, total)]
            if self.code.views[i].guard is not None:
                ways.append(self.described[self._before(i, place)])
        out = self.described[spot]
        for new in ways:
            if new is not None:
                out = new if out is None else _common(out, new)
        return out

    def _evaluated(self, i: int, total: Sum) -> Description | None:
        """Return the description of a sum at word i; None where an operand is not described yet."""
        out = _reduced(_WHOLE, {_NUMBER: total.constant})
        for bank, offset, factor in total.reads:
            out = _sum(out, (_WHOLE, {("constant", bank, offset): 1}), factor)
        for special in total.special:
            out = _sum(out, _NOTHING if special in self.differ else (_WHOLE, {("special", special): 1}), 1)
        for number, factor in total.uses:
            value = self.described[self._before(i, self._used(i, number))]
            if value is None:
                return None
            out = _sum(out, value, factor)
        return out


def _reduced(modulus: int, factors: Mapping[Hashable, int]) -> Description:
    return modulus, {word: factor % modulus for word, factor in factors.items() if factor % modulus}


def _sum(one: Description, other: Description, factor: int) -> Description:
    """Return one + factor * other."""
    factor %= _WHOLE
    grown = other[0] * (factor & -factor) if factor else _WHOLE
    factors = dict(one[1])
    for word, times in other[1].items():
        factors[word] = factors.get(word, 0) + factor * times
    return _reduced(min(one[0], grown, _WHOLE), factors)


def _common(one: Description, other: Description) -> Description:
    """Return the most exact description that holds for both."""
    modulus = min(one[0], other[0])
    for word in one[1].keys() | other[1].keys():
        differ = one[1].get(word, 0) - other[1].get(word, 0)
        if differ:
            modulus = min(modulus, differ & -differ)
    return _reduced(modulus, one[1])

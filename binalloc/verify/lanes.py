"""Which accesses of the original's lanes can never touch the same bytes, whichever lanes they are of.

Needs the original's code and its values' names; leaves both unchanged. A value is told as a sum of words that are the
same in all lanes and at all times (constants, constant memory, special registers that no lane sees differently), modulo
a power of two: what differs between lanes is a multiple of that. Two addresses whose sums differ by a number alone are
that far apart, modulo the power of two.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from binalloc.isa.interface.places import WORD
from binalloc.isa.interface.sums import Sum
from binalloc.isa.interface.view import Memory
from binalloc.isa.sets.table import set_of
from binalloc.verify.code import Code
from binalloc.verify.webs import Webs

_WHOLE = 1 << 8 * WORD
_NUMBER = ""
Told = tuple[int, Mapping[Hashable, int]]
"""(modulus, factors by word; of `_NUMBER` the number itself)."""
_NOTHING: Told = (1, {})


class Lanes:
    """The addresses of a function's accesses, as far as they are told."""

    def __init__(self, code: Code, webs: Webs) -> None:
        self.code, self.webs = code, webs
        self.differ = set_of(code.instrs[0]).limits.lane_registers if len(code) else frozenset()
        self.told: dict[int, Told] = {}
        foreign = [webs.entry, *webs.after.values()]
        self.unknown = {name for found in foreign for name in found.values()}
        self.made: dict[int, list[tuple[int, Sum | None]]] = {}
        self._collect()
        self._solve()
        self.at: dict[int, Told] = {}

    def apart(self, i: int, j: int) -> bool:
        """Do the accesses at words i and j touch no byte in common, in any two lanes?"""
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

    def _address(self, i: int) -> Told:
        found = self.at.get(i)
        if found is None:
            memory = self._memory(i)
            found = _reduced(_WHOLE, {_NUMBER: memory.offset})
            if memory.base is not None:
                place = 0
                for ref in self.code.views[i].uses:
                    if ref.field == memory.base.field:
                        break
                    place += ref.units
                found = _sum(found, self._value(self.webs.uses[i][place]) or _NOTHING, 1)
            self.at[i] = found
        return found

    def _collect(self) -> None:
        """Of each name, the words that define it, each with the sum that it writes, if it is one."""
        for i, names in enumerate(self.webs.defs):
            if names:
                instr = self.code.instrs[i]
                known = {found.result: found for found in set_of(instr).sums(instr)}
                for place, name in enumerate(names):
                    self.made.setdefault(name, []).append((i, known.get(place)))

    def _solve(self) -> None:
        """Names are told anew until that changes nothing. Moduli only fall, so that it ends."""
        readers: dict[int, set[int]] = {}
        for name, found in self.made.items():
            for i, total in found:
                for place, _ in total.uses if total is not None else ():
                    readers.setdefault(self.webs.uses[i][place], set()).add(name)
        work = dict.fromkeys(self.made)
        while work:
            name = next(iter(work))
            del work[name]
            new = self._defined(name)
            if new is not None and new != self.told.get(name):
                self.told[name] = new
                work.update(dict.fromkeys(sorted(readers.get(name, ()))))

    def _defined(self, name: int) -> Told | None:
        """What all definitions have in common; None where none is told yet."""
        if name in self.unknown:
            return _NOTHING
        out = self.told.get(name)
        for i, total in self.made[name]:
            new = _NOTHING if total is None else self._evaluated(i, total)
            if new is not None:
                out = new if out is None else _common(out, new)
        return out

    def _evaluated(self, i: int, total: Sum) -> Told | None:
        out = _reduced(_WHOLE, {_NUMBER: total.constant})
        for bank, offset, factor in total.reads:
            out = _sum(out, (_WHOLE, {("constant", bank, offset): 1}), factor)
        for special in total.special:
            out = _sum(out, _NOTHING if special in self.differ else (_WHOLE, {("special", special): 1}), 1)
        for place, factor in total.uses:
            value = self._value(self.webs.uses[i][place])
            if value is None:
                return None
            out = _sum(out, value, factor)
        return out

    def _value(self, name: int) -> Told | None:
        """None where the name has definitions and none is told yet."""
        return self.told.get(name) if name in self.made else _NOTHING


def _reduced(modulus: int, factors: Mapping[Hashable, int]) -> Told:
    return modulus, {word: factor % modulus for word, factor in factors.items() if factor % modulus}


def _sum(one: Told, other: Told, factor: int) -> Told:
    """one + factor * other."""
    factor %= _WHOLE
    grown = other[0] * (factor & -factor) if factor else _WHOLE
    factors = dict(one[1])
    for word, times in other[1].items():
        factors[word] = factors.get(word, 0) + factor * times
    return _reduced(min(one[0], grown, _WHOLE), factors)


def _common(one: Told, other: Told) -> Told:
    """What is true of both."""
    modulus = min(one[0], other[0])
    for word in one[1].keys() | other[1].keys():
        differ = one[1].get(word, 0) - other[1].get(word, 0)
        if differ:
            modulus = min(modulus, differ & -differ)
    return _reduced(modulus, one[1])

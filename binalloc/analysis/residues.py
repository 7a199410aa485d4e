"""This module finds what is known of values in all lanes and at all times of a launch: their residue modulo a power of
two.

Needs a function's webs; leaves them unchanged. A value is described as `constant + factors * symbols`, modulo 2^bits.
Symbols are words with one value in all lanes and at all times: constant memory, and special registers that are the same
in all lanes. So `a + 16 * thread` is a modulo 16. Two addresses of that kind, 4 bytes apart, differ in any two lanes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from binalloc.analysis.flow.cfg import Cfg
from binalloc.analysis.web import CALL, MEMORY, WebNumber, WebPoint, Webs
from binalloc.isa.interface.places import WORD
from binalloc.isa.interface.sums import Sum
from binalloc.isa.interface.view import Ref
from binalloc.isa.kinds import File
from binalloc.isa.sets.table import set_of

WORD_BITS = 8 * WORD  # bits of a word


@dataclass(frozen=True, slots=True)
class Residue:
    """A value is `constant` and the terms, modulo 2^bits."""

    bits: int  #: exponent of the modulus; 0: nothing is known
    constant: int = 0  #: the constant part
    terms: tuple[tuple[Hashable, int], ...] = ()  #: (symbol, factor) pairs

    @classmethod
    def of(cls, bits: int, constant: int, factors: dict[Hashable, int]) -> Residue:
        """Return the residue with factors in order, without those that are 0 modulo 2^bits."""
        mask = (1 << bits) - 1
        left = ((symbol, factor & mask) for symbol, factor in factors.items() if factor & mask)
        return cls(bits, constant & mask, tuple(sorted(left, key=repr)))

    def plus(self, other: Residue, factor: int = 1) -> Residue:
        """Return the sum with `factor` times another value."""
        factor &= (1 << WORD_BITS) - 1
        scale = (factor & -factor).bit_length() - 1 if factor else WORD_BITS
        factors = dict(self.terms)
        for symbol, times in other.terms:
            factors[symbol] = factors.get(symbol, 0) + factor * times
        bits = min(self.bits, other.bits + scale, WORD_BITS)
        return Residue.of(bits, self.constant + factor * other.constant, factors)

    def joined(self, other: Residue) -> Residue:
        """Return what holds of either value."""
        mine, its = dict(self.terms), dict(other.terms)
        apart = [self.constant - other.constant]
        apart += [mine.get(s, 0) - its.get(s, 0) for s in mine.keys() | its.keys()]
        bits = min([self.bits, other.bits, *((x & -x).bit_length() - 1 for x in apart if x)])
        return Residue.of(bits, self.constant, mine)

    def apart(self, size: int, other: Residue, its_size: int) -> bool:
        """Return whether two accesses never overlap, in any lanes and at any times. size, its_size: bytes of the
        accesses at this address and at the other."""
        both = self.plus(other, -1)
        if both.terms:
            # a symbol's term is a multiple of the power of two in its factor, so the distance is known modulo that
            powers = [(factor & -factor).bit_length() - 1 for _, factor in both.terms]
            both = Residue.of(min(both.bits, *powers), both.constant, {})
        distance = both.constant
        return distance >= its_size and distance + size <= 1 << both.bits


UNKNOWN = Residue(0)  # the residue that says nothing: modulo 1


def constant(value: int) -> Residue:
    """Return a value that is the same in all lanes and known."""
    return Residue.of(WORD_BITS, value, {})


def addresses(cfg: Cfg, webs: Webs) -> dict[int, Residue]:
    """Return the address of each memory access, by instruction; of an address in two words, the low word's."""
    values = _Solver(cfg, webs).run()
    found = {}
    for i, seen in enumerate(cfg.views):
        memory = seen.memory
        if memory is None:
            continue
        at = constant(memory.offset)
        operand = seen.address_operand
        if operand is not None:
            web = webs.web_of_use.get((i, operand, 0))
            at = at.plus(UNKNOWN if web is None else values[web] or UNKNOWN)
        found[i] = at
    return found


class _Solver:
    """The solver joins the residues of all definitions of each web until nothing changes.

    values: for each web its residue, None until a definition is known.
    """

    def __init__(self, cfg: Cfg, webs: Webs) -> None:
        self.views, self.webs = cfg.views, webs
        self.lanes = set_of(cfg.fn.instrs[0]).limits.lane_registers
        self.values: list[Residue | None] = [None] * len(self.webs)
        self.sums: dict[int, tuple[Sum, ...]] = {}

    def run(self) -> Sequence[Residue | None]:
        words = [web for web in self.webs if web.file == File.REGISTER]
        work: list[WebNumber] = [web.id for web in words]
        waiting = set(work)
        while work:
            number = work.pop()
            waiting.discard(number)
            if not self._update(number):
                continue
            for use in self.webs[number].uses:
                for w in self.webs.defined_at.get(use.instr, ()):
                    if w not in waiting and self.webs[w].file == File.REGISTER:
                        waiting.add(w)
                        work.append(w)
        return self.values

    def _update(self, number: WebNumber) -> bool:
        """Compute a web's residue anew, and return whether it has changed."""
        web = self.webs[number]
        now = UNKNOWN if web.undefined else self.values[number]
        for point in web.defs:
            if now == UNKNOWN:
                break
            written = self._written(point)
            if written is not None:
                now = written if now is None else now.joined(written)
        changed = now != self.values[number]
        self.values[number] = now
        return changed

    def _written(self, point: WebPoint) -> Residue | None:
        """Return the residue that a definition writes; None while an operand is not known yet."""
        i = point.instr
        if i < 0 or point.ref in (CALL, MEMORY):
            return UNKNOWN
        seen = self.views[i]
        if i not in self.sums:
            self.sums[i] = set_of(seen.instr).sums(seen.instr)
        place = sum(ref.units for ref in seen.defs[: point.ref]) + point.unit
        for found in self.sums[i]:
            if found.result == place:
                return self._value(i, found)
        return UNKNOWN

    def _value(self, i: int, found: Sum) -> Residue | None:
        """Return the residue of a sum that instruction `i` writes."""
        out = constant(found.constant)
        for bank, offset, factor in found.reads:
            out = out.plus(Residue.of(WORD_BITS, 0, {(bank, offset): 1}), factor)
        for name in found.special:
            out = out.plus(UNKNOWN if name in self.lanes else Residue.of(WORD_BITS, 0, {name: 1}))
        for place, factor in found.uses:
            value = self._used(i, self.views[i].uses, place)
            if value is None:
                return None
            out = out.plus(value, factor)
        return out

    def _used(self, i: int, refs: Sequence[Ref], place: int) -> Residue | None:
        """Return the residue of unit `place` of the operands."""
        for number, ref in enumerate(refs):
            if place < ref.units:
                return self.values[self.webs.web_of_use[i, number, place]]
            place -= ref.units
        return UNKNOWN

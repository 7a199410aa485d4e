"""One word of the original is executed here by all threads of a block at once, with spreads.

Needs the spreads of the places that the word reads; leaves those that it writes. What the instruction set knows no sum
or formula of may be anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from binalloc.isa.instruction import Instr
from binalloc.isa.interface.formulas import Act, Formula, Order, Truth
from binalloc.isa.interface.instruction_set import SetLimits
from binalloc.isa.interface.places import LANES, PRED_BASE
from binalloc.isa.interface.sums import Sum
from binalloc.isa.interface.view import View
from binalloc.isa.sets.table import set_of, view
from binalloc.verify.multiplex.spread import (
    HALF,
    LAST,
    Numbers,
    Spread,
    anything,
    compare,
    extreme,
    known,
    logic,
    opposite,
    product,
    right,
    select,
    table,
    take_bytes,
    total,
    upper_product,
)
from binalloc.verify.reading.code import ref_bits

Read = Callable[[int], Spread]
"""Returns the spread of a place."""
_MIRRORED = {
    Order.LESS: Order.GREATER, Order.LESS_EQUAL: Order.GREATER_EQUAL, Order.GREATER: Order.LESS,
    Order.GREATER_EQUAL: Order.LESS_EQUAL, Order.EQUAL: Order.EQUAL, Order.UNEQUAL: Order.UNEQUAL,
}  # fmt: skip
_CONVERSE = {
    Order.LESS: Order.GREATER_EQUAL, Order.LESS_EQUAL: Order.GREATER, Order.GREATER: Order.LESS_EQUAL,
    Order.GREATER_EQUAL: Order.LESS, Order.EQUAL: Order.UNEQUAL, Order.UNEQUAL: Order.EQUAL,
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Limit:
    """A limit is a comparison that holds for a register."""

    register: int
    order: Order
    other: Spread
    by_sign: bool
    now: bool = True  #: the register still has the value that was compared

    def alike(self, b: Limit) -> bool:
        one, other = ((x.register, x.order, x.by_sign, x.now) for x in (self, b))
        return one == other and self.other.alike(b.other)


Limits = tuple[tuple[Limit, ...], tuple[Limit, ...]]
"""What holds for registers where a predicate is true, and where it is false."""
NO_LIMITS: Limits = ((), ())


class Setting:
    """The setting of a launch is what its block's size alone decides: the special registers, thread by thread."""

    def __init__(self, block: tuple[int, int, int], limits: SetLimits) -> None:
        x, y, z = block
        self.threads = x * y * z
        at = np.arange(self.threads, dtype=np.int64)
        self.limits = limits
        numbers = [at % x, at // x % y, at // (x * y)]
        self.special: dict[str, Spread] = {}
        for name, axis in limits.places.items():
            if axis < 3:
                self.special[name] = known(numbers[axis])
        for name, axis in limits.sizes.items():
            if axis < 3:
                self.special[name] = known(np.full(self.threads, block[axis], np.int64))
        self.special[limits.lane] = known(at % LANES)
        self.special[limits.warp] = known(at // LANES)
        self.different, self.common = anything(self.threads, False), anything(self.threads, True)
        self.either, self.either_common = anything(self.threads, False, 1), anything(self.threads, True, 1)
        self.always = Spread(np.ones(self.threads, np.int64), np.ones(self.threads, np.int64), True)

    def register(self, name: str) -> Spread:
        """Return the spread of a special register that does not change during a launch."""
        if name in self.special:
            return self.special[name]
        lane = name in self.limits.lane_registers or name in self.limits.warp_registers
        return self.different if lane else self.common


class Word:
    """A word of the original is its view with the places that it reads and writes, in the order of its operands."""

    def __init__(self, instr: Instr, needed: bool = True) -> None:
        """needed: whether somebody needs what it writes."""
        isa = set_of(instr)
        self.instr, self.needed = instr, needed
        self.view: View = view(instr)
        self.uses = [at for ref in self.view.uses for at in ref_bits(ref)]
        self.defs = [at for ref in self.view.defs for at in ref_bits(ref)]
        self.sums: dict[int, Sum] = {s.result: s for s in isa.sums(instr)}
        self.formulas: dict[int, Formula] = {f.result: f for f in isa.formulas(instr)}
        self.special = isa.special_register(instr)
        self.barrier = isa.barrier(instr)
        self.same = self.view.pure and not self.view.convergent

    def results(self, setting: Setting, read: Read) -> list[Spread]:
        """Return the spreads of what it writes, in the order of `defs`, where no guard holds it back."""
        given = [read(at) for at in self.uses]
        special = self.special is None or setting.register(self.special).same
        same = self.same and special and all(g.same for g in given)
        found = []
        for k, place in enumerate(self.defs):
            if k in self.sums:
                found.append(_sum(self.sums[k], given, setting))
            elif k in self.formulas:
                found.append(_formula(self.formulas[k], given, setting, same))
            elif place >= PRED_BASE:
                found.append(setting.either_common if same else setting.either)
            else:
                found.append(setting.common if same else setting.different)
        return found

    def limits(self, setting: Setting, read: Read, known_limits: Callable[[int], Limits]) -> dict[int, Limits]:
        """Return what the predicates that it writes say of registers. known_limits: what others say."""
        found = {}
        for k, place in enumerate(self.defs):
            formula = self.formulas.get(k)
            if place >= PRED_BASE and formula is not None:
                inputs = [self._of(truth, known_limits) for truth in formula.truths]
                if formula.act == Act.COMPARE:
                    inputs.insert(0, self._compared(formula, setting, read))
                found[place] = _implied(inputs, formula.table)
        return found

    def _of(self, truth: Truth, known_limits: Callable[[int], Limits]) -> Limits | bool:
        if truth.use is None:
            return not truth.negated
        yes, no = known_limits(self.uses[truth.use])
        return (no, yes) if truth.negated else (yes, no)

    def _compared(self, formula: Formula, setting: Setting, read: Read) -> Limits:
        """Return what the comparison says of registers that it compares."""
        assert formula.order is not None
        given = [read(at) for at in self.uses]
        yes, no = [], []
        for k, order in ((0, formula.order), (1, _MIRRORED[formula.order])):
            word = formula.words[k]
            if word.constant == 0 and len(word.uses) == 1 and word.uses[0][1] == 1 and not word.reads:
                other = _sum(formula.words[1 - k], given, setting)
                register = self.uses[word.uses[0][0]]
                yes.append(Limit(register, order, other, formula.signed))
                no.append(Limit(register, _CONVERSE[order], other, formula.signed))
        return tuple(yes), tuple(no)


def _implied(inputs: list[Limits | bool], lut: int) -> Limits:
    """Return what a function of predicates says: what each input must be where the function is true, or false."""
    out: list[tuple[Limit, ...]] = []
    count = len(inputs)
    for wanted in (1, 0):
        rows = [
            k for k in range(1 << count)
            if lut >> k & 1 == wanted
            and all(x is bool(k >> (count - 1 - n) & 1) for n, x in enumerate(inputs) if isinstance(x, bool))
        ]  # fmt: skip
        held: list[Limit] = []
        for n, x in enumerate(inputs):
            values = {k >> (count - 1 - n) & 1 for k in rows}
            if not isinstance(x, bool) and len(values) == 1:
                held += x[0] if values == {1} else x[1]
        out.append(tuple(held))
    return out[0], out[1]


def _sum(s: Sum, given: list[Spread], setting: Setting) -> Spread:
    terms = [(given[at], factor) for at, factor in s.uses]
    terms += [(setting.common, factor) for _, _, factor in s.reads]
    terms += [(setting.register(name), 1) for name in s.special]
    if len(terms) == 1 and terms[0][1] == 1 and s.constant == 0:
        return terms[0][0]
    return total(s.constant, terms, setting.threads, all(t.same for t, _ in terms))


def _truth(t: Truth, given: list[Spread], setting: Setting) -> Spread:
    value = setting.always if t.use is None else given[t.use]
    return opposite(value) if t.negated else value


def _formula(f: Formula, given: list[Spread], setting: Setting, same: bool) -> Spread:
    words = [_sum(s, given, setting) for s in f.words]
    truths = [_truth(t, given, setting) for t in f.truths]
    if f.act == Act.BETWEEN:
        return _between(f.words[0].constant, f.words[1].constant, setting, same)
    if f.act == Act.TABLE:
        return table(words[0], words[1], words[2], f.table, same)
    if f.act in (Act.RIGHT, Act.RIGHT_SIGNED):
        return right(words[0], f.words[1].constant, f.act == Act.RIGHT_SIGNED, same)
    if f.act == Act.PRODUCT:
        return product(words[0], words[1], words[2], same)
    if f.act == Act.HIGH:
        return upper_product(words[0], words[1], words[2], same)
    if f.act == Act.BYTES:
        return take_bytes(words[0], words[1], f.table, same)
    if f.act in (Act.LEAST, Act.GREATEST):
        return extreme(words[0], words[1], f.act == Act.LEAST, f.signed, same)
    if f.act == Act.SELECT:
        return select(truths[0], words[0], words[1], same)
    if f.act == Act.COMPARE:
        assert f.order is not None
        return logic([compare(words[0], words[1], f.order, f.signed, same), truths[0]], f.table, same)
    assert f.act == Act.LOGIC
    return logic(truths, f.table, same)


def _between(low: int, high: int, setting: Setting, same: bool) -> Spread:
    if low < 0 or high >= HALF or high > LAST:
        return setting.common if same else setting.different
    bounds: Numbers = np.full(setting.threads, low, np.int64)
    return Spread(bounds, np.full(setting.threads, high, np.int64), same)

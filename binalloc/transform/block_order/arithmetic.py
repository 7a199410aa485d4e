"""Code that computes with words is collected here, as steps between values, and gets registers at the end.

Operands are values or numbers; what is known beforehand takes no step. All words are unsigned, and sums and products
modulo 2^32. A register is used again once no later step reads its value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from binalloc.isa.instruction import Instr
from binalloc.isa.interface.instruction_set import InstructionSet
from binalloc.isa.interface.places import WORD

_BITS = 8 * WORD
_CHOOSE = 0xCA  # table of a bit that is the second word's where the first has 1, else the third's
_DIFFER = 0xBE  # table of a bit that is 1 where the first two words differ, or the third has 1
_BOTH = 0xC0  # table of a bit that is 1 where the first two words have 1


@dataclass(frozen=True, slots=True)
class Value:
    """A value is what one step computes."""

    step: int  #: its position


Operand = Value | int


@dataclass(frozen=True)
class _Step:
    """A step is an instruction whose registers are not known yet."""

    make: Callable[..., Instr]  #: takes the target's register, then those that it reads
    uses: tuple[Value, ...]


@dataclass
class Arithmetic:
    """This record collects steps."""

    isa: InstructionSet
    steps: list[_Step] = field(default_factory=list)
    _specials: dict[str, Value] = field(default_factory=dict)

    def _add(self, make: Callable[..., Instr], *uses: Value) -> Value:
        self.steps.append(_Step(make, uses))
        return Value(len(self.steps) - 1)

    def special(self, name: str) -> Value:
        """Return what a special register holds, read once."""
        build = self.isa.build
        if name not in self._specials:
            self._specials[name] = self._add(lambda target: build.special(target, name))
        return self._specials[name]

    def number(self, value: Operand) -> Value:
        """Return an operand as a value."""
        if isinstance(value, Value):
            return value
        return self._add(lambda target: self.isa.build.number(target, value))

    def plus(self, one: Operand, other: Operand) -> Operand:
        """Return the sum of two operands."""
        build = self.isa.build
        if isinstance(one, int):
            one, other = other, one
        if isinstance(one, int) or other == 0:
            return one if isinstance(one, Value) else one + int(other)  # type: ignore[arg-type]
        if isinstance(other, int):
            amount = other
            return self._add(lambda target, a: build.plus(target, a, amount), one)
        return self._add(lambda target, a, b: build.add(target, a, b), one, other)

    def times(self, one: Operand, factor: int, other: Operand = 0) -> Operand:
        """Return `one` times a number, plus `other`."""
        build, zero = self.isa.build, self.isa.limits.zero
        if isinstance(one, int) or factor in (0, 1):
            return self.plus(one * factor if isinstance(one, int) else one if factor else 0, other)
        if isinstance(other, Value):
            return self._add(lambda target, a, b: build.multiply_add(target, a, factor, b), one, other)
        return self.plus(self._add(lambda target, a: build.multiply_add(target, a, factor, zero), one), other)

    def product(self, one: Operand, other: Operand, third: Operand) -> Operand:
        """Return `one` times `other`, plus `third`."""
        if isinstance(other, int):
            return self.times(one, other, third)
        if isinstance(one, int):
            return self.times(other, one, third)
        build = self.isa.build
        return self._add(lambda target, a, b, c: build.product(target, a, b, c), one, other, self.number(third))

    def quotient(self, one: Operand, by: int, most: int) -> Operand:
        """Return `one` divided by a number, rounded down. most: the greatest that `one` may be, below 2^31.

        After Granlund and Montgomery, "Division by Invariant Integers using Multiplication" (1994): with a factor f of
        at least 2^k / by, n f / 2^k is less than n / by + 1 / by where n (f by - 2^k) is less than 2^k.
        """
        build = self.isa.build
        if isinstance(one, int):
            return one // by
        if by == 1 or most < by:
            return one if by == 1 else 0
        bits = (by - 1).bit_length()
        if by == 1 << bits:
            return self._add(lambda target, a: build.shift_right(target, a, bits), one)
        for shift in range(bits):
            factor = -(-(1 << _BITS + shift) // by)
            if most * (factor * by - (1 << _BITS + shift)) < 1 << _BITS + shift:
                break
        upper = self._add(lambda target, a: build.high(target, a, factor), one)
        return self._add(lambda target, a: build.shift_right(target, a, shift), upper) if shift else upper

    def at_most(self, one: Operand, number: int) -> Operand:
        """Return the lesser of an operand and a number."""
        if isinstance(one, int):
            return min(one, number)
        return self._add(lambda target, a: self.isa.build.at_most(target, a, number), one)

    def beyond(self, one: Operand, edge: Operand) -> Operand:
        """Return how far `one` lies behind `edge`, 0 where it does not."""
        build = self.isa.build
        if isinstance(one, int) and isinstance(edge, int):
            return max(one - edge, 0)
        if isinstance(edge, int):
            limit = edge
            return self.plus(self._add(lambda target, a: build.at_least(target, a, limit), self.number(one)), -limit)
        return self.times(edge, -1, self.greater(one, edge))

    def greater(self, one: Operand, other: Operand) -> Operand:
        """Return the greater of two operands."""
        if isinstance(one, int) and isinstance(other, int):
            return max(one, other)
        if 0 in (one, other):
            return other if one == 0 else one
        build = self.isa.build
        return self._add(lambda target, a, b: build.greater(target, a, b), self.number(one), self.number(other))

    def differ(self, one: Value, number: int, others: Operand) -> Value:
        """Return a word that is 0 where `one` is the number and `others` is 0."""
        build, zero = self.isa.build, self.isa.limits.zero
        if isinstance(others, Value):
            return self._add(lambda target, a, c: build.table_with(target, a, number, c, _DIFFER), one, others)
        return self._add(lambda target, a: build.table_with(target, a, number, zero, _DIFFER), one)

    def zero_mask(self, one: Value) -> Value:
        """Return all bits where a word is 0, else none."""
        return self.number(self.plus(self.at_most(one, 1), -1))

    def masked(self, one: Operand, mask: Value) -> Operand:
        """Return a word where the mask has all bits, else 0."""
        build, zero = self.isa.build, self.isa.limits.zero
        return self._add(lambda target, a, b: build.table(target, a, b, zero, _BOTH), self.number(one), mask)

    def chosen(self, mask: Value, yes: Operand, no: Value) -> Value:
        """Return one word where the mask has all bits, another one where it has none."""
        build = self.isa.build
        return self._add(lambda target, a, b, c: build.table(target, a, b, c, _CHOOSE), mask, self.number(yes), no)

    def code(self, first: int, kept: Collection[Value]) -> tuple[list[Instr], dict[Value, int], int]:
        """Return the code, the registers of the values to keep, and the number behind the last register.

        first: number of the first register; that one and all behind it are free.
        """
        needed = self._needed(kept)
        last = {use: k for k in sorted(needed) for use in self.steps[k].uses}
        registers: dict[Value, int] = {}
        free: list[int] = []
        behind, code = first, []
        for k in sorted(needed):
            step, value = self.steps[k], Value(k)
            uses = [registers[use] for use in step.uses]
            free += {registers[use] for use in step.uses if last[use] == k and use not in kept}
            free.sort(reverse=True)
            registers[value] = free.pop() if free else behind
            behind = max(behind, registers[value] + 1)
            code.append(step.make(registers[value], *uses))
        return code, {value: registers[value] for value in kept}, behind

    def _needed(self, kept: Collection[Value]) -> set[int]:
        """Return the steps that values to keep are computed of."""
        needed: set[int] = set()
        work = [value.step for value in kept]
        while work:
            k = work.pop()
            if k not in needed:
                needed.add(k)
                work += [use.step for use in self.steps[k].uses]
        return needed

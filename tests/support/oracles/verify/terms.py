"""Values of symbolic runs: what operations make of what, and the unknown ones that may be chosen.

A *ground* value is a number: FALSE, TRUE, or one of an operation's results, equal results having equal numbers
(`Terms`). `Unknown` is a value to be chosen, `Open` an operation's result with such a value among its operands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FALSE, TRUE = 0, 1
Head = tuple[object, ...]


@dataclass(eq=False, slots=True)
class Unknown:
    """A value to be chosen; `bound`: what was chosen."""

    bound: int | None = None


@dataclass(eq=False, slots=True)
class Open:
    """What an operation makes of operands some of which are to be chosen."""

    head: Head
    inputs: tuple[Value, ...]


Value = int | Unknown | Open


class Undecided(Exception):
    """It depends on the truth of a ground value how it goes on."""

    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.value = value


class Terms:
    """The ground values made so far."""

    def __init__(self) -> None:
        self.made: list[tuple[Head, tuple[int, ...]]] = [(("false",), ()), (("true",), ())]
        self.numbers = {term: n for n, term in enumerate(self.made)}

    def make(self, head: Head, inputs: tuple[Value, ...] = ()) -> Value:
        """What the operation `head` makes of these."""
        ground = tuple(x for x in inputs if isinstance(x, int))
        return self.ground(head, ground) if len(ground) == len(inputs) else Open(head, inputs)

    def ground(self, head: Head, inputs: tuple[int, ...] = ()) -> int:
        term = head, inputs
        number = self.numbers.setdefault(term, len(self.made))
        if number == len(self.made):
            self.made.append(term)
        return number

    def parts(self, value: Value) -> tuple[Head, tuple[Value, ...]]:
        """The operation that made the value, and its operands."""
        if isinstance(value, Unknown):
            return ("unknown",), ()
        return (value.head, value.inputs) if isinstance(value, Open) else self.made[value]

    def unify(self, a: Value, b: int, truths: Mapping[int, bool]) -> bool:
        """Is `a` the value `b`, with what is unknown in it chosen so? Choices stay. truths: of ground values that are
        predicates; raises Undecided where it depends on another's."""
        if isinstance(a, Unknown):
            if a.bound is None:
                a.bound = b
                return True
            a = a.bound
        if a == b:
            return True
        if isinstance(a, int) and (a <= TRUE or b <= TRUE):
            return self.truth(a, truths) == self.truth(b, truths)
        (head, inputs), (other, operands) = self.parts(a), self.made[b]
        if head != other or len(inputs) != len(operands):
            return False
        return all(self.unify(x, y, truths) for x, y in zip(inputs, operands, strict=True))

    def truth(self, value: int, truths: Mapping[int, bool]) -> bool:
        """Whether a ground predicate holds."""
        if value <= TRUE:
            return value == TRUE
        if value not in truths:
            raise Undecided(value)
        return truths[value]

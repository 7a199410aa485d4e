"""This module defines the checker's answer: findings with their places, and counts.

Needs nothing; holds no state of the analysis.
"""

from __future__ import annotations

from dataclasses import dataclass, field

BY_SYMBOL = "by_symbol"
"""Key in `CheckReport.stats` for the accesses of which a proof takes C's rule. By it they stay in the variables from
which the producer of the original saw their addresses come."""


@dataclass(frozen=True)
class Finding:
    """A finding is one thing that the checker could not prove."""

    kind: str  #: a short stable word ("operand", "guard", "order", "deleted", "slot", "resources" ...)
    message: str  #: what is wrong, in words
    function: str = ""  #: name of the rewritten function
    index: int = -1  #: word in it (-1: the function as a whole)
    origin_function: str = ""  #: name of the original function
    origin_index: int = -1  #: word that the original executes there (-1: none)
    instruction: str = ""  #: text of the instruction concerned
    operand: str = ""  #: field or location
    expected: str = ""  #: what the original has, in words
    found: str = ""  #: what the rewritten program has, in words

    def __str__(self) -> str:
        place = f"{self.function}+{self.index}" if self.index >= 0 else self.function
        text = f"{place}: {self.message}" if place else self.message
        if self.instruction:
            text += f" in `{self.instruction}`"
        if self.operand:
            text += f", {self.operand}"
        if self.expected:
            text += f"; expected {self.expected}"
        if self.found:
            text += f"; found {self.found}"
        if self.origin_index >= 0:
            text += f" (original {self.origin_function}+{self.origin_index})"
        return text


@dataclass
class CheckReport:
    """The report of a check has its verdict, with all findings."""

    ok: bool  #: every obligation was proven
    errors: list[Finding] = field(default_factory=list)  #: what was not proven, in a fixed order, at most `LIMIT`
    #: reads of values that the original never wrote; any value is right there, so they are no errors, but they point to
    #: a defect in the original
    notes: list[Finding] = field(default_factory=list)
    #: counts of functions, contexts, instructions visited and so on
    stats: dict[str, int] = field(default_factory=dict)

    LIMIT = 200  #: chosen by hand: one error is enough to refuse a binary, and nobody reads more than these

    @property
    def by_symbol(self) -> int:
        """Return how many accesses the proof takes C's rule of."""
        return self.stats.get(BY_SYMBOL, 0)

    def __str__(self) -> str:
        if self.ok:
            return f"rewrite proven; {resting(self.by_symbol)}" if self.by_symbol else "rewrite proven"
        return "\n".join(str(e) for e in self.errors)


def resting(accesses: int) -> str:
    """Return a sentence on the accesses that a proof takes C's rule of, without its full stop."""
    what = "1 access rests" if accesses == 1 else f"{accesses:,} accesses rest"
    their = "its address come from its variables" if accesses == 1 else "their addresses come from their variables"
    return f"{what} on C's rule: the importer saw {their}"

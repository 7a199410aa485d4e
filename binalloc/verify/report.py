"""What the checker answers: findings with their places, and counts. Needs nothing; holds no state of the analysis."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Finding:
    """One thing the checker could not prove.

    kind: a short stable word ("operand", "guard", "order", "deleted", "slot", "resources" ...). function, index: the
    rewritten function and word index (-1: the function as a whole). origin_function, origin_index: where the original
    execution stands (-1: nowhere). instruction: text of the instruction concerned. operand: field or location.
    expected, found: in words.
    """

    kind: str
    message: str
    function: str = ""
    index: int = -1
    origin_function: str = ""
    origin_index: int = -1
    instruction: str = ""
    operand: str = ""
    expected: str = ""
    found: str = ""

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
    """The verdict. ok: every obligation was proven. errors: what was not, in a fixed order, at most `LIMIT` of them.

    notes: reads of values the original never wrote; any value is as good there, so they are no errors, but they tell
    of a defect in the original. stats: counts of functions, contexts, instructions visited and so on.
    """

    ok: bool
    errors: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    stats: dict[str, int] = field(default_factory=dict)

    LIMIT = 200

    def __str__(self) -> str:
        if self.ok:
            return "rewrite proven"
        return "\n".join(str(e) for e in self.errors)

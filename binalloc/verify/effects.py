"""This module collects what the steps of one function leave beside facts, and makes their findings."""

from __future__ import annotations

from binalloc.verify.original import OriginalFunction
from binalloc.verify.reading.code import FunctionCode, text
from binalloc.verify.report import Finding
from binalloc.verify.values.lattice import State


class Effects:
    """The steps of one function leave these effects: findings, notes, slot rows touched (relative to the entry
    pointer), and original predicates settled (`TransferFunctions.guard`)."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.notes: list[Finding] = []
        self.slots_written: set[int] = set()
        self.slots_touched: dict[int, tuple[str, int]] = {}
        self.settled: set[int] = set()

    def add(self, other: Effects) -> None:
        self.findings += other.findings
        self.notes += other.notes
        self.slots_written |= other.slots_written
        self.slots_touched = {**other.slots_touched, **self.slots_touched}
        self.settled |= other.settled


def step_finding(
    old: OriginalFunction, new: FunctionCode, kind: str, message: str, n: int, m: int, **words: str
) -> Finding:
    """Return the finding about a step at the rewritten word n and the original position m, -1 where one of them has no
    part in it."""
    what = text(new.fn, n) if n >= 0 else old.text(m)
    return Finding(kind, message, new.name, n, old.name, old.number(m), what, **words)


def contents(state: State, key: int) -> str:
    """Describe the facts about a row, for a finding."""
    found = state.names.describe(state.row(key))
    for conds, mask in sorted(state.C.get(key, {}).items(), key=lambda item: sorted(item[0])):
        where = " and ".join(f"{state.names.name(p)} is {'true' if v else 'false'}" for p, v in sorted(conds))
        found += f"; {state.names.describe(mask)} where {where}"
    return found

"""This module shows what each instruction does to each value, as rows of a table of live ranges for people.

Needs a function's webs; leaves them untouched. A value has a mark in an instruction's row if it is live before or
behind the instruction, or written by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from binalloc.analysis.program import FunctionAnalysis
from binalloc.analysis.web import WebNumber


class Mark(StrEnum):
    """A mark describes a value in the row of an instruction."""

    LIVE = ":"  #: live, but neither read nor written
    DEFINED = "^"  #: written
    USED = "v"  #: read
    BOTH = "x"  #: read and written
    MERGED = "+"  #: written under a guard, or by a callee that need not write it, and its old value is still needed
    USED_AND_MERGED = "*"  #: read, and merged as above


_OF_USED = {Mark.DEFINED: Mark.BOTH, Mark.MERGED: Mark.USED_AND_MERGED}
"""The mark of a written value that is read, too."""


@dataclass(frozen=True)
class LiveRow:
    """A live row shows what one instruction does to each value."""

    index: int  #: the instruction, -1 for the values at entry
    block: int  #: its basic block
    marks: dict[WebNumber, Mark]  #: marks by value, ascending


def live_rows(f: FunctionAnalysis) -> list[LiveRow]:
    """Return a row for the entry where values are live into the function, and one for each reachable instruction, in
    order."""
    webs, live = f.webs, f.live
    used: dict[int, set[WebNumber]] = {}
    defined: dict[int, set[WebNumber]] = {}
    for web in webs:
        for where, points in ((used, web.uses), (defined, web.defs)):
            for point in points:
                where.setdefault(point.instr, set()).add(web.id)
    rows = []
    if -1 in defined:
        rows.append(LiveRow(-1, 0, dict.fromkeys(sorted(defined[-1]), Mark.DEFINED)))
    for block in sorted(f.cfg.rpo):
        for i, before, after in webs.walk(block):
            marks = dict.fromkeys((*before.values(), *after.values()), Mark.LIVE)
            kept = live.kept.get(i, 0)
            for w in defined.get(i, ()):
                marks[w] = Mark.MERGED if kept >> webs[w].loc & 1 else Mark.DEFINED
            for w in used.get(i, ()):
                marks[w] = _OF_USED.get(marks[w], Mark.USED)
            rows.append(LiveRow(i, block, {w: marks[w] for w in sorted(marks)}))
    return rows

"""What each instruction does to each value: the rows of a table of live ranges, for people to look at.

Needs a function's webs; leaves them untouched. Every value that is live before or behind an instruction, or that it
writes, has a mark in the instruction's row.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from binalloc.analysis.program import FunctionAnalysis
from binalloc.analysis.web import WebNumber


class Mark(StrEnum):
    """A value in the row of an instruction. MERGED: written where the guard holds, or by a callee that need not write
    it, and what it was elsewhere is still wanted."""

    LIVE = ":"
    DEFINED = "^"
    USED = "v"
    BOTH = "x"
    MERGED = "+"
    USED_AND_MERGED = "*"


_OF_USED = {Mark.DEFINED: Mark.BOTH, Mark.MERGED: Mark.USED_AND_MERGED}


@dataclass(frozen=True)
class LiveRow:
    """index: the instruction, -1 for what is there at entry. block: its basic block. marks: by value, ascending."""

    index: int
    block: int
    marks: dict[WebNumber, Mark]


def live_rows(f: FunctionAnalysis) -> list[LiveRow]:
    """A row for the entry where values are live into the function, and for each reachable instruction, in order."""
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

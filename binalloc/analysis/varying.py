"""This module finds the values that may differ between the lanes of a warp.

Needs a function's webs; leaves a flag per web. A value varies if it depends on the lane's own number, on thread-private
memory, on a call or a caller, or on a varying value. It also varies if it depends on memory that other lanes or threads
may have changed in between (atomics, exchanges between lanes). Control flow is ignored: lanes that come by different
ways make nothing vary here.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from binalloc.analysis.web import CALL
from binalloc.isa.kinds import Access, Space
from binalloc.isa.sets.table import set_of

if TYPE_CHECKING:
    from binalloc.analysis.program import FunctionAnalysis
    from binalloc.isa.interface.view import View


def varying_webs(f: FunctionAnalysis) -> list[bool]:
    """Return for each web whether it may vary."""
    webs, views = f.webs.webs, f.cfg.views
    defined: dict[int, list[int]] = {}
    read_at: list[set[int]] = [set() for _ in webs]
    found = [False] * len(webs)
    work: list[int] = []

    def vary(w: int) -> None:
        if not found[w]:
            found[w] = True
            work.append(w)

    lanes = set_of(f.fn.instrs[0]).limits.lane_registers
    for w, web in enumerate(webs):
        read_at[w].update(p.instr for p in web.uses if p.instr >= 0 and p.ref != CALL)
        for point in web.defs:
            if point.instr < 0 or point.ref == CALL or _is_source(views[point.instr], lanes):
                vary(w)
            else:
                defined.setdefault(point.instr, []).append(w)
    while work:
        for index in read_at[work.pop()]:
            for w in defined.get(index, ()):
                vary(w)
    return found


def _is_source(seen: View, lanes: Collection[str]) -> bool:
    """Return whether an instruction's result varies by itself."""
    memory = seen.memory
    if memory is not None:
        return memory.access != Access.LOAD or memory.space == Space.LOCAL
    if set_of(seen.instr).special_register(seen.instr) in lanes:
        return True
    return seen.variable and seen.unit == "lsu"  # exchanges between lanes

"""This module finds webs that may be read before anything has written them. Their content is arbitrary and may change.

It needs an analysed program. It leaves, per function, the webs that some path reads without a definition. Among them
are arguments and results of calls that bring such a content from elsewhere, and copies of it.
"""

from __future__ import annotations

from binalloc.analysis.locations import Location
from binalloc.analysis.program import ProgramAnalysis
from binalloc.analysis.web import WebNumber


def unwritten(program: ProgramAnalysis) -> dict[str, set[WebNumber]]:
    """Return such webs by function. This is a fixpoint over the call graph: linear in calls times their arguments and
    copies, except for chains of returns and of copies."""
    doubt = {name: {web.id for web in program[name].webs if web.undefined} for name in program.functions}
    handed: dict[str, set[Location]] = {name: set() for name in program.functions}
    returned: dict[str, set[Location]] = {name: set() for name in program.functions}
    copied = {name: _copies(program, name) for name in program.functions}
    changed = True
    while changed:
        changed = False
        for name in program.graph.top_down:
            webs, mine = program[name].webs, doubt[name]
            before = len(mine)
            mine |= {web for loc, web in webs.args if loc in handed[name]}
            for link in webs.calls.values():
                handed[link.callee] |= {loc for loc, web in link.args if web in mine}
                mine |= {web for loc, web in link.results if loc in returned[link.callee]}
            mine |= {target for target, source in copied[name] if source in mine}
            returned[name] |= {loc for loc, web in webs.results if web in mine}
            changed = changed or len(mine) > before
    return doubt


def _copies(program: ProgramAnalysis, name: str) -> list[tuple[WebNumber, WebNumber]]:
    """List the function's copies as (target, source), guarded ones included."""
    function = program[name]
    webs = function.webs
    found = [pair for pairs in webs.copies.values() for pair in pairs]
    for i, _, _ in webs.web_of_def:
        if i not in webs.copies and program.isa.register_copy(function.fn.instrs[i]) is not None:
            found.append((webs.web_of_def[i, 0, 0], webs.web_of_use[i, 0, 0]))
    return found

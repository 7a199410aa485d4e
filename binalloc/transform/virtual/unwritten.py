"""Webs that nothing may have written where they are read: what they hold is anything, and need not stay the same.

Needs an analysed program; leaves, per function, its webs that some way reaches without a definition, arguments and
results of calls included that bring such a content from elsewhere, and copies of it.
"""

from __future__ import annotations

from binalloc.analysis.locations import Location
from binalloc.analysis.program import ProgramAnalysis
from binalloc.analysis.web import WebNumber


def unwritten(program: ProgramAnalysis) -> dict[str, set[WebNumber]]:
    """By function. A fixpoint over the call graph: linear in calls times their arguments and copies, but for chains of
    returns and of copies."""
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
    """(target, source) of the function's copies, under a guard, too."""
    function = program[name]
    webs = function.webs
    found = [pair for pairs in webs.copies.values() for pair in pairs]
    for i, _, _ in webs.web_of_def:
        if i not in webs.copies and program.isa.register_copy(function.fn.instrs[i]) is not None:
            found.append((webs.web_of_def[i, 0, 0], webs.web_of_use[i, 0, 0]))
    return found

"""Functions that have to do with their block become part of the kernel here, in front of a merge.

Needs a laid-out module; leaves another. Blocks are merged by editing the kernel. So its own code has to be what asks
for a thread's place in block and grid, comes to barriers, accesses shared memory or ends threads. Calls of functions
that do so are inlined, and calls of functions that call these. Where that is not possible the call stays, and whoever
edits the kernel says what is wrong with it.
"""

from __future__ import annotations

from dataclasses import replace

from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis, analyse
from binalloc.isa.instruction import Function, Module, Origin
from binalloc.isa.kinds import Flow, Space
from binalloc.launch.merged import Merge
from binalloc.transform.multiplex.merge import changes
from binalloc.transform.rewrite.inline import inline_functions


def with_own_code(module: Module, kernel: str, merge: Merge) -> Module:
    """Return the module with calls inlined of functions that have to do with the kernel's block; the module itself if
    there are none. Raises Refused as `analyse`."""
    program = analyse(module, kernel)
    names = _concerned(program, merge)
    made = inline_functions(module, program.graph, names)
    if not made.words:
        return module
    most = max(program.functions[name].fn.info.registers for name in [kernel, *sorted(names)])

    def marked(fn: Function) -> Function:
        if fn.name not in program.functions:
            return fn
        info = replace(fn.info, registers=max(fn.info.registers, most)) if fn.name in made.words else fn.info
        return replace(fn, info=info, origin=Origin(fn.name, list(range(len(fn))), made.words.get(fn.name, [])))

    return replace(made.module, functions=[marked(fn) for fn in made.module])


def _concerned(program: ProgramAnalysis, merge: Merge) -> set[str]:
    """Return the functions that have to do with their block, and those that call them."""
    kernel = program.graph.kernel
    found = {name for name, f in program.functions.items() if name != kernel and _asks(program, f, merge)}
    work = sorted(found)
    while work:
        new = {site.caller for site in program.graph.sites_of(work.pop())} - found - {kernel}
        found |= new
        work += sorted(new)
    return found


def _asks(program: ProgramAnalysis, f: FunctionAnalysis, merge: Merge) -> bool:
    for seen in f.cfg.views:
        register, memory = program.isa.special_register(seen.instr), seen.memory
        if register is not None and changes(program.isa.limits, register, merge):
            return True
        if memory is not None and not memory.spill and memory.space in (Space.SHARED, Space.GENERIC):
            return True
        if seen.control == Flow.EXIT or program.isa.barrier(seen.instr) is not None:
            return True
    return False

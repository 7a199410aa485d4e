"""This module finds loops in which a thread may wait for what another thread writes to memory.

Needs a `SharedMemory`, or a program where it is about other blocks; leaves them untouched. Such a loop goes on for as
long as what it loads says so. If another exit, asked in every round, ends it after a number of rounds, it does not wait
for a thread of its block.
"""

from __future__ import annotations

from binalloc.analysis.flow.cfg import BlockNumber
from binalloc.analysis.flow.loops import Loop, one_round
from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis
from binalloc.analysis.ranges.value import UNSIGNED
from binalloc.analysis.shared.division import reached
from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.shared.place import Place
from binalloc.analysis.web import CALL, GUARD, WebNumber
from binalloc.isa.interface.view import View
from binalloc.isa.kinds import LEAVES, Access, Space


def waiting_loops(memory: SharedMemory) -> list[Place]:
    """Return the first words of such loops, callers first and in order of loops."""
    found = []
    for name, f in memory.program.functions.items():
        for k, loop in enumerate(f.loops.loops):
            if not _counted(memory, name, k) and _asks_memory(f, loop):
                found.append(Place(name, f.cfg.blocks[loop.header].start))
    return found


def waiting_for_blocks(program: ProgramAnalysis) -> list[Place]:
    """Return the first words of loops in which a thread may wait for another block, callers first.

    Other blocks write global memory. What they write meanwhile is read by ordered accesses or atomics, since plain ones
    would race. A loop that only tries again until its own atomic succeeds counts, too.
    """
    readers = {name for name, f in program.functions.items() if any(map(_reads_others, f.cfg.views))}
    for name in program.graph.bottom_up:
        if readers & set(program.graph.callees(name)):
            readers.add(name)
    found = []
    for name in program.graph.top_down:
        f = program.functions[name]
        called = {site.index for site in program.graph.sites[name] if site.callee in readers}
        for loop in f.loops.loops:
            words = [w for b in loop.blocks for w in range(f.cfg.blocks[b].start, f.cfg.blocks[b].end)]
            reads = any(_reads_others(f.cfg.views[w]) or w in called for w in words)
            if reads and _asks_memory(f, loop):
                found.append(Place(name, f.cfg.blocks[loop.header].start))
    return found


def _reads_others(view: View) -> bool:
    """Return whether an instruction may read what another block writes meanwhile."""
    memory = view.memory
    if memory is None or memory.space not in (Space.GLOBAL, Space.GENERIC) or not view.defs:
        return False
    return memory.access == Access.ATOMIC or (memory.access == Access.LOAD and memory.ordered)


def _counted(memory: SharedMemory, name: str, k: int) -> bool:
    """Return whether the exits of a loop bound its rounds."""
    ranges = memory.ranges
    loop = ranges.functions[name].function.loops.loops[k]
    ((symbol, _),) = ranges.functions[name].round(k).terms
    return not loop.irreducible and ranges.symbols.bounds(symbol).high < UNSIGNED.high


def _asks_memory(f: FunctionAnalysis, loop: Loop) -> bool:
    """Return whether a way out of a loop depends on words that are loaded, or returned by functions, in the loop."""
    inside, cfg = set(loop.blocks), f.cfg
    ways = one_round(cfg, loop.blocks, loop.entries)
    blocks = [
        b for b in loop.blocks if cfg.views[cfg.blocks[b].end - 1].control in LEAVES or set(cfg.succs[b]) - inside
    ]
    webs: list[WebNumber] = []
    seen_blocks, seen_webs = set[BlockNumber](), set[WebNumber]()
    while blocks or webs:
        if blocks:
            block = blocks.pop()
            if block not in seen_blocks:
                seen_blocks.add(block)
                blocks += _deciding(ways, loop, block)
                webs += _guard(f, cfg.blocks[block].end - 1)
            continue
        web = webs.pop()
        if web in seen_webs:
            continue
        seen_webs.add(web)
        for point in f.webs[web].defs:
            if point.instr < 0 or cfg.block_of[point.instr] not in inside:
                continue
            what = cfg.views[point.instr].memory
            loads = what is not None and what.space != Space.CONST and what.access != Access.STORE
            if point.ref == CALL or loads:
                return True
            blocks += _deciding(ways, loop, cfg.block_of[point.instr])
            uses = cfg.views[point.instr].uses
            webs += [f.webs.web_of_use[point.instr, j, u] for j, ref in enumerate(uses) for u in range(ref.units)]
            webs += _guard(f, point.instr)
    return False


def _deciding(ways: list[list[int]], loop: Loop, block: BlockNumber) -> list[BlockNumber]:
    """Return the blocks that may come to a block in the same round, or end the round without it."""
    end = len(ways) - 1
    return [b for b in loop.blocks if block in reached(ways, ways[b]) and end in reached(ways, ways[b], block)]


def _guard(f: FunctionAnalysis, word: int) -> list[WebNumber]:
    """Return the web of a word's guard, if it has one."""
    web = f.webs.web_of_use.get((word, GUARD, 0))
    return [] if web is None else [web]

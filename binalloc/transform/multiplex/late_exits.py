"""Threads that would end within an access region end behind it here.

Needs a laid-out module; leaves another. A barrier orders no accesses of warps that have ended (ISA.md, "Memory model").
So before another virtual block uses the same words, all threads have to come to a barrier behind theirs. A guarded EXIT
in a region becomes a branch to the EXIT at the end of the kernel, where its lanes wait for the others, and the region
lasts to there. Whole blocks that end right behind accesses come to the end of their region on this way. In a region
that ends earlier this is only worthwhile if there are accesses between the last barrier and the EXIT.
"""

from __future__ import annotations

from dataclasses import replace

from binalloc.analysis.flow.cfg import BlockNumber, Cfg
from binalloc.analysis.kept import kept
from binalloc.analysis.shared.division import reached
from binalloc.analysis.shared.memory import SharedMemory, Three, shared_memory_of
from binalloc.analysis.shared.pieces import apart
from binalloc.analysis.shared.regions import Region, access_regions
from binalloc.analysis.shared.uniformity import Scope
from binalloc.isa.instruction import Module, Origin
from binalloc.isa.kinds import Flow, Space
from binalloc.isa.sets.table import set_of

_ALONE = (Flow.NONE, Flow.BRANCH, Flow.EXIT)
"""Control flow that has nothing to do with other threads."""


@kept
def with_late_exits(module: Module, kernel: str, block: Three) -> Module:
    """Return the module with guarded ends of threads behind a kernel's access regions, where nothing between them waits
    for other threads; the module itself if there are none."""
    given = module
    while True:
        later = _later(module, kernel, block)
        if later is None:
            break
        module = later
    if module is given:
        return given
    fn = module.function(kernel)
    made = replace(fn, origin=Origin(kernel, list(range(len(fn.instrs)))))
    return replace(module, functions=[made if each is fn else each for each in module.functions])


def _later(module: Module, kernel: str, block: Three) -> Module | None:
    """Return the module with the last of the ends moved; None if there are none. Others may be moved then."""
    memory = shared_memory_of(module, kernel, block)
    fn = memory.program.kernel.fn
    instrs = list(fn.instrs)
    for region in access_regions(memory):
        for word, end in _exits(memory, region):
            instr = instrs[word]
            build = set_of(instr).build
            branch = build.branch(guard=(instr.guard, instr.guard_neg), target=0, reconvergence=0)
            instrs[word] = set_of(instr).relink(branch, dict.fromkeys(set_of(branch).links(branch), end - word - 1))
    if instrs == fn.instrs:
        return None
    made = replace(fn, instrs=instrs)
    return replace(module, functions=[made if each is fn else each for each in module.functions])


def _exits(memory: SharedMemory, region: Region) -> list[tuple[int, int]]:
    """Return the words of a region at which threads may end, each with the end of the kernel to which all others go."""
    kernel = memory.program.kernel
    cfg, ends, parted = kernel.cfg, kernel.post_dominators(), apart(memory)
    lasts = {cfg.block_of[n]: n for n in cfg.exits if cfg.views[n].guard is None}
    whole = any(bound.source is None and bound.word in lasts.values() for bound in region.ends)
    found: list[tuple[int, int]] = []
    for start, end in region.spans:
        for word in range(start, end):
            seen, at = cfg.views[word], cfg.block_of[word]
            if seen.control != Flow.EXIT or seen.guard is None or at in parted or not cfg.reachable(word):
                continue
            moved = len(found)
            for target, last in lasts.items():
                if ends.dominates(target, cfg.fall[at]) and (whole or accessed(cfg, word)):
                    between = [*reached(cfg.succs, [cfg.fall[at]], target), target]
                    if not any(_waits(memory, BlockNumber(b)) for b in between):
                        found.append((word, last))
            as_one = lasts and memory.scopes.executed(kernel.name, word) >= Scope.BLOCK
            if len(found) == moved and as_one and accessed(cfg, word):
                found.append((word, max(lasts.values())))
    return found


def accessed(cfg: Cfg, word: int) -> bool:
    """Return whether shared memory may be accessed in front of a word, with no barrier in between."""
    work, seen = [(cfg.block_of[word], word)], set[BlockNumber]()
    while work:
        block, end = work.pop()
        for view in reversed(cfg.views[cfg.blocks[block].start : end]):
            if view.memory is not None and view.memory.space in (Space.SHARED, Space.GENERIC):
                return True
            if view.control == Flow.BARRIER:
                break
        else:
            before = [b for b in cfg.preds[block] if b not in seen]
            seen.update(before)
            work += [(b, cfg.blocks[b].end) for b in before]
    return False


def _waits(memory: SharedMemory, block: BlockNumber) -> bool:
    """Return whether lanes wait for others in a basic block, exchange words with them, or call."""
    cfg = memory.program.kernel.cfg
    views = cfg.views[cfg.blocks[block].start : cfg.blocks[block].end]
    return any(seen.convergent or seen.control not in _ALONE for seen in views)

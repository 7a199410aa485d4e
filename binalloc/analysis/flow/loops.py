"""This module finds the loop nest of one function, irreducible regions included, and the execution weight of each
block.

Needs a `Cfg`. A loop is a strongly connected region of the graph. To find the loops inside, the edges into its entries
are removed and strongly connected regions are sought again (Steensgaard's nesting forest). A region with one entry is
the natural loop of that header; one with several is irreducible and flagged.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from binalloc.analysis.flow.cfg import BlockNumber, Cfg

WEIGHT_BASE = 10  # assumed iterations of a loop, the usual factor of spill costs since Chaitin
# chosen by hand: deeper loops weigh no more, so that one deep nest does not outweigh all other code
MAX_WEIGHT_DEPTH = 6
MAX_NESTING = 64  # chosen by hand: deeper nests are not taken apart, since each level costs a pass

Edge = tuple[BlockNumber, BlockNumber]  # (source, target)


@dataclass
class Loop:
    """A loop is a strongly connected region of the control flow graph, natural or irreducible."""

    entries: list[BlockNumber]  #: blocks entered from outside, ascending; one for a natural loop (its header)
    blocks: list[BlockNumber]  #: all blocks of the loop, inner loops included, ascending
    depth: int  #: 1 for an outermost loop
    parent: int  #: index in LoopNest.loops or -1
    children: list[int] = field(default_factory=list)  #: indices in LoopNest.loops

    @property
    def header(self) -> BlockNumber:
        return self.entries[0]

    @property
    def irreducible(self) -> bool:
        return len(self.entries) > 1


@dataclass
class LoopNest:
    """The loop nest of a function has its loops, and the depth and weight of each block."""

    loops: list[Loop]  #: outer before inner, then by first block
    depth: list[int]  #: depth of each block, 0 outside loops
    loop_of: list[int]  #: innermost loop of each block or -1
    weight: list[float]  #: expected executions of each block: 10 ** min(depth, 6), or from a profile (`executions`)


def one_round(cfg: Cfg, blocks: Sequence[BlockNumber], entries: Collection[BlockNumber]) -> list[list[int]]:
    """Return by block the successors of some blocks in one round, which ends at an entry or where they are left.

    What follows then is one more block than the code has.
    """
    end, inside = len(cfg.blocks), set(blocks) - set(entries)
    ways: list[list[int]] = [[] for _ in range(end + 1)]
    for b in blocks:
        ways[b] = [s if s in inside else end for s in cfg.succs[b]]
    return ways


def find_loops(cfg: Cfg) -> LoopNest:
    """Return the loop nest of the reachable blocks. Deeper than 64 levels it is not taken apart further."""
    count = len(cfg.blocks)
    nest = LoopNest([], [0] * count, [-1] * count, [1] * count)
    cut: set[Edge] = set()
    work: list[tuple[list[BlockNumber], int]] = [(list(cfg.rpo), -1)]
    while work:
        following: list[tuple[list[BlockNumber], int]] = []
        for region, parent in work:
            for component in _components(region, cfg, cut):
                following.append((component, _add_loop(cfg, nest, component, parent, cut)))
        work = [(c, k) for c, k in following if nest.loops[k].depth < MAX_NESTING]
    nest.weight = [WEIGHT_BASE ** min(d, MAX_WEIGHT_DEPTH) for d in nest.depth]
    return nest


def _add_loop(cfg: Cfg, nest: LoopNest, component: list[BlockNumber], parent: int, cut: set[Edge]) -> int:
    """Record a strongly connected region as a loop, cut the edges that repeat it, and return its index."""
    inside = set(component)
    entries = [
        b
        for b in component
        if b == 0 or any(p not in inside or (p, b) in cut for p in cfg.preds[b] if cfg.rpo_number[p] >= 0)
    ]
    depth = nest.loops[parent].depth + 1 if parent >= 0 else 1
    index = len(nest.loops)
    nest.loops.append(Loop(entries, component, depth, parent))
    if parent >= 0:
        nest.loops[parent].children.append(index)
    for b in component:
        nest.depth[b] = depth
        nest.loop_of[b] = index
    for b in entries:
        cut.update((p, b) for p in cfg.preds[b] if p in inside)
    return index


def _components(region: list[BlockNumber], cfg: Cfg, cut: set[Edge]) -> list[list[BlockNumber]]:
    """Return strongly connected components with at least one edge inside, each ascending, ordered by first block
    (Tarjan)."""
    inside = set(region)
    succs = {b: [s for s in cfg.succs[b] if s in inside and (b, s) not in cut] for b in region}
    index: dict[BlockNumber, int] = {}
    low: dict[BlockNumber, int] = {}
    on_stack: set[BlockNumber] = set()
    stack: list[BlockNumber] = []
    found: list[list[BlockNumber]] = []
    for root in region:
        if root in index:
            continue
        calls = [(root, iter(succs[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while calls:
            b, rest = calls[-1]
            for s in rest:
                if s not in index:
                    index[s] = low[s] = len(index)
                    stack.append(s)
                    on_stack.add(s)
                    calls.append((s, iter(succs[s])))
                    break
                if s in on_stack:
                    low[b] = min(low[b], index[s])
            else:
                calls.pop()
                if calls:
                    low[calls[-1][0]] = min(low[calls[-1][0]], low[b])
                if low[b] == index[b]:
                    component: list[BlockNumber] = []
                    while not component or component[-1] != b:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    if len(component) > 1 or b in succs[b]:
                        found.append(sorted(component))
    return sorted(found)

"""All threads of a block walk the flat kernel here at once, and it is noted which addresses their accesses may have.

Needs flat code of paired functions, and the block's size, if it is known. Leaves a `Reach`: bounds of the original's
addresses, node by node, and the ways that a thread may take. The walk is that of the package `multiplex`. It is told
that threads may be apart everywhere. So each thread has bounds of its own, whatever the others do.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from binalloc.isa.interface.instruction_set import SetLimits
from binalloc.isa.interface.places import LANES, WORD
from binalloc.isa.kinds import Flow, Space
from binalloc.isa.sets.table import set_of
from binalloc.verify.multiplex.graph import Graph
from binalloc.verify.multiplex.kernels.records import MOST_THREADS
from binalloc.verify.multiplex.living import guard_of, live_at, mask_of, read_by
from binalloc.verify.multiplex.memory import Memory, Range
from binalloc.verify.multiplex.spread import LAST, Spread
from binalloc.verify.multiplex.state import State
from binalloc.verify.multiplex.walk import STEPS, Again, Assumed, TooLong, Walk
from binalloc.verify.multiplex.words import Setting, Word
from binalloc.verify.sharing.flat import Flat

ALL_ADDRESSES: list[Range] = [(0, LAST)]


@dataclass(frozen=True)
class Reach:
    """A reach says where threads may go. at: by node that accesses shared or generic memory and may be executed, the
    addresses that the original's access may have. edges: by node that threads may come to, the nodes behind it."""

    at: dict[int, list[Range]]
    edges: dict[int, tuple[int, ...]]
    steps: int  #: words that the walks executed


class AnyBlock(Setting):
    """The setting of a block of unknown size is one thread that stands for all."""

    def __init__(self, limits: SetLimits, most: int) -> None:
        """most: threads of a block at most."""
        super().__init__((1, 1, 1), limits)
        for name in limits.places:
            if name in self.special:
                self.special[name] = _between(0, most - 1)
        for name in limits.sizes:
            if name in self.special:
                self.special[name] = _between(1, most)
        self.special[limits.lane] = _between(0, LANES - 1)
        self.special[limits.warp] = _between(0, -(-most // LANES) - 1)


def _between(low: int, high: int) -> Spread:
    return Spread(np.array([low], np.int64), np.array([high], np.int64), False)


class FlatWalk(Walk):
    """This walk follows flat code, in which calls and returns are branches."""

    apart = True  #: threads may be apart everywhere, not only where the assumptions say so

    def _through(self, block: int, state: State) -> list[tuple[int, State]]:
        self.block, self.together = block, not (self.apart or self.assumed.apart >> block & 1)
        nodes = self.graph.words[block]
        self.assumed.steps += len(nodes)
        if self.assumed.steps > STEPS:
            raise TooLong
        for n in nodes:
            word = self.words[n]
            if word is None:
                continue
            if self.kinds[n] == Flow.BRANCH:
                if n == nodes[-1]:
                    return self._branch(word, state)
                continue  # it jumps to the next node
            if self.kinds[n] == Flow.EXIT:
                if not self._end(n, word, state):
                    return []
            else:
                self._execute(n, word, state)
                if not state.may.any():
                    return []
        ways = self.graph.after[block]
        self.edges[block].update(ways)
        return [(to, state) for to in ways]


def reach(flat: Flat, block: tuple[int, int, int] | None, most: int = MOST_THREADS) -> Reach:
    """Return where threads may go. block: the size of blocks, None where it is unknown. most: threads of a block at
    most. Raises TooLong and TooTangled."""
    label = [node.label for node in flat.nodes]
    graph = Graph(flat.after, set(), 0)
    before, written = needed(flat, sorted(n for chain in graph.words for n in chain))
    words = [None if m < 0 else Word(node.pair.old.instrs[m], n in written)
             for n, (node, m) in enumerate(zip(flat.nodes, label, strict=True))]  # fmt: skip
    limits = set_of(flat.nodes[0].pair.old.instrs[0]).limits
    setting = AnyBlock(limits, most) if block is None else Setting(block, limits)
    live = live_at(graph, [n if m >= 0 else m for n, m in enumerate(label)], before)
    kinds = [node.kind for node in flat.nodes]
    assumed = Assumed()
    while True:
        walk = FlatWalk(graph, words, kinds, live, setting, Memory(WORD, False), assumed, flat.clobbered)
        try:
            walk.run()
            break
        except Again:
            continue
    edges: dict[int, tuple[int, ...]] = {}
    came = {graph.entry, *(to for out in walk.edges for to in out)}
    for b in sorted(came):
        chain = graph.words[b]
        edges.update({n: (to,) for n, to in pairwise(chain)})
        firsts = {graph.words[to][0] for to in walk.edges[b]}
        edges[chain[-1]] = tuple(to for to in flat.after[chain[-1]] if to in firsts)
    at = dict(walk.reach)
    for n in edges:
        memory = flat.nodes[n].view.memory
        if memory is not None and memory.space == Space.GENERIC:
            at[n] = ALL_ADDRESSES
    return Reach(at, edges, assumed.steps)


def needed(flat: Flat, reached: list[int]) -> tuple[list[int], set[int]]:
    """Return the places that decide where threads go and where they access shared memory: by node, those that are
    needed in front of it, as masks. Also return the nodes that write one that is needed behind them."""
    before, written = [0] * len(flat.nodes), set()
    sources: dict[int, list[int]] = {n: [] for n in reached}
    for n in reached:
        for to in flat.after[n]:
            sources[to].append(n)
    work = set(reached)
    heap = sorted(reached)
    while heap:
        n = heap.pop()
        if n not in work:
            continue
        work.discard(n)
        node, out = flat.nodes[n], 0
        for to in flat.after[n]:
            out |= before[to]
        if node.label >= 0:
            view, here = node.view, mask_of(node.view.defs)
            needed = bool(out & here)
            if view.guard is None:
                out &= ~here
            if needed:
                written.add(n)
                out |= read_by(view)
            if node.kind in (Flow.BRANCH, Flow.EXIT):
                out |= guard_of(view)
            if view.memory is not None and view.memory.space == Space.SHARED:
                out |= guard_of(view) | (mask_of([view.memory.base]) if view.memory.base is not None else 0)
        if out != before[n]:
            before[n] = out
            for source in sources[n]:
                work.add(source)
                heap.append(source)
    return before, written

"""Loops in which a thread may wait for another block are found here.

In another order of blocks such a loop might never end: the block that it waits for may be dealt later, and find no room
before the waiting one has ended. What other blocks write meanwhile is read by ordered accesses or atomics of global
memory, since plain ones would race. Needs the original's functions; leaves words.
"""

from __future__ import annotations

from collections.abc import Sequence

from binalloc.bitset import bits
from binalloc.isa.interface.places import PRED_BASE
from binalloc.isa.interface.view import View, successors
from binalloc.isa.kinds import CALLS, LEAVES, Access, Flow, Space
from binalloc.verify.multiplex.graph import Graph
from binalloc.verify.multiplex.living import mask_of
from binalloc.verify.reading.code import FunctionCode

_OWN = (Space.CONST, Space.TEXTURE)  # memory that nobody writes during a launch


def reads_blocks(view: View) -> bool:
    """Return whether an instruction may read what another block writes meanwhile."""
    memory = view.memory
    if memory is None or memory.space not in (Space.GLOBAL, Space.GENERIC) or not view.defs:
        return False
    return memory.access == Access.ATOMIC or (memory.access == Access.LOAD and memory.ordered)


def waiting_words(codes: Sequence[FunctionCode]) -> list[tuple[FunctionCode, int]]:
    """Return the words at which threads may leave, or stay in, a loop by what another block has written. codes: of the
    kernel and the functions that it calls. Raises TooTangled for a loop with two entries in code that reads so."""
    if not any(reads_blocks(view) for code in codes for view in code.views):
        return []
    clobbered = 0
    for code in codes:
        for view in code.views:
            clobbered |= mask_of(view.defs)
    found = []
    for code in codes:
        graph = Graph(_after(code), set(), 0)
        for head, inside in sorted(graph.loops.items()):
            found += [(code, n) for n in sorted(_Loop(code, graph, head, inside, clobbered).waiting())]
    return list(dict.fromkeys(found))


def _after(code: FunctionCode) -> list[tuple[int, ...]]:
    """Return the words that may follow each word of a function."""
    found = []
    for n, view in enumerate(code.views):
        falls, jumps = successors(view.control, view.guard is not None)
        to = [n + 1] if falls and n + 1 < len(code) else []
        if jumps and view.control == Flow.BRANCH:
            to.append(code.fn.target(n))
        found.append(tuple(to))
    return found


class _Loop:
    """A loop knows at each of its blocks which places depend on what other blocks of the grid write, through branches,
    memory and calls, too. Sets of places and of blocks of code are masks."""

    def __init__(self, code: FunctionCode, graph: Graph, head: int, inside: int, clobbered: int) -> None:
        self.code, self.graph, self.head, self.clobbered = code, graph, head, clobbered
        self.blocks = sorted(bits(inside), key=lambda b: graph.rank[b])
        self.inside = inside
        self.coming = dict.fromkeys(self.blocks, 0)  #: by block: places that depend where it begins
        self.stored = False  #: something that depends is in memory
        self.under: set[int] = set()  #: blocks that are come to, or not, by what depends
        self.deciding: set[int] = set()  #: words that go one way or another by what depends

    def waiting(self) -> set[int]:
        """Return the words at which the loop is left, or not, by what depends on others."""
        state: object = None
        while state != (before := (dict(self.coming), self.stored, len(self.under), len(self.deciding))):
            state = before
            for b in self.blocks:
                behind = self._through(b)
                for to in self.graph.after[b]:
                    if self.inside >> to & 1:
                        self.coming[to] |= behind
        return {n for b in self.blocks for n in self._leaves(b) if b in self.under or n in self.deciding}

    def _through(self, b: int) -> int:
        """Return the places that depend on others where a block ends."""
        depending = self.coming[b]
        for n in self.graph.words[b]:
            view = self.code.views[n]
            memory, written = view.memory, mask_of(view.defs)
            depends = bool(depending & self._uses(view)) or b in self.under
            loads = memory is not None and memory.space not in _OWN and memory.access != Access.STORE
            if depends or reads_blocks(view) or (self.stored and loads):
                depending |= written
            elif view.guard is None:
                depending &= ~written
            if memory is not None and memory.access != Access.LOAD:
                self.stored |= depends
            if view.control in CALLS:
                depending |= self.clobbered  # some function reads what others write
                self.stored = True
            if depends and view.guard is not None and view.control in (Flow.BRANCH, *LEAVES):
                self.deciding.add(n)
                self.under |= self._sides(b)
        return depending

    def _uses(self, view: View) -> int:
        guard = 0 if view.guard is None else 1 << PRED_BASE + view.guard[0]
        return mask_of(view.uses) | guard

    def _leaves(self, b: int) -> list[int]:
        """Return the words of a block at which threads may leave the loop."""
        words = self.graph.words[b]
        out = any(not self.inside >> to & 1 for to in self.graph.after[b])
        return [n for n in words if self.code.views[n].control in LEAVES or (out and n == words[-1])]

    def _sides(self, b: int) -> set[int]:
        """Return the blocks that some threads that part at the end of `b` may pass in this round, and some may not."""
        passed = self._round(b, -1)
        return {at for at in bits(passed) if self._ends_without(b, at)}

    def _round(self, b: int, without: int) -> int:
        """Return the blocks behind `b` in this round, but for one and what only it leads to."""
        found, work = 0, list(self.graph.after[b])
        while work:
            at = work.pop()
            if at in (self.head, without) or not self.inside >> at & 1 or found >> at & 1:
                continue
            found |= 1 << at
            work += self.graph.after[at]
        return found

    def _ends_without(self, b: int, without: int) -> bool:
        """Return whether the round may end behind `b` without one block."""
        passed = [b, *bits(self._round(b, without))]
        return any(to == self.head or not self.inside >> to & 1 for at in passed for to in self.graph.after[at])

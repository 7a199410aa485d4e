"""Loops that may wait for another thread are found here.

A loop that ends only when another thread has written something reads it again and again, by ordered accesses: plain
ones would race. Such a loop may never end where the other thread has come to a barrier that was inserted, or where its
block waits for memory. Needs the loops that were not followed round by round.
"""

from __future__ import annotations

from binalloc.bitset import bits, mask_from
from binalloc.isa.interface.places import PRED_BASE
from binalloc.isa.interface.view import View
from binalloc.isa.kinds import CALLS, Access, Flow, Space
from binalloc.verify.multiplex.graph import Graph
from binalloc.verify.multiplex.words import Word


def waiting(graph: Graph, words: list[Word | None], heads: set[int], clobbered: int) -> list[int]:
    """Return branches in loops that depend on what an ordered access of the loop has read. heads: the loops. clobbered:
    places that calls write."""
    return sorted({n for head in heads for n in _Loop(graph, words, graph.loops[head]).waiting(clobbered)})


class _Loop:
    """A loop knows at each of its blocks which places depend on what other threads write meanwhile, through calls and
    memory, too. Sets of places are masks."""

    def __init__(self, graph: Graph, words: list[Word | None], inside: int) -> None:
        self.graph, self.inside = graph, inside
        self.blocks = sorted(bits(inside), key=lambda b: graph.rank[b])
        self.words = {n: word for b in self.blocks for n in graph.words[b] if (word := words[n]) is not None}
        self.uses = {n: mask_from(_uses(word)) for n, word in self.words.items()}
        self.defs = {n: mask_from(word.defs) for n, word in self.words.items()}
        self.coming = dict.fromkeys(self.blocks, 0)  # by block: places that depend on others where it begins
        self.stored = False  # something that depends on others is in memory

    def waiting(self, clobbered: int) -> set[int]:
        """Return branches that depend on others."""
        found: set[int] = set()
        changed = True
        while changed:
            changed, stored = False, self.stored
            for b in self.blocks:
                leaving = self._through(b, clobbered, found)
                for to in self.graph.after[b]:
                    if self.inside >> to & 1 and leaving & ~self.coming[to]:
                        self.coming[to] |= leaving
                        changed = True
            changed |= self.stored != stored
        return found

    def _through(self, b: int, clobbered: int, found: set[int]) -> int:
        """Return the places that depend on others where the block ends; add branches that do to `found`."""
        others = self.coming[b]
        for n in self.graph.words[b]:
            if n not in self.words:
                continue
            view, depends = self.words[n].view, bool(others & self.uses[n])
            if depends and view.control in (Flow.BRANCH, Flow.EXIT):
                found.add(n)
            memory = view.memory
            if reads_others(view) or depends or (self.stored and memory is not None and memory.space != Space.CONST):
                others |= self.defs[n]
            elif view.guard is None and view.control not in CALLS:
                others &= ~self.defs[n]
            self.stored |= depends and memory is not None and memory.access != Access.LOAD
            if view.control in CALLS and (others or self.stored):
                others |= clobbered
        return others


def _uses(word: Word) -> list[int]:
    guard = word.view.guard
    return word.uses if guard is None else [*word.uses, PRED_BASE + guard[0]]


def reads_others(view: View) -> bool:
    """Return whether an instruction may read what another thread writes meanwhile."""
    memory = view.memory
    if memory is None or memory.space in (Space.CONST, Space.LOCAL, Space.TEXTURE):
        return False
    return memory.access == Access.ATOMIC or (memory.access == Access.LOAD and memory.ordered)

"""Loops that may wait for another thread are found here.

A loop that ends only when another thread has written something reads it again and again, by ordered accesses: plain
ones would race. Such a loop may never end where the other thread has come to a barrier that was inserted, or where its
block waits for memory. Needs the loops that were not followed round by round.
"""

from __future__ import annotations

from binalloc.bitset import bits
from binalloc.isa.interface.places import PRED_BASE
from binalloc.isa.interface.view import View
from binalloc.isa.kinds import CALLS, Access, Flow, Space
from binalloc.verify.multiplex.graph import Graph
from binalloc.verify.multiplex.words import Word


def waiting(graph: Graph, words: list[Word | None], heads: set[int], clobbered: int) -> list[int]:
    """Return branches in loops that depend on what an ordered access of the loop has read. heads: the loops. clobbered:
    places that calls write."""
    found: set[int] = set()
    for head in heads:
        inside = graph.loops[head]
        code = {n: word for b in bits(inside) for n in graph.words[b] if (word := words[n]) is not None}
        others = _from_others(list(code.values()), bits(clobbered))
        for n, word in code.items():
            if word.view.control in (Flow.BRANCH, Flow.EXIT) and not others.isdisjoint(_uses(word)):
                found.add(n)
    return sorted(found)


def _from_others(code: list[Word], clobbered: list[int]) -> set[int]:
    """Return the places of a loop that may depend on what other threads write meanwhile, through calls and memory,
    too."""
    others: set[int] = set()
    stored, before = False, -1
    while len(others) + stored > before:
        before = len(others) + stored
        for word in code:
            memory, depends = word.view.memory, not others.isdisjoint(_uses(word))
            if reads_others(word.view) or depends or (stored and memory is not None and memory.space != Space.CONST):
                others.update(word.defs)
            stored |= depends and memory is not None and memory.access != Access.LOAD
            if word.view.control in CALLS and others:
                others.update(clobbered)
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

"""This module says what is the same in all virtual blocks of a merged block, thread by thread.

Needs an outline that was walked, and the bytes of shared memory that all virtual blocks have in common. A place
*differs* if a thread of one virtual block may have another value there than the thread of the same number in another
one, although both came there by the same way. What depends on the block's number differs, and what is loaded from
memory. So does what is computed between a branch whose condition differs and the place where its ways meet.
"""

from __future__ import annotations

from collections.abc import Collection

from binalloc.bitset import bits
from binalloc.isa.interface.places import LOCAL_BASE, PRED_BASE, TRUE
from binalloc.isa.kinds import CALLS, Space
from binalloc.verify.multiplex.graph import Graph, Meetings
from binalloc.verify.multiplex.walk import Walk
from binalloc.verify.multiplex.words import Word

EVERY = (1 << LOCAL_BASE) - 1


class Scope:
    """A scope has the places that differ in front of each node, as masks. branches: blocks of the graph at whose end
    virtual blocks may go different ways. common: words that load what all virtual blocks have in common."""

    def __init__(self, graph: Graph, words: list[Word | None], walk: Walk, meetings: Meetings, common: set[int],
                 block_number: str, clobbered: int, as_one: Collection[int] = ()) -> None:  # fmt: skip
        """as_one: nodes of branches at which both have gone the same way."""
        self.graph, self.words, self.walk, self.meetings = graph, words, walk, meetings
        self.common, self.block_number, self.clobbered = common, block_number, clobbered
        self.branches: set[int] = set()
        self.before: dict[int, int] = {}
        self._apart = 0
        while True:
            self._flow()
            branches = {b for b, out in enumerate(walk.edges) if len(out) > 1 and self.differs(graph.words[b][-1])}
            if branches <= self.branches:
                break
            self.branches |= branches
            for b in branches:
                if graph.words[b][-1] in as_one:
                    continue
                meeting = meetings.meeting(b)
                whole = meeting is None or meeting == meetings.sink
                self._apart |= meetings.beyond(b) if whole or meeting is None else meetings.region(b, meeting)

    def same(self, n: int, place: int) -> bool:
        """Return whether a place is the same in all virtual blocks in front of a node."""
        return n in self.before and not self.before[n] >> place & 1

    def differs(self, n: int) -> bool:
        """Return whether the guard of a node may differ."""
        word = self.words[n]
        guard = None if word is None else word.view.guard
        return guard is not None and guard[0] != TRUE and not self.same(n, PRED_BASE + guard[0])

    def apart(self) -> set[int]:
        """Return the nodes between a branch whose condition differs and the place where its ways meet: one virtual
        block may come there more often than another one."""
        return {n for b in bits(self._apart) for n in self.graph.words[b]}

    def _flow(self) -> None:
        """Compute what differs in front of each node."""
        begin: dict[int, int] = {self.graph.entry: EVERY}
        work = [self.graph.entry]
        while work:
            b = work.pop()
            mask = begin[b]
            for n in self.graph.words[b]:
                self.before[n] = mask
                mask = self._behind(n, mask, bool(self._apart >> b & 1))
            for to in self.walk.edges[b]:
                joined = begin.get(to, 0) | mask
                if begin.get(to) != joined:
                    begin[to] = joined
                    work.append(to)

    def _behind(self, n: int, mask: int, apart: bool) -> int:
        word = self.words[n]
        if word is None:
            return mask
        view = word.view
        if view.control in CALLS:
            return mask | self.clobbered
        guard = 0 if view.guard is None or view.guard[0] == TRUE else 1 << PRED_BASE + view.guard[0]
        memory = view.memory
        loads = memory is not None and memory.space != Space.CONST and n not in self.common
        known = n in self.common or (view.pure and not view.convergent and not loads)
        differs = apart or not known or bool(mask & guard) or word.special == self.block_number
        differs = differs or any(mask >> at & 1 for at in word.uses)
        for at in word.defs:
            if differs:
                mask |= 1 << at
            elif view.guard is None:
                mask &= ~(1 << at)
        return mask



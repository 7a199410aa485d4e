"""The course of a block through a flat kernel is walked here, from one barrier to the next.

Needs flat code in which every barrier lets all threads of the block wait, and the block's size. Leaves a `Course`. It
is checked that threads which part meet again before they come to different barriers. So all threads of the block that
have not ended come to the same barriers one after the other, and an *interval* is the code between two of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from binalloc.bitset import bits
from binalloc.isa.interface.view import View
from binalloc.isa.kinds import Flow
from binalloc.isa.sets.table import set_of
from binalloc.verify.multiplex.graph import Graph, Meetings
from binalloc.verify.multiplex.living import live_at
from binalloc.verify.multiplex.memory import Memory, Range
from binalloc.verify.multiplex.spread import Mask, Spread
from binalloc.verify.multiplex.state import State
from binalloc.verify.multiplex.together import settle
from binalloc.verify.multiplex.walk import Assumed, Walk
from binalloc.verify.multiplex.words import Setting, Word
from binalloc.verify.sharing.addresses import FlatWalk, needed
from binalloc.verify.sharing.flat import Flat


@dataclass(frozen=True)
class Interval:
    """An interval is what threads of a block execute from one barrier to the next."""

    end: int | None  #: node of the barrier at its end, None where all threads end
    nodes: frozenset[int]  #: what they may execute
    alone: frozenset[int]  #: what single threads among them may execute that do not come to its end


class _Walk(FlatWalk):
    """This walk knows where threads are together, and of some accesses which bytes they keep to."""

    apart = False
    within: Mapping[int, Range]

    def _address(self, n: int, view: View, state: State) -> Spread:
        found = super()._address(n, view, state)
        if n not in self.within or view.memory is None:
            return found
        first, last = self.within[n][0], self.within[n][1] - view.memory.size + 1
        return Spread(np.clip(found.low, first, last), np.clip(found.high, first, last), found.same)


class Course:
    """A course is what walks of one kernel need, and what the last of them has shown."""

    def __init__(self, flat: Flat, block: tuple[int, int, int], span: int) -> None:
        """span: bytes of shared memory that are followed one by one; the last one stands for all beyond."""
        self.flat, self.span = flat, span
        label = [node.label for node in flat.nodes]
        barriers = {n for n, node in enumerate(flat.nodes)
                    if label[n] >= 0 and set_of(node.view.instr).barrier(node.view.instr) is not None}  # fmt: skip
        points = {n: at for n in range(len(flat.nodes)) if (at := self._point(n)) is not None}
        self.graph = Graph(flat.after, barriers | set(points.values()), 0)
        number = self.graph.number
        before, written = needed(flat, sorted(n for chain in self.graph.words for n in chain))
        self.words = [None if m < 0 else Word(node.pair.old.instrs[m], n in written)
                      for n, (node, m) in enumerate(zip(flat.nodes, label, strict=True))]  # fmt: skip
        self.live = live_at(self.graph, [n if m >= 0 else m for n, m in enumerate(label)], before)
        self.kinds = [node.kind for node in flat.nodes]
        self.setting = Setting(block, set_of(flat.nodes[0].pair.old.instrs[0]).limits)
        self.barriers = sum(1 << number[n] for n in barriers if n in number)
        self.points = {b: number[points[chain[-1]]] for b, chain in enumerate(self.graph.words)
                       if chain[-1] in points and points[chain[-1]] in number}  # fmt: skip
        self.assumed = Assumed()
        self.walk: Walk
        self.meetings: Meetings

    def _point(self, n: int) -> int | None:
        """Return the node at which lanes meet again that part at a branch."""
        node = self.flat.nodes[n]
        if node.view.control != Flow.BRANCH or node.label < 0:
            return None
        point = node.pair.new.fn.reconvergence(node.n)
        return None if point is None else n - node.n + point

    def run(
        self, memory: Memory | None = None, others: Mapping[int, Mask] | None = None,
        within: Mapping[int, Range] | None = None,
    ) -> None:  # fmt: skip
        """Walk. memory: what follows shared memory; None where nothing does. others: by node of a barrier, the bytes
        that are stale from there on, if they were written before. within: by node the first and last byte that an
        access may touch, where that is known. Raises TooLong."""
        memory, others = memory or Memory(self.span, False), others or {}
        self.assumed.strewn = {}  # bytes are in other places now

        def make(assumed: Assumed) -> Walk:
            walk = _Walk(self.graph, self.words, self.kinds, self.live, self.setting, memory, assumed,
                         self.flat.clobbered)  # fmt: skip
            walk.others, walk.within = dict(others), within or {}
            return walk

        self.walk, self.meetings, self.assumed = settle(make, self.graph, self.barriers, self.points, self.assumed)

    def check_parting(self) -> None:
        """Note a finding where threads that part may come to different barriers."""
        for b in sorted(self.walk.parted):
            if self.meetings.meeting(b) == self.meetings.sink:
                node = self.flat.nodes[self.graph.words[b][-1]]
                node.pair.fail("together", "threads that part here may come to different barriers", node.n, node.label)

    def intervals(self) -> list[Interval]:
        """Return the intervals of the block's run, after a walk."""
        edges = self.walk.edges
        ending = {b for b, chain in enumerate(self.graph.words) if any(n in self.walk.ends for n in chain)}
        last = {b for b, chain in enumerate(self.graph.words) if any(self.kinds[n] == Flow.EXIT for n in chain)}
        found = []
        for begin in (None, *bits(self.barriers)):
            if begin is not None and not any(begin in out for out in edges) and begin != self.graph.entry:
                continue  # no thread comes to it
            inside, ends = self._from(begin)
            alone = self._to(ending & inside, inside)
            for end in sorted(ends):
                leading = self._to((b for b in inside if end in edges[b]), inside)
                found.append(Interval(self.graph.words[end][0], self._nodes(leading | alone), self._nodes(alone)))
            leading = self._to(last & inside, inside)
            found.append(Interval(None, self._nodes(leading | alone), self._nodes(alone)))
        return found

    def _from(self, begin: int | None) -> tuple[set[int], set[int]]:
        """Return the blocks between a barrier, or the start, and the next barriers, and these barriers' blocks."""
        inside, ends = set[int](), set[int]()
        work = [self.graph.entry] if begin is None else []
        if begin is not None:
            inside.add(begin)
            work += self.walk.edges[begin]
        while work:
            b = work.pop()
            if self.barriers >> b & 1:
                ends.add(b)
            elif b not in inside:
                inside.add(b)
                work += self.walk.edges[b]
        return inside, ends

    def _to(self, blocks: Iterable[int], inside: set[int]) -> set[int]:
        """Return the blocks of some that lead to others among them, themselves included."""
        found, work = set[int](), list(blocks)
        while work:
            b = work.pop()
            if b not in found:
                found.add(b)
                if not self.barriers >> b & 1:
                    work += [a for a in inside if b in self.walk.edges[a]]
        return found

    def _nodes(self, blocks: set[int]) -> frozenset[int]:
        return frozenset(n for b in blocks for n in self.graph.words[b])

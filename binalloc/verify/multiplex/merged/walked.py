"""A graph of one block's words is walked here by all threads of the block.

Needs the graph's nodes and edges; leaves walks of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from binalloc.bitset import bits
from binalloc.isa.interface.instruction_set import SetLimits
from binalloc.isa.interface.view import successors
from binalloc.isa.kinds import Flow
from binalloc.verify.multiplex.graph import Graph, Meetings
from binalloc.verify.multiplex.living import Called, live_at, needed
from binalloc.verify.multiplex.memory import Memory
from binalloc.verify.multiplex.merged.numbers import Three
from binalloc.verify.multiplex.together import settle
from binalloc.verify.multiplex.walk import Assumed, Walk
from binalloc.verify.multiplex.words import Setting, Word
from binalloc.verify.reading.code import FunctionCode

BEYOND = 17  # places behind static memory: an access may begin in it and end behind it; the last is all bytes beyond


@dataclass(frozen=True)
class Original:
    """The original kernel, and the size of its blocks."""

    code: FunctionCode
    block: Three
    limits: SetLimits
    called: Called  #: what the functions do that it calls

    @property
    def span(self) -> int:
        """Return the number of bytes of shared memory that are followed."""
        return self.code.fn.info.shared_bytes + BEYOND


@dataclass(frozen=True)
class Nodes:
    """The nodes of a graph. after: successors of each, jumps last. label: the original's word, or a negative number.
    barriers: nodes that are inserted barriers. points: by node of a branch, the node at which its lanes meet again."""

    after: list[tuple[int, ...]]
    label: list[int]
    barriers: set[int]
    points: dict[int, int]
    entry: int


def original_nodes(original: Original) -> Nodes:
    """Return the nodes of the original's own graph."""
    code, after, points = original.code, [], {}
    for m, view in enumerate(code.views):
        falls, jumps = successors(view.control, view.guard is not None)
        branch = jumps and view.control == Flow.BRANCH
        after.append((m + 1,) * falls + ((code.fn.target(m),) if branch else ()))
        point = code.fn.reconvergence(m) if branch else None
        if point is not None:
            points[m] = point
    return Nodes(after, list(range(len(code))), set(), points, 0)


class Walked:
    """A graph, as walks need it."""

    def __init__(self, original: Original, nodes: Nodes) -> None:
        self.original, self.label = original, nodes.label
        follow = needed(original.code)
        words = [Word(*each) for each in zip(original.code.instrs, follow.written, strict=True)]
        self.words = [words[m] if m >= 0 else None for m in nodes.label]
        self.kinds = [Flow.NONE if w is None else w.view.control for w in self.words]
        for n in nodes.barriers:
            self.kinds[n] = Flow.BARRIER
        stops = {n for n, word in enumerate(self.words) if word is not None and word.barrier is not None}
        stops |= nodes.barriers
        behind = {to for n, kind in enumerate(self.kinds) if kind == Flow.BRANCH for to in nodes.after[n]}
        # a block ends with its branch, also where threads may go one way alone
        self.graph = Graph(nodes.after, stops | behind | set(nodes.points.values()), nodes.entry)
        number = self.graph.number
        self.barriers = sum(1 << number[n] for n in stops if n in number)
        points = {b: nodes.points[chain[-1]] for b, chain in enumerate(self.graph.words) if chain[-1] in nodes.points}
        self.points = {b: number[at] for b, at in points.items() if at in number}
        self.live = live_at(self.graph, nodes.label, follow.before)
        self.setting = Setting(original.block, original.limits)

    def settled(self, assumed: Assumed | None = None) -> tuple[Walk, Meetings, Assumed]:
        """Return a walk whose assumptions hold, and which does not follow the contents of shared memory. assumed:
        assumptions to begin with."""
        return settle(lambda x: self.walk(x, follows=False), self.graph, self.barriers, self.points, assumed)

    def assume(self, other: Walked, assumed: Assumed) -> Assumed:
        """Return the assumptions on another graph of the same kernel, for this one: they save walks."""
        mine: dict[int, set[int]] = {}  # blocks of this graph, by block of the other
        homes = {other.label[n]: b for b, chain in enumerate(other.graph.words) for n in chain}
        for b, chain in enumerate(self.graph.words):
            for n in chain:
                if self.label[n] in homes and self.label[n] >= 0:
                    mine.setdefault(homes[self.label[n]], set()).add(b)
        alone = {b for b, chain in enumerate(self.graph.words) if all(self.label[n] < 0 for n in chain)}
        loops, unequal = ({other._begins(b) for b in assumed.fixed}, {other.label[n] for n in assumed.unequal})
        return Assumed(
            apart=sum(1 << b for b in {b for at in bits(assumed.apart) for b in mine.get(at, ())} | alone),
            fixed={head for head in self.graph.loops if self._begins(head) in loops},
            unequal={n for n, m in enumerate(self.label) if m in unequal and self.words[n] is not None},
            lost={b: mask for at, mask in assumed.lost.items() for b in mine.get(at, ())},
            strewn={b: mask for at, mask in assumed.strewn.items() for b in mine.get(at, ())},
        )

    def _begins(self, block: int) -> int:
        """Return the first word of the original in a block, a negative number where there is none."""
        return next((self.label[n] for n in self.graph.words[block] if self.label[n] >= 0), -1)

    def walk(self, assumed: Assumed, *, follows: bool) -> Walk:
        memory = Memory(self.original.span, follows)
        return Walk(self.graph, self.words, self.kinds, self.live, self.setting, memory, assumed,
                    self.original.called.writes)  # fmt: skip

    def feasible(self, walk: Walk) -> dict[int, set[int]]:
        """Return, by node, the nodes that may come next."""
        found: dict[int, set[int]] = {}
        for b, chain in enumerate(self.graph.words):
            found.update({n: {to} for n, to in pairwise(chain)})
            found[chain[-1]] = {self.graph.words[to][0] for to in walk.edges[b]}
        return found

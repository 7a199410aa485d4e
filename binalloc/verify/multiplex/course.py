"""The course of a block through a paired kernel is proven here: it is walked, and what the walk shows is judged.

Needs a pairing without findings; leaves findings in it.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from binalloc.isa.interface.places import WORD
from binalloc.isa.kinds import Flow
from binalloc.isa.sets.table import set_of
from binalloc.verify.multiplex.addressing.addresses import Addresses
from binalloc.verify.multiplex.cases import Cases, CaseSetting, candidates, choose
from binalloc.verify.multiplex.division import Division
from binalloc.verify.multiplex.graph import Graph
from binalloc.verify.multiplex.kernels.pairing import INSERTED, Pairing
from binalloc.verify.multiplex.living import live_at, needed
from binalloc.verify.multiplex.memory import Memory, Range
from binalloc.verify.multiplex.parting import check_parting
from binalloc.verify.multiplex.spread import Spread
from binalloc.verify.multiplex.together import settle
from binalloc.verify.multiplex.waits import waiting
from binalloc.verify.multiplex.walk import Again, Assumed, TooLong, Walk
from binalloc.verify.multiplex.words import Setting, Word

BEYOND = 17  # places behind static memory: an access may begin in it and end behind it; the last is all bytes beyond


class Course:
    """A course is what the walks of one kernel need: its blocks and words, and the block of threads."""

    def __init__(
        self, pairing: Pairing, block: tuple[int, int, int], division: Division, end: int
    ) -> None:
        """end: the original's accesses to addresses from this one on fault."""
        self.end = end
        new, old = pairing.new, pairing.old
        self.pairing, self.division = pairing, division
        follow = needed(old)
        self.words = [None if m == INSERTED else Word(old.instrs[m], follow.written[m]) for m in pairing.label]
        self.kinds = [view.control for view in new.views]
        barriers = [set_of(view.instr).barrier(view.instr) for view in new.views]
        stops = {n for n, barrier in enumerate(barriers) if barrier is not None and barrier.plain}
        stops |= {n for n, word in enumerate(self.words) if word is not None and word.barrier is not None}
        branches = [n for n, kind in enumerate(self.kinds) if kind == Flow.BRANCH]
        points = {at for n in branches if (at := new.fn.reconvergence(n)) is not None}
        self.graph = Graph(pairing.after, stops | points, 0)
        self.barriers = sum(1 << self.graph.number[n] for n in stops if n in self.graph.number)
        self.live = live_at(self.graph, pairing.label, follow.before)
        self.setting = Setting(block, set_of(old.instrs[0]).limits)
        self.span = max(old.fn.info.shared_bytes, division.high) + BEYOND
        self.clobbered = pairing.called.writes
        self.stats: dict[str, int] = {}
        self.walk: Walk | None = None  # the one whose assumptions hold
        self.fixed: set[int] = set()  # heads of loops that it did not follow round by round

    def run(self, addresses: bool = True) -> None:
        """Walk, and judge what the walk shows. addresses: also judge where accesses go."""
        points = {b: at for b in range(len(self.graph.words)) if (at := self._point(b)) is not None}
        walk, meetings, assumed = settle(self._walk, self.graph, self.barriers, points)
        self.walk, self.fixed = walk, assumed.fixed
        self.stats = {"words": len(self.words), "steps": walk.steps, "threads": self.setting.threads}
        check_parting(self.pairing, self.graph, points, walk, meetings)
        for n, byte in walk.stale.items():
            self.pairing.fail("contents", "may read what an earlier holding period wrote", n, self.pairing.label[n],
                              found=f"byte {byte:#x} of the original's")  # fmt: skip
        for n in waiting(self.graph, self.words, assumed.fixed, self.clobbered):
            self.pairing.fail("waits", "a loop may wait for another thread", n, self.pairing.label[n])
        if addresses:
            self._addresses(walk)

    def _walk(self, assumed: Assumed) -> Walk:
        public = np.zeros(self.span, np.bool_)
        public[self.division.first : self.division.high] = True
        memory = Memory(self.span, bool(public.any()))
        walk = Walk(self.graph, self.words, self.kinds, self.live, self.setting, memory, assumed, self.clobbered)
        walk.others = {n: public for n, kind in enumerate(self.kinds) if kind == Flow.ALLOC}
        walk.watched = frozenset(candidates(self.graph, self.words))
        return walk

    def _point(self, b: int) -> int | None:
        """Return the block that the branch at the end of block `b` names as reconvergence point."""
        n = self.graph.words[b][-1]
        point = self.pairing.new.fn.reconvergence(n) if self.kinds[n] == Flow.BRANCH else None
        return None if point is None else self.graph.number.get(point)

    # -- addresses

    def _addresses(self, walk: Walk) -> None:
        """Check addresses; where bounds do not suffice, with cases of a word's result."""
        judged = self._judge(walk, walk.reach)
        if any(finding.kind == "address" for finding in judged.findings):
            for n in sorted(walk.before, reverse=True):
                reach = self._by_cases(n, walk.before[n])
                better = judged if reach is None else self._judge(walk, reach)
                if not better.findings:
                    self.stats["cases"] = 1
                    return
        self.pairing.findings.update(judged.findings)

    def _judge(self, walk: Walk, reach: dict[int, list[Range]]) -> Addresses:
        edges = {}
        for b, chain in enumerate(self.graph.words):
            edges.update({n: {to} for n, to in pairwise(chain)})
            edges[chain[-1]] = {self.graph.words[to][0] for to in walk.edges[b]}
        within = {n: [(low, min(high, self.end - 1)) for low, high in r if low < self.end] for n, r in reach.items()}
        addresses = Addresses(self.pairing, self.division, within, edges, self.clobbered)
        addresses.run(0)
        return addresses

    def _by_cases(self, n: int, places: dict[int, Spread]) -> dict[int, list[Range]] | None:
        """Return the addresses that accesses may have, found case by case of the result of word `n`."""
        words_of_memory = self.span // WORD  # a number of words of a tile, say, is not greater
        cases = choose(n, self.words, places, self.setting, words_of_memory)
        if cases is None:
            return None
        assumed = Assumed()
        while True:
            walk = self._walk_cases(assumed, cases)
            try:
                walk.run()
            except Again:
                continue
            except TooLong:
                return None
            return walk.reach

    def _walk_cases(self, assumed: Assumed, cases: Cases) -> Walk:
        setting, memory = CaseSetting(self.setting, cases), Memory(self.span, follows=False)
        return Walk(self.graph, self.words, self.kinds, self.live, setting, memory, assumed, self.clobbered, cases)

"""The course of a block through a paired kernel is proven here: it is walked, and what the walk shows is judged.

Needs a pairing without findings; leaves findings in it.
"""

from __future__ import annotations

from itertools import pairwise

from binalloc.isa.instruction import Function
from binalloc.isa.interface.places import WORD
from binalloc.isa.kinds import Flow
from binalloc.isa.sets.table import set_of
from binalloc.verify.multiplex.addresses import Addresses
from binalloc.verify.multiplex.cases import Cases, CaseSetting, candidates, choose
from binalloc.verify.multiplex.division import Division
from binalloc.verify.multiplex.graph import Graph, Meetings
from binalloc.verify.multiplex.living import living
from binalloc.verify.multiplex.memory import Memory, Range
from binalloc.verify.multiplex.pairing import INSERTED, Pairing
from binalloc.verify.multiplex.spread import Spread
from binalloc.verify.multiplex.together import region, settle
from binalloc.verify.multiplex.waits import waiting
from binalloc.verify.multiplex.walk import Again, Assumed, TooLong, Walk
from binalloc.verify.multiplex.words import Setting, Word
from binalloc.verify.reading.code import ref_bits

BEYOND = 17  # places behind static memory: an access may begin in it and end behind it; the last is all bytes beyond


class Course:
    """A course is what the walks of one kernel need: its blocks and words, and the block of threads."""

    def __init__(
        self, pairing: Pairing, callees: list[Function], block: tuple[int, int, int], division: Division, end: int
    ) -> None:
        """end: the original's accesses to addresses from this one on fault."""
        self.end = end
        new, old = pairing.new, pairing.old
        self.pairing, self.division = pairing, division
        self.words = [None if m == INSERTED else Word(old.instrs[m]) for m in pairing.label]
        self.kinds = [view.control for view in new.views]
        barriers = [set_of(view.instr).barrier(view.instr) for view in new.views]
        stops = {n for n, barrier in enumerate(barriers) if barrier is not None and barrier.plain}
        stops |= {n for n, word in enumerate(self.words) if word is not None and word.barrier is not None}
        branches = [n for n, kind in enumerate(self.kinds) if kind == Flow.BRANCH]
        points = {at for n in branches if (at := new.fn.reconvergence(n)) is not None}
        self.graph = Graph(pairing.after, stops | points, 0)
        self.barriers = sum(1 << self.graph.number[n] for n in stops if n in self.graph.number)
        self.live = self._live()
        self.setting = Setting(block, set_of(old.instrs[0]).limits)
        self.span = max(old.fn.info.shared_bytes, division.high) + BEYOND
        self.clobbered = _written(callees)
        self.stats: dict[str, int] = {}
        self.walk: Walk | None = None  # the one whose assumptions hold
        self.fixed: set[int] = set()  # heads of loops that it did not follow round by round

    def run(self, addresses: bool = True) -> None:
        """Walk, and judge what the walk shows. addresses: also judge where accesses go."""
        points = {b: at for b in range(len(self.graph.words)) if (at := self._point(b)) is not None}
        walk, meetings, assumed = settle(self._walk, self.graph, self.barriers, points)
        self.walk, self.fixed = walk, assumed.fixed
        self.stats = {"words": len(self.words), "steps": walk.steps, "threads": self.setting.threads}
        self._together(walk, meetings)
        for n, byte in walk.stale.items():
            self.pairing.fail("contents", "may read what an earlier holding period wrote", n, self.pairing.label[n],
                              found=f"byte {byte:#x} of the original's")  # fmt: skip
        for n in waiting(self.graph, self.words, assumed.fixed, self.clobbered):
            self.pairing.fail("waits", "a loop may wait for another thread", n, self.pairing.label[n])
        if addresses:
            self._addresses(walk)

    def _walk(self, assumed: Assumed) -> Walk:
        memory = Memory(self.span, (self.division.first, self.division.high))
        walk = Walk(self.graph, self.words, self.kinds, self.live, self.setting, memory, assumed, self.clobbered)
        walk.watched = frozenset(candidates(self.graph, self.words))
        return walk

    def _live(self) -> list[int]:
        """Return the places that are read from each new word on."""
        old, label = living(self.pairing.old), self.pairing.label
        live = [0] * len(label)
        for chain in self.graph.words:
            for k, n in enumerate(chain):
                m = next((label[x] for x in chain[k:] if label[x] != INSERTED), INSERTED)
                live[n] = old[m] if m != INSERTED else -1
        return live

    # -- threads together

    def _together(self, walk: Walk, meetings: Meetings) -> None:
        """Check that threads that part meet again before a barrier, and lanes of a warp at its reconvergence point."""
        graph, pairing = self.graph, self.pairing
        for b, warps in sorted(walk.parted.items()):
            n = graph.words[b][-1]
            m, meeting, point = pairing.label[n], meetings.meeting(b), pairing.new.fn.reconvergence(n)
            if warps and pairing.deeper(n):
                pairing.fail("stack", "takes more entries of the reconvergence stack than the original", n, m)
            if meeting is None:
                continue
            if meeting == meetings.sink:
                reached = region(meetings, b) & meetings.barriers
                found = [graph.words[x][0] for x in range(len(graph.words)) if reached >> x & 1]
                pairing.fail("together", "threads that part here may come to different barriers", n, m,
                             found=f"barriers at words {found}")  # fmt: skip
            elif warps and not self._meet(walk, meetings, b):
                pairing.fail("together", "lanes that part here may not have met again at a barrier", n, m,
                             f"reconvergence at word {graph.words[meeting][0]}, say", str(point))  # fmt: skip

    def _meet(self, walk: Walk, meetings: Meetings, b: int) -> bool:
        """Return whether lanes that part behind block `b` meet at its reconvergence point before every barrier: all
        ways pass it, and lanes that part once more before it have met again by then."""
        point = self._point(b)
        if point is None or meetings.region(b, point) & self.barriers:
            return False
        for other, warps in walk.parted.items():
            if warps and other != b and meetings.region(b, point) >> other & 1:
                at = self._point(other)
                if at is None or (at != point and meetings.region(other, at) >> point & 1):
                    return False
        return True

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
        setting, memory = CaseSetting(self.setting, cases), Memory(self.span, (0, 0))
        return Walk(self.graph, self.words, self.kinds, self.live, setting, memory, assumed, self.clobbered, cases)


def _written(functions: list[Function]) -> int:
    """Return the places that functions write, as a mask."""
    mask = 0
    for fn in functions:
        for instr in fn.instrs:
            for ref in set_of(instr).view(instr).defs:
                for at in ref_bits(ref):
                    mask |= 1 << at
    return mask

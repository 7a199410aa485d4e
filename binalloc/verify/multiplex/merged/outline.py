"""The outline of a merged kernel is the graph that all virtual blocks have in common.

Needs a pairing; leaves findings where virtual blocks go different ways. Nodes are the words of pairs, words that are
reconvergence points, and barriers. Where one virtual block comes to inserted barriers between two pairs, the outline
has one barrier there. So a virtual block comes to no barrier, one or several where the outline has one.
"""

from __future__ import annotations

from binalloc.verify.multiplex.kernels.pairing import INSERTED
from binalloc.verify.multiplex.merged.pairing import ENTRY, MergedPairing, Way


class Outline:
    """An outline has `after`, the successors of each node, those of jumps last. Nodes up to the number of words are
    words of the merged kernel. label: the original's word, or `INSERTED`. barriers: nodes for inserted barriers."""

    def __init__(self, pairing: MergedPairing) -> None:
        self.pairing = pairing
        self.label = list(pairing.label)
        self.after: list[tuple[int, ...]] = [()] * len(self.label)
        self.barriers: set[int] = set()
        self.entry = 0
        self._at: dict[tuple[int, bool], int] = {}  # inserted barriers, by the node in front and whether it jumps
        self._next: dict[tuple[int, bool], int] = {}
        self.steps: dict[Way, list[int]] = {}  #: by way, its nodes, without the pair in front
        ways = list(pairing.ways())
        stops = self._stops(ways)
        for way in ways:
            self._add(way, stops)
        for n in range(len(self.after)):
            self.after[n] = tuple(self._next[n, jump] for jump in (False, True) if (n, jump) in self._next)
        if (ENTRY, False) in self._next:
            self.entry = self._next[ENTRY, False]

    def _stops(self, ways: list[Way]) -> set[tuple[int, bool]]:
        """Return the places behind which some virtual block comes to an inserted barrier."""
        found = set()
        for way in ways:
            place = way.source, way.jump
            for k, n in enumerate(way.passed):
                if k in way.barriers:
                    found.add(place)
                if n in self.pairing.points:
                    place = n, False
        return found

    def _add(self, way: Way, stops: set[tuple[int, bool]]) -> None:
        nodes = []
        place = way.source, way.jump
        for n in [*(n for n in way.passed if n in self.pairing.points), way.to]:
            if place in stops:
                barrier = self._barrier(place)
                self._link(place, barrier)
                place = barrier, False
                nodes.append(barrier)
            self._link(place, n)
            place = n, False
            nodes.append(n)
        self.steps[way] = nodes

    def barriers_of(self, way: Way) -> list[int]:
        """Return the outline's barriers for those that a virtual block comes to on a way, one after the other."""
        found, place = [], (way.source, way.jump)
        for k, n in enumerate(way.passed):
            if k in way.barriers:
                found.append(self._at[place])
            if n in self.pairing.points:
                place = n, False
        return found

    def _barrier(self, place: tuple[int, bool]) -> int:
        if place not in self._at:
            self._at[place] = len(self.after)
            self.barriers.add(len(self.after))
            self.after.append(())
            self.label.append(INSERTED)
        return self._at[place]

    def _link(self, place: tuple[int, bool], to: int) -> None:
        if self._next.setdefault(place, to) != to:
            self.pairing.fail("order", "virtual blocks come to different words from here", max(place[0], 0))

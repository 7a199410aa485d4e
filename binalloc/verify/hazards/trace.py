"""This module finds the producer of a hazard: it searches backwards from the instruction that met it.

Needs the graph and its flow; used only once a hazard is known, to name the other instruction and the distance. Ways are
a thread's, with calls and returns matched; for scoreboards they may take one switch between lanes (`graph`).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import NamedTuple

from binalloc.isa.timing import LONGEST_STALL
from binalloc.verify.hazards.graph import HazardGraph

MOST_CALLS = 4  # calls that a way remembers to match returns; chosen by hand: it bounds the number of ways
MOST_WAYS = 4_000
"""Pieces of ways searched before the producer is given up as unknown. Chosen by hand: it bounds the time for one
hazard, which is reported anyway."""


class Suspect(NamedTuple):
    """A suspect is a word met on a way back."""

    node: int  #: the word
    elapsed: int  #: stall counts between its issue and the hazard's (or behind the hazard, for a drain)
    waited: int  #: scoreboards waited for in between
    switched: bool  #: other lanes ran it


class _Way(NamedTuple):
    """A way is followed backwards from the hazard; ways are ordered by `elapsed`, then by `number`."""

    elapsed: int  #: stall counts so far
    number: int  #: order of discovery
    block: int  #: block in which it goes on
    end: int  #: one past the word at which it goes on
    calls: tuple[int, ...]  #: blocks of the calls whose callees it has entered from behind
    waited: int  #: scoreboards waited for so far
    switched: bool  #: it has switched to other lanes


class Tracer:
    """A tracer finds producers in `graph`."""

    def __init__(self, graph: HazardGraph) -> None:
        self.graph, self.code = graph, graph.code
        self.ends: dict[int, list[int]] = {}
        for split in graph.splits:
            for side, other in (split.sides, split.sides[::-1]):
                if side.start != split.point:
                    arriving = () if other.start == split.point else side.arrive
                    self.ends.setdefault(other.start, []).extend((*arriving, *side.leave))
                    self.ends.setdefault(split.point, []).extend(side.leave)
        self.block_of = [0] * len(self.code)
        self.returns: list[list[int]] = [[] for _ in self.code.functions]
        for block in graph.blocks:
            if block.returns:
                self.returns[block.function].append(block.number)
            self.block_of[block.start : block.end] = [block.number] * (block.end - block.start)

    def fixed(self, node: int, kind: str, places: int) -> Suspect | None:
        """Return the nearest fixed result of one of `places` that is too late for `node`."""
        code = self.code
        margin = code.cycles[node] - 1 if kind == "WAW" else 0

        def fits(step: Suspect) -> bool:
            n = step.node
            return not code.boarded[n] and code.writes[n] & places != 0 and code.cycles[n] - step.elapsed > margin

        return self._search(node, kind == "drain", fits, LONGEST_STALL)

    def pending(self, node: int, kind: str, places: int) -> Suspect | None:
        """Return the nearest variable instruction with an unwaited access to one of `places` on the way to `node`."""
        code = self.code

        def fits(step: Suspect) -> bool:
            n = step.node
            if not code.boarded[n]:
                return False
            ctrl = code.views[n].instr.ctrl
            if kind != "WAR" and code.writes[n] & places:
                return not step.waited >> ctrl.wbar & 1
            unread = kind in ("WAR", "drain") and code.late[n] & places != 0
            return unread and not (step.waited >> ctrl.wbar & 1 or step.waited >> ctrl.rbar & 1)

        return self._search(node, kind == "drain", fits, None)

    def _search(self, node: int, behind: bool, fits: Callable[[Suspect], bool], limit: int | None) -> Suspect | None:
        """Return the first step that `fits`, nearest first; behind: count from the end of the node's own stall."""
        code, track = self.code, limit is None
        first = self.block_of[node]
        elapsed = code.stall[node] if behind else 0
        heap = [_Way(elapsed, 0, first, node, (), code.wait[node] if track else 0, False)]
        if behind:
            heap[0] = heap[0]._replace(elapsed=0, waited=0, end=node + 1)
        seen: set[tuple[int, int, tuple[int, ...], int, bool]] = set()
        number = 0
        while heap and len(seen) < MOST_WAYS:
            way = heapq.heappop(heap)
            key = (way.block, way.end, way.calls, way.waited, way.switched)
            if key in seen or (limit is not None and way.elapsed > limit):
                continue
            seen.add(key)
            elapsed, waited = way.elapsed, way.waited
            found = None
            for n in range(way.end - 1, self.graph.blocks[way.block].start - 1, -1):
                elapsed += code.stall[n]
                step = Suspect(n, elapsed, waited, way.switched)
                if fits(step):
                    found = step
                    break
                waited |= code.wait[n] if track else 0
            if found is not None:
                return found
            for block, calls, switched in self._before(way, track):
                number += 1
                end = self.graph.blocks[block].end
                heapq.heappush(heap, _Way(elapsed, number, block, end, calls, waited, switched))
        return None

    def _before(self, way: _Way, switches: bool) -> Iterator[tuple[int, tuple[int, ...], bool]]:
        """Yield blocks that may have run right before `way.block`."""
        graph = self.graph
        block = graph.blocks[way.block]
        for before in graph.preds[way.block]:
            call = graph.blocks[before]
            if call.back == way.block:
                for number in self.returns[call.callee]:
                    yield number, (*way.calls, before)[-MOST_CALLS:], way.switched
            if way.block in call.succ:
                yield before, way.calls, way.switched
        if graph.entry[block.function] == way.block:
            if way.calls:
                yield way.calls[-1], way.calls[:-1], way.switched
            else:
                for site in graph.sites[block.function]:
                    yield site, (), way.switched
        if switches and not way.switched:
            for before in self.ends.get(way.block, ()):
                yield before, way.calls, True

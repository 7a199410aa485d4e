"""This module represents tokens as bits of small integers. Tokens are the results and the late reads that scoreboards
guard.

It needs the instruction graph and the timings. Every guarded instruction has two tokens: W (its results) and R (its
late sources). Sets of tokens are integers in which an instruction's *number* stands for its two tokens, W at the even
bit. Two instructions share a number if their tokens can never be pending at the same place. So the width of a set
depends on how many may be pending at once, not on the length of the program. A flood finds the places where a token may
be pending: it starts behind the instruction and stops where one waits for the token in any case. It may go too far,
never too short. It runs over *segments*, pieces of basic blocks. A token that reaches very many segments has a number
of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from binalloc.bitset import bits
from binalloc.isa.kinds import Flow
from binalloc.transform.schedule.graph import InstrGraph
from binalloc.transform.schedule.timing import ALL_PLACES, Timing

SEGMENT = 32
"""Most instructions of a segment. Shorter ones make floods more exact, longer ones make them cheaper; chosen by
hand."""
MOST_SEGMENTS = 256
"""Most segments that a flood visits before its token counts as pending everywhere. More of them take time, fewer make
sets wider; chosen by hand."""


class Tokens:
    """The tokens of a module have numbers. The identity of a token is twice the position of its
    instruction in `issuer`, plus one for R.

    issuer: nodes of the guarded instructions, in program order. gen[n]: tokens that node n issues. conflict[n]: tokens
    it must not meet. Both are sets, valid in the segment of n (`segment[n]`) alone. all: the set of all numbers'
    tokens. w_mask: the W tokens of `all`.
    """

    def __init__(self, graph: InstrGraph, timings: list[Timing]) -> None:
        self.issuer: list[int] = [n for n, t in enumerate(timings) if t.guarded]
        self.starts, self.segment = _segments(graph)
        floods = _Floods(graph, timings, self.starts, self.segment)
        self.everywhere: list[int] = []
        self.within: list[dict[int, int]] = [{} for _ in self.starts]
        self.number = self._number([floods.reach(timings[node], node) for node in self.issuer])
        width = 2 * max((n + 1 for n in self.number), default=0)
        self.all = (1 << width) - 1
        self.w_mask = self.all // 3  # 0b0101...
        self.own = [_own(timings[node]) for node in self.issuer]
        self.gen = [0] * len(timings)
        for k, node in enumerate(self.issuer):
            self.gen[node] = self.own[k] << 2 * self.number[k]
        self.conflict = self._conflicts(graph, timings, floods)

    def _number(self, reached: list[list[int] | None]) -> list[int]:
        """Return the smallest number that no other instruction has in any segment reached, by instruction. Those that
        reach too many come first."""
        numbers = [-1] * len(reached)
        for k, segments in enumerate(reached):
            if segments is None:
                numbers[k] = len(self.everywhere)
                self.everywhere.append(k)
        taken = [0] * len(self.starts)
        for k, segments in enumerate(reached):
            if segments is not None:
                others = 0
                for s in segments:
                    others |= taken[s]
                free = ~others & (others + 1)
                numbers[k] = len(self.everywhere) + free.bit_length() - 1
                for s in segments:
                    taken[s] |= free
                    self.within[s][numbers[k]] = k
        return numbers

    def _conflicts(self, graph: InstrGraph, timings: list[Timing], floods: _Floods) -> list[int]:
        conflict = [0] * len(timings)
        wide = _ByPlace(self, timings, dict(enumerate(self.everywhere)), ALL_PLACES, ALL_PLACES)
        for s, start in enumerate(self.starts):
            near = _ByPlace(self, timings, self.within[s], floods.touched[start], floods.written[start])
            end = self.starts[s + 1] if s + 1 < len(self.starts) else len(timings)
            for node in range(start, end):
                if node in graph.drains:
                    conflict[node] = self.all
                    continue
                t = timings[node]
                conflict[node] = near.met(t) | wide.met(t)
        return conflict

    def with_reads(self, done: int) -> int:
        """Add R tokens to the set `done`: once its result is written, an instruction has read its sources."""
        return done | (done & self.w_mask) << 1

    def issued(self, k: int) -> list[tuple[int, int]]:
        """List kind and bit of the tokens of the k-th guarded instruction."""
        own = self.own[k]
        return [(kind, 1 << 2 * self.number[k] + kind) for kind in (0, 1) if own >> kind & 1]

    def numbered(self, node: int, held: int) -> list[tuple[int, int]]:
        """List the tokens in a set at `node`, ascending by number, with their bits."""
        within, everywhere = self.within[self.segment[node]], self.everywhere
        wide = 2 * len(everywhere)
        return [(2 * (everywhere[b >> 1] if b < wide else within[b >> 1]) + (b & 1), 1 << b) for b in bits(held)]

    def identities(self, node: int, held: int) -> list[int]:
        """List the tokens in a set at `node`, ascending by number."""
        return [token for token, _ in self.numbered(node, held)]

    def sets(self, group: list[int], groups: int) -> list[list[int]]:
        """Return, by segment and number of the group, the set of the group's tokens. `group` is by identity, -1 for
        tokens in none."""
        wide = _grouped(enumerate(self.everywhere), group, [0] * groups)
        return [_grouped(within.items(), group, wide) for within in self.within]


def _grouped(numbered: Iterable[tuple[int, int]], group: list[int], start: list[int]) -> list[int]:
    out = start.copy()
    for number, k in numbered:
        for kind in (0, 1):
            if group[2 * k + kind] >= 0:
                out[group[2 * k + kind]] |= 1 << 2 * number + kind
    return out


def _own(t: Timing) -> int:
    """Return the tokens of a guarded instruction, as a set in which it has number 0."""
    return (1 if t.writes else 0) | (2 if t.late & ~t.writes else 0)


class _ByPlace:
    """This index has tokens by the places that they guard: any access must wait for a W, a write for an R. It only
    holds tokens of interest if nothing but the places `touched` and `written` is accessed."""

    def __init__(
        self, tokens: Tokens, timings: list[Timing], numbered: dict[int, int], touched: int, written: int
    ) -> None:
        self.writers: dict[int, int] = {}
        self.readers: dict[int, int] = {}
        self.written = self.read = 0
        for number, k in numbered.items():
            t = timings[tokens.issuer[k]]
            writes, late = t.writes & touched, t.late & ~t.writes & written
            self.written |= writes
            self.read |= late
            for place in bits(writes):
                self.writers[place] = self.writers.get(place, 0) | 1 << 2 * number
            for place in bits(late):
                self.readers[place] = self.readers.get(place, 0) | 2 << 2 * number

    def met(self, t: Timing) -> int:
        mask = 0
        for place in bits((t.reads | t.writes) & self.written):
            mask |= self.writers[place]
        for place in bits(t.writes & self.read):
            mask |= self.readers[place]
        return mask


def _segments(graph: InstrGraph) -> tuple[list[int], list[int]]:
    """Return the first nodes of the segments, and the segment of each node. Only the last node of a segment branches,
    calls or returns, and only its first is entered from elsewhere."""
    starts: list[int] = []
    segment: list[int] = []
    entries = set(graph.base)
    joined = False
    for node in range(len(graph)):
        if not joined or node in graph.leaders or node in entries or node - starts[-1] >= SEGMENT:
            starts.append(node)
        segment.append(len(starts) - 1)
        joined = (
            graph.succ[node] == [node + 1] and graph.callee[node] < 0 and graph.views[node].control != Flow.RETURN
        )
    return starts, segment


class _Floods:
    """Floods find where tokens may be pending. They know by segment the places it touches and writes, and the segments
    it leads to."""

    def __init__(self, graph: InstrGraph, timings: list[Timing], starts: list[int], segment: list[int]) -> None:
        self.segment = segment
        n = len(timings)
        self.ends = [*starts[1:], n]
        # by node: the places touched and written from it to the end of its segment
        self.touched, self.written = [0] * (n + 1), [0] * (n + 1)
        for node in range(n - 1, -1, -1):
            t = timings[node]
            inside = node + 1 < n and segment[node + 1] == segment[node]
            every = ALL_PLACES if node in graph.drains else 0
            self.touched[node] = every | t.reads | t.writes | (self.touched[node + 1] if inside else 0)
            self.written[node] = every | t.writes | (self.written[node + 1] if inside else 0)
        self.starts = starts
        self.following = [self._after(graph, end - 1) for end in self.ends]
        self.called = _called(graph, segment)

    def _after(self, graph: InstrGraph, last: int) -> list[int]:
        after = list(graph.succ[last])
        if graph.views[last].control == Flow.RETURN:
            for site in graph.sites[graph.owner[last]]:
                after += graph.succ[site]
        return sorted({self.segment[node] for node in after})

    def reach(self, t: Timing, node: int) -> list[int] | None:
        """Return the segments in which a token of the instruction may be pending, its own included; None for too
        many."""
        places, stops = (t.writes, self.touched) if t.writes else (t.late, self.written)
        home = self.segment[node]
        if not places or (node + 1 < self.ends[home] and stops[node + 1] & places):
            return [home]
        seen = {home}
        inside: set[int] = set()
        todo = [home]
        while todo:
            s = todo.pop()
            if s in self.called:
                inside |= self.called[s]
            for after in self.following[s]:
                if after not in seen:
                    seen.add(after)
                    if not stops[self.starts[after]] & places:
                        todo.append(after)
            if len(seen) + len(inside) > MOST_SEGMENTS:
                return None
        return sorted(seen | inside)


def _called(graph: InstrGraph, segment: list[int]) -> dict[int, frozenset[int]]:
    """Return, by segment that ends in a direct call, the segments of all functions executed before the call is over."""
    direct: list[set[int]] = [set() for _ in graph.functions]
    for node, callee in enumerate(graph.callee):
        if callee >= 0:
            direct[graph.owner[node]].add(callee)
    reached: dict[int, frozenset[int]] = {}
    for callee in sorted(set().union(*direct)):
        closure = {callee}
        todo = [callee]
        while todo:
            more = direct[todo.pop()] - closure
            closure |= more
            todo += sorted(more)
        spans = (range(graph.base[f], graph.base[f] + len(graph.functions[f].instrs)) for f in sorted(closure))
        reached[callee] = frozenset(segment[node] for span in spans for node in span)
    return {segment[node]: reached[callee] for node, callee in enumerate(graph.callee) if callee >= 0}

"""This module finds what is in flight at each block: a forward data-flow problem over the hazard graph.

Leaves for each block what may be in flight on some way before it (`before`) and behind it (`behind`): an `InFlight`.

Each block's effect is known in closed form: planes that it puts in flight, cycles by which it ages earlier ones, and
planes that its waits leave. Calls are precise. A block knows the planes put in flight since its function was entered.
Apart from that, it knows the effect on planes in flight at entry. So nothing flows from one caller to another. A
function's effect is the common effect of the ways to its RETs. Planes only grow and ages only shrink, so the iteration
ends.
"""

from __future__ import annotations

from typing import NamedTuple

from binalloc.isa.timing import LONGEST_STALL
from binalloc.verify.hazards.graph import HazardGraph

AGED = LONGEST_STALL
"""An age at which no fixed result is in flight any more."""


class InFlight(NamedTuple):
    """The record holds what is in flight at a point of the code, as planes of `code`."""

    fixed: int  #: the running thread's fixed results
    own: int  #: variable results and late reads of the running thread
    others: int  #: variable results and late reads of lanes that parted from it at a branch


class Effect(NamedTuple):
    """An effect says how a piece of code changes what is in flight."""

    fixed: int  #: fixed results that it puts in flight
    age: int  #: cycles by which it ages earlier fixed results at least (at most AGED)
    own: int  #: accesses of the running thread that it puts in flight
    others: int  #: accesses of other lanes that it puts in flight
    kept: int  #: planes that it leaves in flight
    switched: int  #: planes of the running thread that it leaves in flight, as other lanes' from then on

    def join(self, other: Effect) -> Effect:
        """Return the effect of either of the two."""
        return Effect(
            self.fixed | other.fixed,
            min(self.age, other.age),
            self.own | other.own,
            self.others | other.others,
            self.kept | other.kept,
            self.switched | other.switched,
        )

    def then(self, next_: Effect, width: int) -> Effect:
        """Return the effect of this code followed by the other."""
        return Effect(
            next_.fixed | self.fixed >> next_.age * width,
            min(self.age + next_.age, AGED),
            next_.own | self.own & next_.kept,
            next_.others | self.others & next_.kept | self.own & next_.switched,
            self.kept & next_.kept,
            self.switched & next_.kept | self.kept & next_.switched,
        )

    def on(self, found: InFlight, width: int) -> InFlight:
        """Return what is in flight behind the code if `found` is before it."""
        return InFlight(
            self.fixed | found.fixed >> self.age * width,
            self.own | found.own & self.kept,
            self.others | found.others & self.kept | found.own & self.switched,
        )


NOTHING = InFlight(0, 0, 0)  # nothing is in flight


class HazardFlow:
    """The hazard flow finds what may be in flight at each block of `graph`; see the module.

    since[n]: effect of all ways from its function's entry to block n, None where there is none. summary[f]: effect of
    function f as a whole, None where it never returns.
    """

    def __init__(self, graph: HazardGraph) -> None:
        self.graph, self.code = graph, graph.code
        n = len(graph.blocks)
        self.width = self.code.width
        self.effect = [self._effect(k) for k in range(n)]
        self.over: list[list[int]] = [[] for _ in range(n)]
        self._switches()
        self.since: list[Effect | None] = [None] * n
        self.summary: list[Effect | None] = [None] * len(self.code.functions)
        self._solve()
        self.entry = [NOTHING] * len(self.code.functions)
        self._enter()
        self.before = [self._before(k) for k in range(n)]
        self.behind = [self.effect[k].on(self.before[k], self.width) for k in range(n)]

    def _effect(self, number: int) -> Effect:
        block, code = self.graph.blocks[number], self.code
        kept = code.keep[0]
        if block.drains:
            return Effect(0, AGED, 0, 0, 0, 0)
        fixed = pending = age = 0
        for n in range(block.start, block.end):
            if code.wait[n]:
                kept &= code.keep[code.wait[n]]
                pending &= code.keep[code.wait[n]]
            fixed |= code.fixed[n]
            pending |= code.pending[n]
            if code.stall[n]:
                fixed >>= code.stall[n] * self.width
                age += code.stall[n]
        return Effect(fixed, min(age, AGED), pending, 0, kept, 0)

    def _switches(self) -> None:
        """Set over[n]: blocks where other lanes may continue when the lanes that ran block n have come to its end."""
        for split in self.graph.splits:
            for side, other in (split.sides, split.sides[::-1]):
                if side.start == split.point:
                    continue
                if other.start != split.point:
                    for n in side.arrive:
                        self.over[n].append(other.start)
                for n in side.leave:
                    self.over[n] += [other.start, split.point]
        self.over = [sorted(set(blocks)) for blocks in self.over]

    def _solve(self) -> None:
        blocks, width = self.graph.blocks, self.width
        dirty = bytearray(len(blocks))
        for start in self.graph.entry:
            if start >= 0:
                self._flow(start, Effect(0, 0, 0, 0, self.code.keep[0], 0), dirty)
        at = dirty.find(1)
        while at >= 0:
            dirty[at] = 0
            block, since = blocks[at], self.since[at]
            assert since is not None
            out = since.then(self.effect[at], width)
            for after in block.succ:
                self._flow(after, out, dirty)
            if block.callee >= 0 and (summary := self.summary[block.callee]) is not None:
                self._flow(block.back, out.then(summary, width), dirty)
            for after in self.over[at]:
                self._flow(after, Effect(0, AGED, 0, out.own, 0, out.kept), dirty)
            if block.returns:
                self._return(block.function, out, dirty)
            following = dirty.find(1, at + 1)
            at = following if following >= 0 else dirty.find(1)

    def _flow(self, at: int, effect: Effect, dirty: bytearray) -> None:
        old = self.since[at]
        joined = effect if old is None else old.join(effect)
        if joined != old:
            self.since[at] = joined
            dirty[at] = 1

    def _return(self, function: int, out: Effect, dirty: bytearray) -> None:
        old = self.summary[function]
        joined = out if old is None else old.join(out)
        if joined != old:
            self.summary[function] = joined
            for site in self.graph.sites[function]:
                if self.since[site] is not None:
                    dirty[site] = 1

    def _enter(self) -> None:
        """Compute what may be in flight where each function is entered; callers have the higher block numbers."""
        calls = [b for b in reversed(self.graph.blocks) if b.callee >= 0 and self.since[b.number] is not None]
        changed = True
        while changed:
            changed = False
            for block in calls:
                arriving = self.effect[block.number].on(self._before(block.number), self.width)
                old = self.entry[block.callee]
                joined = InFlight(old.fixed | arriving.fixed, old.own | arriving.own, old.others | arriving.others)
                if joined != old:
                    self.entry[block.callee] = joined
                    changed = True

    def _before(self, at: int) -> InFlight:
        """Return what is in flight before a block: the effect of all ways to it on what is in flight at its function's
        entry."""
        since = self.since[at]
        return NOTHING if since is None else since.on(self.entry[self.graph.blocks[at].function], self.width)

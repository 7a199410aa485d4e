"""This module computes the smallest stall counts at which every fixed-latency result is legal on every path of a warp.

It needs the instruction graph, timings and wait masks. It leaves per node a stall count. Take an instruction i of fixed
latency L and an instruction j that uses a place written by i. Then the stall counts of i and of all instructions
between them sum to at least L on every path of a thread from i to j. If j overwrites the place, they sum to at least L
minus the latency of j's unit plus one, on every path of the warp, so that the second result comes later. (Lanes of the
other side of a divergent branch do not read results of this side. Keeping the order of their results, too, is more than
the contract asks.)

Method. Everything starts at its minimum (1; 0 where it may issue together with the next instruction). In program order
each instruction looks back along all paths, as far as the longest latency. Missing cycles are added to the stall count
of the instruction right before it on that path. This is the latest place, so that other distances stay short. Adding
never breaks an earlier decision, so one pass suffices. Later additions can make earlier ones needless. A second pass
removes those, so that in the end no single count can be lowered. Paths go through callees and back to their own call
sites.
"""

from __future__ import annotations

from binalloc.isa.kinds import Flow
from binalloc.isa.timing import LONGEST_STALL as STALL_MAX
from binalloc.transform.schedule.graph import InstrGraph
from binalloc.transform.schedule.timing import ALL_PLACES, Timing

# The context of a path traced backwards: the call sites of the callees it is in, innermost last, and the (negative)
# marks of the pop edges it has taken.
Context = tuple[int, ...]


MOST_POPS, MOST_MARKS = 4, 2
"""Upper limits of pop edges into one place, and of pop edges of one path, that are distinguished. Where there are more
(chains of comparisons), a path only remembers that it took some. Then impossible paths count too: that can only
lengthen a stall. Distinguishing all would take time exponential in the number of short divergent branches within a
latency of each other."""

_SOME = -(1 << 60)
"""This mark stands in a context for pop edges that are not distinguished. It is negative as marks are, and below all of
them."""


class StallSolver:
    """The solver decides the stall counts. `pairs[n]`: n may have stall 0 (it may issue with n + 1)."""

    def __init__(self, graph: InstrGraph, timings: list[Timing], pairs: list[bool]) -> None:
        self.graph = graph
        self.timings = timings
        self.pairs = pairs
        self.stall = [0 if p else 1 for p in pairs]
        self.reason: dict[int, int] = {}  # the instruction that last asked for more
        self.popped = {node: sorted({p for p, _ in pops}) for node, pops in graph.pops.items()}
        self.longest = max((t.latency for t in timings), default=0)
        entries = {graph.base[f] for f in range(len(graph.functions)) if graph.functions[f].instrs}
        popped = {(-mark - 1) // 2 for edges in graph.pops.values() for _, mark in edges}
        self.simple: list[list[int] | None] = [
            None
            if node in entries or node in graph.pops or any(graph.callee[p] >= 0 or p in popped for p in before)
            else before
            for node, before in enumerate(graph.pred)
        ]

    def solve(self) -> list[int]:
        """Decide all counts, and return them."""
        for node in range(len(self.graph)):
            if node >= 2 and self._zero(node - 1) and self._zero(node - 2):
                self.stall[node - 1] = 1
            t = self.timings[node]
            if t.reads or t.writes:
                for p, context in self._back(node, ()):
                    self._raise(p, self._missing(t.reads, t.writes, t.unit - 1, p, context), node)
            if node in self.graph.drains:
                self._raise(node, self._missing(ALL_PLACES, ALL_PLACES, 0, node, ()), -1)
        for node in range(len(self.graph)):
            self._lower(node)
        return self.stall

    def _zero(self, node: int) -> bool:
        return self.pairs[node] and self.stall[node] == 0

    def _raise(self, node: int, missing: int, end: int) -> None:
        if missing > 0:
            self.stall[node] += missing
            self.reason[node] = end
            assert self.stall[node] <= STALL_MAX

    def _back(self, node: int, context: Context) -> list[tuple[int, Context]]:
        """List the instructions that a warp may have issued right before `node`, each with the context of the path
        there."""
        graph = self.graph
        out: list[tuple[int, Context]] = []
        marks = self._activation(context)
        for p in graph.pred[node]:
            self._through(p, marks, context, out)
        pops = graph.pops.get(node, ())
        if pops and (_SOME in marks or len(pops) > MOST_POPS or len(marks) >= MOST_MARKS):
            some = (*context[: len(context) - len(marks)], _SOME)
            for p in self.popped[node]:
                self._through(p, (_SOME,), some, out)
        else:
            for p, mark in pops:
                if mark not in marks:
                    self._through(p, marks, (*context, mark), out)
        f = graph.owner[node]
        if node == graph.base[f]:
            outer = context[: len(context) - len(marks)]
            if outer:
                out.append((outer[-1], outer[:-1]))
            else:
                out += [(site, marks) for site in graph.sites[f]]
        return out

    def _through(self, p: int, marks: Context, context: Context, out: list[tuple[int, Context]]) -> None:
        """Step back to `p`, or into the callee that it calls. A path that comes to a branch after one of its pop edges
        is longer than the one straight from the branch, so it ends."""
        callee = self.graph.callee[p]
        if callee >= 0:
            out += [(r, (*context, p)) for r in self.graph.returns[callee]]
        if self.graph.passes(p) and not (marks and (-2 * p - 1 in marks or -2 * p - 2 in marks)):
            out.append((p, context))

    @staticmethod
    def _activation(context: Context) -> Context:
        """Return the part of `context` that belongs to the function of the path's present place."""
        start = len(context)
        while start and context[start - 1] < 0:
            start -= 1
        return context[start:]

    def _missing(self, reads: int, writes: int, allowance: int, start: int, context: Context, after: int = 0) -> int:
        """Return the largest shortfall of any distance that ends `after` cycles behind the end of `start`'s stall
        count. It is at most 0 if all distances are long enough."""
        worst = -STALL_MAX
        timings, stall, simple, longest = self.timings, self.stall, self.simple, self.longest
        todo = [(start, context, stall[start] + after)]
        seen: dict[tuple[int, Context], int] = {}
        pushed: dict[tuple[int, Context], int] = {}
        while todo:
            node, context, sum_ = todo.pop()
            same_lanes = reads if not context or min(context) >= 0 else 0
            while sum_ <= longest and sum_ + worst < longest:
                t = timings[node]
                if t.latency:
                    if t.writes & same_lanes:
                        worst = max(worst, t.latency - sum_)
                    elif t.writes & writes:
                        worst = max(worst, t.latency - sum_ - allowance)
                before = simple[node]
                if before is not None and len(before) == 1:
                    node = before[0]
                    sum_ += stall[node]
                    continue
                if seen.get((node, context), STALL_MAX + 1) > sum_:
                    seen[node, context] = sum_
                    steps = self._back(node, context) if before is None else [(p, context) for p in before]
                    for step in steps:
                        total = sum_ + stall[step[0]]
                        if pushed.get(step, total + 1) > total:
                            pushed[step] = total
                            todo.append((*step, total))
                break
        return worst

    def _lower(self, node: int) -> None:
        while self.stall[node] > self._floor(node):
            self.stall[node] -= 1
            if self._violated_after(node):
                self.stall[node] += 1
                return

    def _floor(self, node: int) -> int:
        if not self.pairs[node] or (node and self._zero(node - 1)) or self._zero(node + 1):
            return 1
        return 0

    def _violated_after(self, start: int) -> bool:
        """Say whether some distance over `start` is now too short.

        The one that last asked for more is checked first, then all right behind `start`. Then follow the suspects:
        those for which some path to `start` and some path from it together are too short, although the two need not be
        one path.
        """
        if start in self.graph.drains and self._missing(ALL_PLACES, ALL_PLACES, 0, start, ()) > 0:
            return True
        if self.reason.get(start, -1) >= 0 and self._too_close(start, self.reason[start], {}):
            return True
        behind = self._forward(start)
        if any(self._too_close(start, after, {}) for after in behind):
            return True
        unfinished = self._unfinished(start)
        reach = dict.fromkeys(behind, 0)
        todo = list(behind)
        suspects: set[int] = set()
        while todo:
            node = todo.pop(0)
            t, sum_ = self.timings[node], reach[node]
            busy = 0
            for left in range(sum_ + 1, self.longest + 1):
                busy |= unfinished[left]
            if busy & (t.reads | t.writes) or (busy and node in self.graph.drains):
                suspects.add(node)
            sum_ += self.stall[node]
            if busy:
                for after in self._forward(node):
                    if sum_ < reach.get(after, self.longest + 1):
                        reach[after] = sum_
                        todo.append(after)
        return any(self._too_close(start, node, reach) for node in sorted(suspects))

    def _too_close(self, start: int, end: int, between: dict[int, int]) -> bool:
        """Say whether a distance that goes over `start` and then over `between` only, and ends at `end`, is too
        short."""
        t = self.timings[end]
        drain = end in self.graph.drains
        todo = [(p, c, 0) for p, c in self._back(end, ())]
        seen: dict[tuple[int, Context], int] = {}
        while todo:
            node, context, sum_ = todo.pop()
            if node == start:
                if self._missing(t.reads, t.writes, t.unit - 1, start, context, sum_) > 0:
                    return True
                if drain and self._missing(ALL_PLACES, ALL_PLACES, 0, start, context, sum_ + self.stall[end]) > 0:
                    return True
            elif node in between and sum_ <= self.longest and seen.get((node, context), STALL_MAX + 1) > sum_:
                seen[node, context] = sum_
                sum_ += self.stall[node]
                todo += [(p, c, sum_) for p, c in self._back(node, context)]
        return False

    def _unfinished(self, start: int) -> list[int]:
        """Return, by number of cycles, the places whose results need that long after the stall count of `start`."""
        unfinished = [0] * (self.longest + 1)
        todo: list[tuple[int, Context, int]] = [(start, (), self.stall[start])]
        seen: dict[tuple[int, Context], int] = {}
        while todo:
            node, context, sum_ = todo.pop()
            if sum_ >= self.longest or seen.get((node, context), STALL_MAX + 1) <= sum_:
                continue
            seen[node, context] = sum_
            t = self.timings[node]
            if t.latency > sum_:
                unfinished[t.latency - sum_] |= t.writes
            todo += [(p, c, sum_ + self.stall[p]) for p, c in self._back(node, context)]
        return unfinished

    def _forward(self, node: int) -> list[int]:
        graph = self.graph
        out = list(graph.succ[node]) if graph.passes(node) else []
        if graph.callee[node] >= 0:
            out.append(graph.base[graph.callee[node]])
        if graph.views[node].control == Flow.RETURN:
            for site in graph.sites[graph.owner[node]]:
                out += graph.succ[site]
        return out

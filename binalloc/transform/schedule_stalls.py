"""Stall counts: the smallest that keep every fixed-latency result legal on every path of a warp.

Needs the instruction graph, timings and wait masks. Leaves per node a stall count such that for each instruction i of
fixed latency L and each instruction j that uses a place i writes, the stall counts of i and all instructions between
sum to at least L on every path from i to j; where j overwrites it, to L minus j's latency plus one, so that the second
result comes later (L where j is guarded by a scoreboard).

Method. Everything starts at its minimum (1; 0 where it may issue together with the next instruction). In program order
each instruction looks back along all paths, as far as the longest latency, and what is missing is added to the stall
count of the instruction right before it on that path: latest, so that other distances stay short. Adding never breaks
an earlier decision, so one pass suffices. Later additions can make earlier ones needless; a second pass takes those
away, so that in the end no single count can be lowered. Paths go through callees and back to their own call sites.
"""

from __future__ import annotations

from collections.abc import Iterator

from binalloc.transform.schedule_graph import InstrGraph
from binalloc.transform.schedule_timing import ALL_PLACES, STALL_MAX, Timing

Context = tuple[int, ...]  # call sites entered on the way back through a callee, innermost last


class StallSolver:
    """Holds the counts while they are decided. `pairs[n]`: n may have stall 0 (it may issue with n + 1)."""

    def __init__(self, graph: InstrGraph, timings: list[Timing], pairs: list[bool]) -> None:
        self.graph = graph
        self.timings = timings
        self.pairs = pairs
        self.stall = [0 if p else 1 for p in pairs]
        self.longest = max((t.latency for t in timings), default=0)
        entries = {graph.base[f] for f in range(len(graph.functions)) if graph.functions[f].instrs}
        self.plain: list[int] = [
            p[0] if len(p) == 1 and node not in entries and graph.callee[p[0]] < 0 else -1
            for node, p in enumerate(graph.pred)
        ]

    def solve(self) -> list[int]:
        """Decide all counts."""
        for node in range(len(self.graph)):
            if node >= 2 and self._zero(node - 1) and self._zero(node - 2):
                self.stall[node - 1] = 1
            t = self.timings[node]
            if t.reads or t.writes:
                for p, context in self._back(node, ()):
                    self._raise(p, self._missing(t.reads, t.writes, t.latency, p, context))
            if node in self.graph.drains:
                self._raise(node, self._missing(ALL_PLACES, 0, 0, node, ()))
        for node in range(len(self.graph)):
            self._lower(node)
        return self.stall

    def _zero(self, node: int) -> bool:
        return self.pairs[node] and self.stall[node] == 0

    def _raise(self, node: int, missing: int) -> None:
        if missing > 0:
            self.stall[node] += missing
            assert self.stall[node] <= STALL_MAX

    def _back(self, node: int, context: Context) -> Iterator[tuple[int, Context]]:
        """The instructions a warp may have issued right before `node`, in the given calling context."""
        graph = self.graph
        for p in graph.pred[node]:
            callee = graph.callee[p]
            if callee >= 0:
                for r in graph.returns[callee]:
                    yield r, (*context, p)
            if graph.passes(p):
                yield p, context
        f = graph.owner[node]
        if node == graph.base[f]:
            if context:
                yield context[-1], context[:-1]
            else:
                for site in graph.sites[f]:
                    yield site, ()

    def _missing(self, reads: int, writes: int, latency: int, start: int, context: Context) -> int:
        """Largest shortfall of any distance that ends right after `start`; at most 0 if all are long enough."""
        worst = -STALL_MAX
        allowance = latency - 1 if latency else 0
        timings, stall, plain = self.timings, self.stall, self.plain
        todo = [(start, context, stall[start])]
        seen: dict[tuple[int, Context], int] = {}
        while todo:
            node, context, sum_ = todo.pop()
            while sum_ <= self.longest:
                t = timings[node]
                if t.latency:
                    if t.writes & reads:
                        worst = max(worst, t.latency - sum_)
                    elif t.writes & writes:
                        worst = max(worst, t.latency - sum_ - allowance)
                before = plain[node]
                if before < 0:
                    if seen.get((node, context), STALL_MAX + 1) > sum_:
                        seen[node, context] = sum_
                        todo += [(p, c, sum_ + stall[p]) for p, c in self._back(node, context)]
                    break
                node = before
                sum_ += stall[node]
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
        """Whether some distance over `start` is now too short: looks at every end within the longest latency."""
        if start in self.graph.drains and self._missing(ALL_PLACES, 0, 0, start, ()) > 0:
            return True
        reach = {start: self.stall[start]}
        checked: set[int] = set()
        todo = [start]
        while todo:
            node = todo.pop(0)
            for after in self._forward(node):
                if after not in checked:
                    checked.add(after)
                    if self._illegal(after):
                        return True
                sum_ = reach[node] + self.stall[after]
                if sum_ < reach.get(after, self.longest + 1):
                    reach[after] = sum_
                    todo.append(after)
        return False

    def _forward(self, node: int) -> list[int]:
        graph = self.graph
        out = list(graph.succ[node]) if graph.passes(node) else []
        if graph.callee[node] >= 0:
            out.append(graph.base[graph.callee[node]])
        if graph.views[node].control == "return":
            for site in graph.sites[graph.owner[node]]:
                out += graph.succ[site]
        return out

    def _illegal(self, node: int) -> bool:
        t = self.timings[node]
        if (t.reads or t.writes) and any(
            self._missing(t.reads, t.writes, t.latency, p, c) > 0 for p, c in self._back(node, ())
        ):
            return True
        return node in self.graph.drains and self._missing(ALL_PLACES, 0, 0, node, ()) > 0

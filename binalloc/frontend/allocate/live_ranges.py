"""Live ranges of units and predicates, as sets of points of a routine.

Points: each block has one at its start (point 0 is the entry, where a function's arguments arrive); each node has the
point just after it; a call has one more before that, *inside* the call. The range of a unit holds the points at which
its value must be kept, among them the point of each definition. Two units may share a register exactly where their
ranges are disjoint: a source that dies at a node and the node's result may, since sources are read first.

A guarded write does not kill. Backwards through a block a unit may be known to be live only under one polarity of a
predicate; a write under that guard ends it (see `analysis.backward`). Units are live only where some definition
reaches, so that what is written and read under one guard does not stretch to the entry.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import accumulate

from binalloc.bitset import bits
from binalloc.frontend.allocate.runs import Runs
from binalloc.frontend.ir import FIRST_PREDICATE, FIRST_REGISTER, PT, Node, Routine, indices


@dataclass
class Ranges:
    """range[i]: where i is live. Index i: unit i + FIRST_REGISTER, or from `units` on predicate i - units +
    FIRST_PREDICATE. after[k]: point just after node k (in order); inside[k]: point inside the call k. points: how many.
    pressure[p]: live register units at point p."""

    units: int
    range: list[Runs]
    after: list[int]
    inside: dict[int, int]
    points: int
    pressure: list[int]

    def of_predicate(self, number: int) -> Runs:
        return self.range[self.units + number - FIRST_PREDICATE]

    def of_unit(self, unit: int) -> Runs:
        return self.range[unit - FIRST_REGISTER]


def live_ranges(routine: Routine) -> Ranges:
    """Ranges of everything in `routine`. Linear in code and in live ranges that cross blocks."""
    return _Solver(routine).run()


class _Solver:
    def __init__(self, routine: Routine) -> None:
        self.routine = routine
        self.units = len(routine.registers.base)
        self.count = self.units + routine.registers.predicates
        self.number = {block.number: k for k, block in enumerate(routine.blocks)}
        successors = routine.successors()
        self.succs = [[self.number[s] for s in successors[b.number]] for b in routine.blocks]
        self.rows = [[indices(routine, node) for node in block.nodes] for block in routine.blocks]

    def run(self) -> Ranges:
        arguments = 0
        for unit in self.routine.arguments:
            arguments |= 1 << (unit - FIRST_REGISTER)
        live_in = self._live_in()
        reach = self._reaching(arguments)
        after: list[int] = []
        inside: dict[int, int] = {}
        starts: list[int] = []
        point = 0
        for k, block in enumerate(self.routine.blocks):
            point += k > 0
            starts.append(point)
            for node in block.nodes:
                point += 1
                if node.callee:
                    inside[len(after)] = point
                    point += 1
                after.append(point)
        ranges = [Runs() for _ in range(self.count)]
        for index in bits(arguments):
            ranges[index].add(0, 1)
        first = 0
        for k, block in enumerate(self.routine.blocks):
            live = 0
            for s in self.succs[k]:
                live |= live_in[s]
            self._block(k, live, reach[k], starts[k], after[first : first + len(block.nodes)], inside, first, ranges)
            first += len(block.nodes)
        return Ranges(self.units, ranges, after, inside, point + 1, pressure(ranges[: self.units], point + 1))

    # -- data flow over blocks

    def _live_in(self) -> list[int]:
        blocks = range(len(self.rows))
        gen, kill = [], []
        for k in blocks:
            everything = _mask([index for defined, _ in self.rows[k] for index in defined])
            guarded = any(node.view.guard is not None and node.view.defs for node in self.routine.blocks[k].nodes)
            gen.append(self._through(k, 0))
            kill.append(everything & ~self._through(k, everything) if guarded else everything)
        live_in = list(gen)
        preds: list[list[int]] = [[] for _ in blocks]
        for k in blocks:
            for s in self.succs[k]:
                preds[s].append(k)
        work = list(blocks)
        queued = set(work)
        while work:
            k = work.pop()
            queued.discard(k)
            out = 0
            for s in self.succs[k]:
                out |= live_in[s]
            new = gen[k] | (out & ~kill[k])
            if new != live_in[k]:
                live_in[k] = new
                for p in preds[k]:
                    if p not in queued:
                        queued.add(p)
                        work.append(p)
        return live_in

    def _through(self, k: int, live_out: int) -> int:
        """Live at the start of block k if `live_out` is live at its end."""
        live = set(bits(live_out))
        partial: dict[int, tuple[int, bool]] = {}
        nodes = self.routine.blocks[k].nodes
        for node, (defined, used) in zip(reversed(nodes), reversed(self.rows[k]), strict=True):
            self._step(node, defined, used, live, partial)
        return _mask(live)

    def _step(
        self, node: Node, defined: list[int], used: list[int], live: set[int], partial: dict[int, tuple[int, bool]]
    ) -> None:
        """Go backwards over one node."""
        if partial:
            for index in defined:
                if index >= self.units:
                    number = index - self.units + FIRST_PREDICATE
                    for unit in [u for u, g in partial.items() if g[0] == number]:
                        del partial[unit]
        guard = node.view.guard
        if guard is None or guard[0] == PT:
            live.difference_update(defined)
            live.update(used)
            if partial:
                for index in (*defined, *used):
                    partial.pop(index, None)
            return
        for index in defined:
            if index in live:
                known = partial.get(index)
                if known is None:
                    partial[index] = (guard[0], not guard[1])
                elif known == guard:
                    del partial[index]
                    live.discard(index)
        own = self.units + guard[0] - FIRST_PREDICATE
        for index in used:
            if index not in live:
                live.add(index)
                if index != own:
                    partial[index] = guard
            elif index in partial and (partial[index] != guard or index == own):
                del partial[index]

    def _reaching(self, arguments: int) -> list[int]:
        """What some definition reaches at the start of each block."""
        made = []
        for rows in self.rows:
            made.append(_mask([index for defined, _ in rows for index in defined]))
        reach = [0] * len(self.rows)
        if reach:
            reach[0] = arguments
        work = list(range(len(self.rows) - 1, -1, -1))
        while work:
            k = work.pop()
            out = reach[k] | made[k]
            for s in self.succs[k]:
                if out & ~reach[s]:
                    reach[s] |= out
                    work.append(s)
        return reach

    # -- ranges inside blocks

    def _block(
        self,
        k: int,
        live_out: int,
        reach: int,
        start: int,
        after: list[int],
        inside: dict[int, int],
        first: int,
        ranges: list[Runs],
    ) -> None:
        """Add the pieces of block k. A piece runs from its definition's point (or the block's start) to the point
        before its last use; `start` is the point before the block's first node."""
        pieces: list[tuple[int, int, int]] = []  # index, first and last point; of one index the later ones first
        nodes = self.routine.blocks[k].nodes
        end_of: dict[int, int] = dict.fromkeys(bits(live_out), after[-1] if after else start)
        live = set(end_of)
        partial: dict[int, tuple[int, bool]] = {}
        known = self._first_reached(k, reach)
        for n in range(len(nodes) - 1, -1, -1):
            defined, used = self.rows[k][n]
            before = set(live) if nodes[n].view.guard is not None else live
            here = after[n]
            for index in defined:
                if index not in live:
                    pieces.append((index, here, here))
            if before is live:
                for index in defined:
                    if index in live:
                        pieces.append((index, here, end_of.pop(index)))
                self._step(nodes[n], defined, used, live, partial)
            else:
                self._step(nodes[n], defined, used, live, partial)
                for index in before - live:
                    pieces.append((index, here, end_of.pop(index)))
            previous = after[n - 1] if n else start
            for index in used:
                if index not in end_of:
                    end_of[index] = previous
        for index, end in end_of.items():
            if reach >> index & 1:
                pieces.append((index, start, end))
            elif index in known:  # else it is read without a value: any register will do
                pieces.append((index, after[known[index]], end))
        for index, begin, end in reversed(pieces):
            ranges[index].add(begin, max(begin, end) + 1)

    def _first_reached(self, k: int, reach: int) -> dict[int, int]:
        """Index -> first node of the block that defines it, for what is not defined before."""
        out: dict[int, int] = {}
        for n, (defined, _) in enumerate(self.rows[k]):
            for index in defined:
                if index not in out and not reach >> index & 1:
                    out[index] = n
        return out



def pressure(ranges: Iterable[Runs], points: int) -> list[int]:
    """How many of the ranges hold each point."""
    delta = [0] * (points + 1)
    for runs in ranges:
        for first, end in runs:
            delta[first] += 1
            delta[end] -= 1
    return list(accumulate(delta[:points]))


def _mask(indices: Collection[int]) -> int:
    """Bitset of `indices`, in time linear in their number and the highest."""
    highest = max(indices, default=-1)
    out = bytearray(highest // 8 + 1)
    for index in indices:
        out[index >> 3] |= 1 << (index & 7)
    return int.from_bytes(out, "little")

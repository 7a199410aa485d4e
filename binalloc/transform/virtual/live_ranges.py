"""This module computes live ranges of values as intervals of points at which a register or memory has to keep the
value.

Liveness follows the rule about guards that `analysis.flow.backward` states, here value by value. At any line, the walk
only looks at what is live there. Bitsets are over values that cross blocks and over blocks, never over lines. A value
is live only where some definition reaches, so that a value first written under a guard is not live from the entry on.

The pass needs flat code. It leaves, per value, half-open intervals of points (2k before line k, 2k + 1 after it),
ascending. Two values may share a register exactly if no interval of one meets an interval of the other. Its time is
linear in the code and in the values that are live across blocks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from binalloc.analysis.flow.backward import ALWAYS, NEVER
from binalloc.bitset import rows_of_bits
from binalloc.models.allocation.terms import Interval
from binalloc.transform.virtual.flat import Flat


@dataclass
class LiveRanges:
    """Live ranges say where each value is live."""

    intervals: list[list[Interval]]  #: by value, ascending
    live_in: list[list[int]]  #: values live into each block, ascending
    live_out: list[list[int]]  #: values live out of each block, ascending
    kept: dict[int, list[int]]  #: line -> values that its guarded definition leaves unchanged where the guard fails

    def pressure(self, points: int) -> NDArray[np.int32]:
        """Count the values that are live at each point."""
        ends = np.array(list(chain.from_iterable(chain.from_iterable(self.intervals))), np.int64)
        begin, end = np.bincount(ends[::2], minlength=points + 1), np.bincount(ends[1::2], minlength=points + 1)
        return np.cumsum(begin - end)[:points].astype(np.int32)


def live_ranges(flat: Flat, values: int) -> LiveRanges:
    """Return the live ranges of values 0 .. values - 1."""
    crossing = _Crossing(flat)
    blocks = flat.blocks()
    out = LiveRanges([[] for _ in range(values)], crossing.entering(), [[] for _ in blocks], {})
    leaving = crossing.leaving()
    for block in reversed(blocks):
        both, taken, fall = leaving[block]
        out.live_out[block] = sorted((*both, *taken, *fall)) if taken or fall else both
        _Block(flat, out, block).walk(both, taken, fall, crossing.guarded[block])
    for pieces in out.intervals:
        pieces.reverse()
    return out


class _Crossing:
    """This pass finds the values live into each block, among the values that some block reads before it writes them.
    guarded: by block, whether anything in it is written or read under a guard."""

    def __init__(self, flat: Flat) -> None:
        self.flat = flat
        self.guarded = [
            any(
                flat.lits[k] != ALWAYS and (flat.defs[k] or flat.uses[k])
                for k in range(flat.starts[b], flat.starts[b + 1])
            )
            for b in flat.blocks()
        ]
        self.written = [
            {v for defs in flat.defs[flat.starts[b] : flat.starts[b + 1]] for v in defs} for b in flat.blocks()
        ]
        self.exposed = [self._exposed(b) for b in flat.blocks()]
        self.values = sorted(set().union(*self.exposed)) if self.exposed else []
        self.number = {v: k for k, v in enumerate(self.values)}
        self.every = (1 << len(self.values)) - 1
        self.live = [0] * len(self.exposed)
        self.made = [self._mask(written) for written in self.written]
        self._solve()
        self.reach = self._reaching()

    def _exposed(self, b: int) -> Collection[int]:
        """Return the values that block b reads before it writes them."""
        flat = self.flat
        if self.guarded[b]:
            return _through(flat, range(flat.starts[b], flat.starts[b + 1]), set(), {})
        found: set[int] = set()
        for k in range(flat.starts[b + 1] - 1, flat.starts[b] - 1, -1):
            if flat.defs[k]:
                found.difference_update(flat.defs[k])
            found.update(flat.uses[k])
        return found

    def _mask(self, values: Iterable[int]) -> int:
        """Return the crossing values among these as bits."""
        number = self.number
        raw = bytearray(len(number) // 8 + 1)
        for v in values:
            if v in number:
                k = number[v]
                raw[k >> 3] |= 1 << (k & 7)
        return int.from_bytes(raw, "little")

    def _solve(self) -> None:
        """Compute `live`, the values live into each block, as a backward fixpoint over the blocks."""
        flat, live = self.flat, self.live
        gen = [self._mask(exposed) for exposed in self.exposed]
        keep = [self._kept(b) for b in flat.blocks()]
        pending = [True] * len(live)
        order = list(flat.blocks())[::-1]
        while any(pending):
            for b in order:
                if not pending[b]:
                    continue
                pending[b] = False
                both, taken, fall = self._edges(b)
                always, if_taken, if_fall = keep[b]
                new = gen[b] | (both & always) | (taken & if_taken) | (fall & if_fall)
                if new != live[b]:
                    live[b] = new
                    for p in flat.preds[b]:
                        pending[p] = True

    def _edges(self, b: int) -> tuple[int, int, int]:
        """Return three masks: what is live into both successors, into the taken one alone, into the other alone. Where
        the block does not end in a guarded branch, the first mask has everything."""
        flat = self.flat
        taken, fall = flat.taken[b], flat.fall[b]
        t = self.live[taken] if taken >= 0 else 0
        f = self.live[fall] if fall >= 0 else 0
        if taken < 0 or fall < 0 or branch_literal(flat, b) < 0:
            return t | f, 0, 0
        return t & f, t & ~f, f & ~t

    def _kept(self, b: int) -> tuple[int, int, int]:
        """Return three masks of values that are live at the start of a block because they are live at its end.

        The first is for values live at the end in any case, the second for values live only under the literal of its
        branch, the third for the complement. Values that the block reads may be missing; they are live at its start.
        """
        flat = self.flat
        rest = self.every & ~self.made[b]
        if not self.guarded[b]:
            return rest, rest, rest
        lines = range(flat.starts[b], flat.starts[b + 1])
        crossing = {v for k in lines if flat.lits[k] != ALWAYS for v in flat.defs[k] if v in self.number}
        if not crossing:
            return rest, rest, rest
        there = [k for k in lines if flat.changes[k] or not crossing.isdisjoint((*flat.defs[k], *flat.uses[k]))]
        lit = branch_literal(flat, b)
        gone = self._mask(crossing)

        def through(part: dict[int, int]) -> int:
            return rest | self._mask(_through(flat, there, set(crossing), part)) & gone

        always = through({})
        if lit < 0:
            return always, always, always
        return always, through(dict.fromkeys(crossing, lit)), through(dict.fromkeys(crossing, lit ^ 1))

    def _reaching(self) -> list[int]:
        """Return, by block, the values with a definition that reaches its start."""
        flat = self.flat
        made = self.made
        reach = [0] * len(made)
        work = list(flat.blocks())[::-1]
        while work:
            b = work.pop()
            out = reach[b] | made[b]
            for s in flat.succs[b]:
                if out & ~reach[s]:
                    reach[s] |= out
                    work.append(s)
        return reach

    def _names(self, masks: list[int]) -> list[list[int]]:
        values = self.values
        return [[values[k] for k in found] for found in rows_of_bits(masks)]

    def entering(self) -> list[list[int]]:
        """List, by block, the values live into it, as far as some definition reaches it."""
        return self._names([live & reach for live, reach in zip(self.live, self.reach, strict=True)])

    def leaving(self) -> list[tuple[list[int], list[int], list[int]]]:
        """Return, by block, what `_edges` gives, as values instead of masks."""
        masks: list[int] = []
        for b in self.flat.blocks():
            have = self.reach[b] | self.made[b]
            masks += [mask & have for mask in self._edges(b)]
        names = self._names(masks)
        return list(zip(names[::3], names[1::3], names[2::3], strict=True))


def branch_literal(flat: Flat, b: int) -> int:
    """Return the literal under which a block jumps; ALWAYS where its last line has no guard or there is none."""
    first, end = flat.starts[b], flat.starts[b + 1]
    return flat.lits[end - 1] if first < end else ALWAYS


def _through(flat: Flat, lines: Sequence[int], live: set[int], part: dict[int, int]) -> set[int]:
    """Return the values live before the lines. live: the values live behind them, changed in place. part: changed in
    place, as in `_step_back`."""
    for k in reversed(lines):
        defs, uses = flat.defs[k], flat.uses[k]
        if not part and flat.lits[k] == ALWAYS:
            if defs:
                live.difference_update(defs)
            live.update(uses)
            continue
        kept = _step_back(live, part, defs, uses, flat.lits[k], flat.changes[k])
        live.difference_update(v for v in defs if v not in kept)
        live.update(uses)
    return live


def _step_back(
    live: Container[int], part: dict[int, int], defs: Sequence[int], uses: Sequence[int], lit: int, changes: int
) -> Sequence[int]:
    """Go back over one line. Return the values of `defs` that stay live before it because their old content remains
    where the guard fails. live: the values live behind the line. part: the ones live under one literal only -> the
    literal; this is updated."""
    if changes and part:
        for v in [v for v, known in part.items() if changes >> (known >> 1) & 1]:
            del part[v]
    if lit == ALWAYS:
        if part:
            for v in (*defs, *uses):
                part.pop(v, None)
        return ()
    if lit == NEVER:
        for v in uses:
            part.pop(v, None)
        return [v for v in defs if v in live]
    kept: list[int] = []
    for v in defs:
        if part.get(v, ALWAYS) == lit:
            del part[v]
        elif v in live:
            part[v] = lit ^ 1
            kept.append(v)
    for v in uses:
        if v not in live or (v in defs and v not in kept):
            part[v] = lit
        elif part.get(v, lit) != lit:
            del part[v]
    return kept


class _Block:
    """This walk builds the intervals of one block, from its last line to its first. Later blocks already have
    theirs."""

    def __init__(self, flat: Flat, out: LiveRanges, block: int) -> None:
        self.flat, self.out, self.block = flat, out, block
        self.first, self.end = flat.starts[block], flat.starts[block + 1]
        self.end_of: dict[int, int] = {}

    def walk(self, both: list[int], taken: list[int], fall: list[int], guarded: bool) -> None:
        """Walk the block. both: values live out of it on either edge. taken, fall: values live out on that edge alone.
        guarded: as in `_Crossing`."""
        self.end_of = dict.fromkeys((*both, *taken, *fall), 2 * self.end)
        if guarded:
            branch = branch_literal(self.flat, self.block)
            self._lines_with_guards({**dict.fromkeys(taken, branch), **dict.fromkeys(fall, branch ^ 1)})
        else:
            self._lines()
        reached = set(self.out.live_in[self.block])
        start = 2 * self.first
        for v, end in self.end_of.items():
            if v in reached:
                self._add(v, start, end)
            else:
                self._unreached(v, end)

    def _lines(self) -> None:
        """Walk the lines of a block without guards."""
        flat, end_of, intervals = self.flat, self.end_of, self.out.intervals
        uses = flat.uses
        for k in range(self.end - 1, self.first - 1, -1):
            point = 2 * k + 1
            for v in flat.defs[k]:
                end = end_of.pop(v, point + 1)
                known = intervals[v]
                if known and known[-1][0] == end:
                    known[-1] = point, known[-1][1]
                else:
                    known.append((point, end))
            for v in uses[k]:
                if v not in end_of:
                    end_of[v] = point

    def _lines_with_guards(self, part: dict[int, int]) -> None:
        """Walk the lines of a block with guards. part: as in `_step_back`."""
        flat, end_of = self.flat, self.end_of
        for k in range(self.end - 1, self.first - 1, -1):
            defs, uses = flat.defs[k], flat.uses[k]
            point = 2 * k + 1
            if not part and flat.lits[k] == ALWAYS:
                for v in defs:
                    self._add(v, point, end_of.pop(v, point + 1))
                for v in uses:
                    if v not in end_of:
                        end_of[v] = point
                continue
            kept = _step_back(end_of, part, defs, uses, flat.lits[k], flat.changes[k])
            for v in defs:
                if v not in kept:
                    self._add(v, point, end_of.pop(v, point + 1))
            if kept:
                self.out.kept[k] = list(kept)
            for v in uses:
                if v not in end_of:
                    end_of[v] = point

    def _add(self, v: int, start: int, end: int) -> None:
        """Add an interval to a value, joined with the interval behind it if they touch."""
        known = self.out.intervals[v]
        if known and known[-1][0] == end:
            known[-1] = start, known[-1][1]
        elif start < end:
            known.append((start, end))

    def _unreached(self, v: int, end: int) -> None:
        """Add a value that is live at the block's start by liveness alone, although no definition reaches it there."""
        flat = self.flat
        alone: list[Interval] = []
        for k in range(self.first, min(self.end, (end + 1) // 2)):
            if v in flat.uses[k]:  # read without a value: any register will do, but it does take one
                alone.append((2 * k, 2 * k + 1))
            if v in flat.defs[k]:
                alone.append((2 * k + 1, end))
                break
        for start, stop in reversed(alone):
            self._add(v, start, stop)


def lives_at(intervals: Sequence[Interval], point: int) -> bool:
    """Say whether a value with these intervals, ascending, is live at the point."""
    at = bisect_left(intervals, (point + 1,)) - 1
    return at >= 0 and intervals[at][1] > point


def deaths(flat: Flat, live: LiveRanges) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return two maps by item: the values with a live range that ends where the item reads them, and the results
    without a reader."""
    dying: dict[int, list[int]] = {}
    dead: dict[int, list[int]] = {}
    leaves: dict[int, set[int]] = {}
    for b in flat.blocks():
        if flat.starts[b] < flat.starts[b + 1]:
            leaves[flat.starts[b + 1] - 1] = set(live.live_out[b])
    for v, pieces in enumerate(live.intervals):
        for _, end in pieces:
            if end & 1:
                dying.setdefault((end - 1) // 2, []).append(v)
            else:
                k = end // 2 - 1
                if v in flat.defs[k] and v not in leaves.get(k, ()):
                    dead.setdefault(k, []).append(v)
    return dying, dead

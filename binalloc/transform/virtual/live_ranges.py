"""Live ranges of values: where each one has to be kept, as intervals of points.

Liveness follows the rule about guards that `analysis.backward` states, here value by value: at any line only what is
live there is looked at, and bitsets are over values that cross blocks and over blocks, never over lines. A value is
live only where some definition reaches, so that one first written under a guard does not stretch to the entry.

Needs flat code. Leaves, per value, half-open intervals of points (2k before line k, 2k + 1 after it), ascending. Two
values may share a register exactly where no interval of one meets an interval of the other. Time linear in the code
and in what is live across blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from binalloc.analysis.backward import ALWAYS, NEVER
from binalloc.bitset import bits
from binalloc.models.allocation.terms import Interval
from binalloc.transform.virtual.flat import Flat

_DEAD, _LIVE = -1, -2
"""What a value may be at the end of a block, beside live only under a literal (0 and up)."""


@dataclass
class LiveRanges:
    """intervals: by value. live_in, live_out: values live into and out of each block, ascending. kept: lines whose
    guarded definition leaves an old value standing where the guard fails -> those values."""

    intervals: list[list[Interval]]
    live_in: list[list[int]]
    live_out: list[list[int]]
    kept: dict[int, list[int]]

    def pressure(self, points: int, values: Iterable[int] | None = None) -> list[int]:
        """How many of the values (all by default) are live at each point."""
        delta = [0] * (points + 1)
        wanted = self.intervals if values is None else [self.intervals[v] for v in values]
        for pieces in wanted:
            for start, end in pieces:
                delta[start] += 1
                delta[end] -= 1
        del delta[points:]
        return list(accumulate(delta))


def live_ranges(flat: Flat, values: int) -> LiveRanges:
    """The live ranges of values 0 .. values - 1."""
    crossing = _Crossing(flat)
    out = LiveRanges(
        [[] for _ in range(values)], [crossing.values_in(b) for b in flat.blocks()], [], {}
    )
    for block in flat.blocks():
        both, taken, fall = crossing.leaving(block)
        out.live_out.append(sorted((*both, *taken, *fall)))
        _Block(flat, out, block).walk(both, taken, fall, crossing.reached(block))
    return out


class _Crossing:
    """What is live into each block, among the values that some block reads before it writes them."""

    def __init__(self, flat: Flat) -> None:
        self.flat = flat
        self.exposed = [_through(flat, b, {}) for b in flat.blocks()]
        self.values = sorted(set().union(*self.exposed)) if self.exposed else []
        self.number = {v: k for k, v in enumerate(self.values)}
        self.every = (1 << len(self.values)) - 1
        self.live = [0] * len(self.exposed)
        self.made = [
            self._mask(v for k in range(flat.starts[b], flat.starts[b + 1]) for v in flat.defs[k])
            for b in flat.blocks()
        ]
        self._solve()
        self.reach = self._reaching()

    def _mask(self, values: Iterable[int]) -> int:
        number = self.number
        raw = bytearray(len(number) // 8 + 1)
        for v in values:
            k = number.get(v, -1)
            if k >= 0:
                raw[k >> 3] |= 1 << (k & 7)
        return int.from_bytes(raw, "little")

    def _solve(self) -> None:
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
        """Live into both successors, into the taken one alone, into the other alone; where the block does not end in a
        guarded branch all in the first."""
        flat = self.flat
        taken, fall = flat.taken[b], flat.fall[b]
        t = self.live[taken] if taken >= 0 else 0
        f = self.live[fall] if fall >= 0 else 0
        if taken < 0 or fall < 0 or branch_literal(flat, b) < 0:
            return t | f, 0, 0
        return t & f, t & ~f, f & ~t

    def _kept(self, b: int) -> tuple[int, int, int]:
        """Which values live at the end of a block are live at its start: always, if live only under the literal of its
        branch, if only under its complement."""
        flat = self.flat
        first, end = flat.starts[b], flat.starts[b + 1]
        killed: set[int] = set()
        guarded = False
        for k in range(first, end):
            if flat.defs[k]:
                guarded = guarded or flat.lits[k] != ALWAYS
                killed.update(flat.defs[k])
        guarded = guarded or any(flat.changes[first:end])
        touched = killed if not guarded else {*killed, *(v for k in range(first, end) for v in flat.uses[k])}
        gone = self._mask(touched)
        rest = self.every & ~gone
        if not guarded:
            return rest, rest, rest
        lit = branch_literal(flat, b)
        through = [rest | self._mask(_through(flat, b, dict.fromkeys(touched, end_state))) & gone
                   for end_state in (_LIVE, lit, lit ^ 1)]
        return through[0], through[1], through[2]

    def _reaching(self) -> list[int]:
        """Values some definition of which reaches the start of each block."""
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

    def _names(self, mask: int) -> list[int]:
        return [self.values[k] for k in bits(mask)]

    def values_in(self, b: int) -> list[int]:
        return self._names(self.live[b] & self.reach[b])

    def leaving(self, b: int) -> tuple[list[int], list[int], list[int]]:
        """As `_edges`, by name."""
        both, taken, fall = self._edges(b)
        have = self.reach[b] | self.made[b]
        return self._names(both & have), self._names(taken & have), self._names(fall & have)

    def reached(self, b: int) -> set[int]:
        return set(self._names(self.reach[b] & self.live[b]))


def branch_literal(flat: Flat, b: int) -> int:
    """The literal under which a block jumps; ALWAYS where its last line has no guard or there is none."""
    first, end = flat.starts[b], flat.starts[b + 1]
    return flat.lits[end - 1] if first < end else ALWAYS


def _through(flat: Flat, b: int, state: dict[int, int]) -> Iterable[int]:
    """Values live at the start of block b with `state` at its end (value -> _LIVE, or the literal it is live under)."""
    for k in range(flat.starts[b + 1] - 1, flat.starts[b] - 1, -1):
        step_back(state, flat.defs[k], flat.uses[k], flat.lits[k], flat.changes[k])
    return state


def step_back(
    state: dict[int, int], defs: Sequence[int], uses: Sequence[int], lit: int, changes: int
) -> list[int]:
    """One line backwards; answers which of `defs` stay live before it, since their old value stands where the guard
    fails. state: what is live -> _LIVE, or the one literal under which it is."""
    if changes and state:
        for v, known in state.items():
            if known >= 0 and changes >> (known >> 1) & 1:
                state[v] = _LIVE
    kept: list[int] = []
    if lit == ALWAYS:
        for v in defs:
            state.pop(v, None)
        for v in uses:
            state[v] = _LIVE
        return kept
    if lit == NEVER:
        kept += [v for v in defs if v in state]
        for v in uses:
            state[v] = _LIVE
        return kept
    for v in defs:
        known = state.get(v, _DEAD)
        if known == lit:
            del state[v]
        elif known != _DEAD:
            state[v] = lit ^ 1
            kept.append(v)
    for v in uses:
        known = state.get(v, _DEAD)
        if known == _DEAD:
            state[v] = lit
        elif known != lit:
            state[v] = _LIVE
    return kept


class _Block:
    """Intervals of one block, from its last line to its first."""

    def __init__(self, flat: Flat, out: LiveRanges, block: int) -> None:
        self.flat, self.out = flat, out
        self.first, self.end = flat.starts[block], flat.starts[block + 1]
        self.branch = branch_literal(flat, block)
        self.pieces: list[tuple[int, int, int]] = []  # value, first point, one past the last

    def walk(self, both: list[int], taken: list[int], fall: list[int], reached: set[int]) -> None:
        flat, pieces = self.flat, self.pieces
        state = dict.fromkeys(both, _LIVE)
        state.update(dict.fromkeys(taken, self.branch))
        state.update(dict.fromkeys(fall, self.branch ^ 1))
        end_of = dict.fromkeys(state, 2 * self.end)
        for k in range(self.end - 1, self.first - 1, -1):
            defs, uses = flat.defs[k], flat.uses[k]
            if not defs and not uses and not flat.changes[k]:
                continue
            kept = step_back(state, defs, uses, flat.lits[k], flat.changes[k])
            for v in defs:
                if v not in end_of:
                    pieces.append((v, 2 * k + 1, 2 * k + 2))
                elif v not in kept:
                    pieces.append((v, 2 * k + 1, end_of.pop(v)))
            if kept:
                self.out.kept[k] = kept
            for v in uses:
                if v not in end_of:
                    end_of[v] = 2 * k + 1
        for v in sorted(end_of):
            self._from_start(v, end_of[v], v in reached)
        intervals = self.out.intervals
        for v, start, end in reversed(pieces):
            known = intervals[v]
            if known and known[-1][1] == start:
                known[-1] = (known[-1][0], end)
            elif start < end:
                known.append((start, end))

    def _from_start(self, v: int, end: int, reached: bool) -> None:
        """A value that liveness alone finds live at the block's start: really so only where some definition reaches."""
        if reached:
            self.pieces.append((v, 2 * self.first, end))
            return
        flat = self.flat
        alone: list[tuple[int, int, int]] = []
        for k in range(self.first, min(self.end, (end + 1) // 2)):
            if v in flat.uses[k]:  # read without a value: any register will do, but a register it takes
                alone.append((v, 2 * k, 2 * k + 1))
            if v in flat.defs[k]:
                alone.append((v, 2 * k + 1, end))
                break
        self.pieces += reversed(alone)


def deaths(flat: Flat, live: LiveRanges) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Values that end where an item reads them, and results that nobody reads, by item."""
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

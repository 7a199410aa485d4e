"""The predicate-aware backward step, and the solver over it, that liveness of locations in a binary is built from
(`liveness`); `transform.virtual.live_ranges` has the same step for values in virtual code, one by one, so that both
decide alike what a guard keeps alive. There is no third: PTX's units and predicates are such values, too.

A guarded definition does not kill, yet `@P0 MOV R1; @P0 use R1` does not make R1 live above. So a place is dead, live,
or *live only under a literal* (P or !P of the predicate's present value):

- a definition under g makes a place live under g dead, one live otherwise live under !g (for one live under another
  literal that is an over-approximation, and keeps the step monotone); so `@P0 def; @!P0 def` kill together;
- a use under g makes a dead place live under g, one live under another literal live;
- whatever may write P (backwards past it, literals of P mean nothing) turns what was live under P or !P into live;
- at the end of a block with a guarded branch, what is live into one successor alone is live under that edge's literal.

Each place moves through these states by itself, so the effect of a whole block on it is a function of four states.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from binalloc.isa.interface.places import TRUE

ALWAYS = -1
NEVER = -2

State = tuple[int, dict[int, int]]
"""(live, {literal: live only under it}); the sets are disjoint."""


def literal(guard: tuple[int, bool] | None) -> int:
    """2 * predicate + negated; ALWAYS without a guard or under one that always holds, NEVER under one that never does.
    `literal ^ 1` is the complement."""
    if guard is None:
        return ALWAYS
    predicate, negated = guard
    if predicate == TRUE:
        return NEVER if negated else ALWAYS
    return 2 * predicate + negated


@dataclass
class Rows:
    """One row per instruction; sets are ints over places numbered as the problem likes.

    defs: surely written if the guard holds. uses: read if the guard holds. lits: the guard. changes: predicates (bit p)
    that the instruction may write, whether they have places or not. places: per predicate the set that a guard reads.
    """

    defs: list[int]
    uses: list[int]
    lits: list[int]
    changes: list[int]
    places: Sequence[int]


@dataclass(frozen=True)
class BlockOrder:
    """spans: per block its rows, first and one past the last. taken, fall: the block that the last row jumps to and the
    one it falls through to, -1 for none. order: reachable blocks in reverse postorder. preds: reachable ones."""

    spans: list[tuple[int, int]]
    taken: Sequence[int]
    fall: Sequence[int]
    order: Sequence[int]
    preds: Sequence[Sequence[int]]


class RowLiveness(NamedTuple):
    """row, what is live before and after it, and which places of its definitions keep their old value past it."""

    row: int
    before: int
    after: int
    kept: int


def step_back(live: int, cond: dict[int, int], d: int, u: int, g: int, changes: int, guard: int) -> tuple[int, int]:
    """One row backwards: (live before, places of `d` whose old value flows past it). Updates `cond`.

    d, u: definitions and uses under literal g. changes: predicates it may write. guard: the place of the guard, which
    is read whether it holds or not.
    """
    if cond and changes:
        for lit in list(cond):
            if changes >> (lit >> 1) & 1:
                live |= cond.pop(lit)
    kept = 0
    if g == ALWAYS:
        if cond:
            gone = ~(d | u)
            for lit in cond:
                cond[lit] &= gone
        return (live & ~d) | u, 0
    if g == NEVER:
        kept = d & (live | union(cond))
        for lit in cond:
            cond[lit] &= ~u
        return live | u, kept
    if d:
        kept = live & d
        live ^= kept
        for lit in cond:
            moved = cond[lit] & d
            cond[lit] ^= moved
            if lit != g:
                kept |= moved
        cond[g ^ 1] = cond.get(g ^ 1, 0) | kept
    fresh = u & ~live
    if fresh:
        for lit in cond:
            if lit != g:
                both = cond[lit] & fresh
                cond[lit] ^= both
                live |= both
                fresh &= ~both
        cond[g] = cond.get(g, 0) | fresh
    if guard:
        for lit in cond:
            cond[lit] &= ~guard
    return live | guard, kept


def union(cond: dict[int, int]) -> int:
    """All that is live under some literal."""
    mask = 0
    for m in cond.values():
        mask |= m
    return mask


class BackwardSolver:
    """Solves live-in per block for given rows, by summaries of whole blocks.

    After changing a row of a block call `touch(block)`; `solve()` then starts from the old solution, which is right as
    long as sets of uses only grow and definitions stay. everything: all places there are.
    """

    def __init__(self, flow: BlockOrder, rows: Rows, everything: int) -> None:
        self.flow = flow
        self.rows = rows
        self.everything = everything
        self.live_in = [0] * len(flow.spans)
        self._summary: list[tuple[int, int, int, int] | None] = [None] * len(flow.spans)

    def touch(self, block: int) -> None:
        """Forget the summary of a block."""
        self._summary[block] = None

    def end_state(self, block: int) -> State:
        """State after the last row of a block."""
        t, f, both = self._edges(block)
        if not t and not f:
            return both, {}
        g = self._branch(block)
        return both, {g: t, g ^ 1: f}

    def walk(self, block: int) -> Iterator[RowLiveness]:
        """The rows of a block from its last to its first."""
        rows, (start, end) = self.rows, self.flow.spans[block]
        now, cond = self.end_state(block)
        after = now | union(cond)
        for i in range(end - 1, start - 1, -1):
            d, g = rows.defs[i], rows.lits[i]
            kept = 0
            if g == ALWAYS and not cond:
                now = before = (now & ~d) | rows.uses[i]
            else:
                now, kept = step_back(now, cond, d, rows.uses[i], g, rows.changes[i], self._guard(g))
                before = now | union(cond)
            yield RowLiveness(i, before, after, kept)
            after = before

    def solve(self) -> list[int]:
        """Live-in sets of all reachable blocks (0 elsewhere), the least solution."""
        flow = self.flow
        pending = set(flow.order)
        order = flow.order[::-1]
        while pending:
            for block in order:
                if block not in pending:
                    continue
                pending.discard(block)
                gen, only_taken, only_fall, both = self._summary[block] or self._summarise(block)
                t, f, out = self._edges(block)
                new = gen | (t & only_taken) | (f & only_fall) | (out & both)
                if new != self.live_in[block]:
                    self.live_in[block] = new
                    pending.update(flow.preds[block])
        return self.live_in

    def _guard(self, g: int) -> int:
        return self.rows.places[g >> 1] if g >= 0 else 0

    def _branch(self, block: int) -> int:
        """Literal of the last row of a block; ALWAYS for an empty block."""
        start, end = self.flow.spans[block]
        return self.rows.lits[end - 1] if start < end else ALWAYS

    def _edges(self, block: int) -> tuple[int, int, int]:
        """(live into the taken target only, into the fall-through only, into both) at the end of a block; a block
        that does not end in a guarded branch has everything in the last."""
        taken, fall = self.flow.taken[block], self.flow.fall[block]
        t = self.live_in[taken] if taken >= 0 else 0
        f = self.live_in[fall] if fall >= 0 else 0
        if taken < 0 or fall < 0 or self._branch(block) < 0:
            return 0, 0, t | f
        return t & ~f, f & ~t, t & f

    def _summarise(self, block: int) -> tuple[int, int, int, int]:
        rows, (start, end) = self.rows, self.flow.spans[block]
        last = self._branch(block)
        plain = all(g == ALWAYS for g in rows.lits[start : end - 1])
        if plain and (last < 0 or not (rows.defs[end - 1] or rows.uses[end - 1])):
            gen, kill = self._guard(last), 0
            for i in range(end - 1, start - 1, -1):
                d = rows.defs[i] if rows.lits[i] != NEVER else 0
                gen = (gen & ~d) | rows.uses[i]
                kill |= d
            summary = (gen, ~kill, ~kill, ~kill)
        else:
            every = self.everything
            gen = self._walk(start, end, 0, {})
            both = self._walk(start, end, every, {})
            summary = (gen, both, both, both)
            if last >= 0:
                taken = self._walk(start, end, 0, {last: every})
                summary = (gen, taken, self._walk(start, end, 0, {last ^ 1: every}), both)
        self._summary[block] = summary
        return summary

    def _walk(self, start: int, end: int, live: int, cond: dict[int, int]) -> int:
        rows = self.rows
        for i in range(end - 1, start - 1, -1):
            g = rows.lits[i]
            live, _ = step_back(live, cond, rows.defs[i], rows.uses[i], g, rows.changes[i], self._guard(g))
        return live | union(cond)

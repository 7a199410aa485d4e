"""This module has the backward step of liveness, which respects guards, and the solver over it.

`liveness` uses it for locations in a binary. `transform.virtual.live_ranges` has the same step for single values in
virtual code, so that both agree on the values that a guard keeps alive. There is no third implementation: PTX's units
and predicates are such values, too.

A guarded definition does not kill, yet `@P0 MOV R1; @P0 use R1` does not make R1 live before both. So a place is dead,
live, or *live only under a literal* (P or !P of the predicate's present value):

- A definition under g makes a place that is live under g dead, and a place that is live otherwise live under !g. So
  `@P0 def; @!P0 def` kill together. For a place live under another literal, !g is an over-approximation, which keeps
  the step monotone.
- A use under g makes a dead place live under g, and a place that is live under another literal live.
- An instruction that may write P makes places live that were live under P or !P, since before it literals of P mean
  nothing.
- At the end of a block with a guarded branch, a place live into one successor alone is live under that edge's literal.

Each place moves through these states by itself, so the effect of a whole block on it is a function of four states.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from binalloc.isa.interface.places import TRUE

ALWAYS = -1  # the literal of an instruction that is always executed; literals of predicates are not negative
NEVER = -2  # the literal of an instruction that is never executed

State = tuple[int, dict[int, int]]
"""(live places, {literal: places that are live only under it}); the sets are disjoint."""


def literal(guard: tuple[int, bool] | None) -> int:
    """Return 2 * predicate + negated for a guard; `literal ^ 1` is the complement.

    It is ALWAYS without a guard or under the guard "true", NEVER under the guard "false".
    """
    if guard is None:
        return ALWAYS
    predicate, negated = guard
    if predicate == TRUE:
        return NEVER if negated else ALWAYS
    return 2 * predicate + negated


@dataclass
class FlowRows:
    """The solver sees a function as rows, one for each instruction. Sets are ints over places; the problem chooses
    their numbers."""

    defs: list[int]  #: places that are surely written if the guard holds
    uses: list[int]  #: places that are read if the guard holds
    lits: list[int]  #: literal of the guard
    changes: list[int]  #: predicates (bit p) that the instruction may write, whether they have places or not
    places: Sequence[int]  #: for each predicate the set that a guard reads


@dataclass(frozen=True)
class FlowBlocks:
    """A block order is the control flow between blocks of rows."""

    spans: list[tuple[int, int]]  #: rows of each block, first and one past the last
    taken: Sequence[int]  #: block to which the last row jumps, -1 for none
    fall: Sequence[int]  #: block to which the last row falls through, -1 for none
    order: Sequence[int]  #: reachable blocks in reverse postorder
    preds: Sequence[Sequence[int]]  #: reachable predecessors of each block


class RowLiveness(NamedTuple):
    """The liveness around one row is the sets of places live before and after it."""

    row: int  #: number of the row
    before: int  #: places live before it
    after: int  #: places live after it
    kept: int  #: places that it defines, but whose old value is needed after it


def step_back(live: int, cond: dict[int, int], d: int, u: int, g: int, changes: int, guard: int) -> tuple[int, int]:
    """Go back over one row. Return (places live before, places of `d` whose old value is needed after it); update
    `cond`.

    d, u: definitions and uses under literal g. changes: predicates that the row may write. guard: the place of the
    guard, which is read whether it holds or not.
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
    """Return all places that are live under some literal."""
    mask = 0
    for m in cond.values():
        mask |= m
    return mask


class BackwardSolver:
    """The solver finds the live-in set of each block for given rows, by summaries of whole blocks.

    After changing a row of a block call `touch(block)`; `solve()` then starts from the old solution. That is right as
    long as sets of uses only grow and definitions stay. everything: the set of all places.
    """

    def __init__(self, flow: FlowBlocks, rows: FlowRows, everything: int) -> None:
        self.flow = flow
        self.rows = rows
        self.everything = everything
        self.live_in = [0] * len(flow.spans)
        self._summary: list[tuple[int, int, int, int] | None] = [None] * len(flow.spans)

    def touch(self, block: int) -> None:
        """Forget the summary of a block."""
        self._summary[block] = None

    def end_state(self, block: int) -> State:
        """Return the state after the last row of a block."""
        t, f, both = self._edges(block)
        if not t and not f:
            return both, {}
        g = self._branch(block)
        return both, {g: t, g ^ 1: f}

    def walk(self, block: int) -> Iterator[RowLiveness]:
        """Yield the rows of a block from its last to its first."""
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
        """Return the live-in sets of all reachable blocks (0 elsewhere), the least solution."""
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
        """Return the set that a guard with literal `g` reads."""
        return self.rows.places[g >> 1] if g >= 0 else 0

    def _branch(self, block: int) -> int:
        """Return the literal of the last row of a block; ALWAYS for an empty block."""
        start, end = self.flow.spans[block]
        return self.rows.lits[end - 1] if start < end else ALWAYS

    def _edges(self, block: int) -> tuple[int, int, int]:
        """Return the places live at the end of a block: into the taken target only, into the fall-through only, into
        both.

        A block that does not end in a guarded branch has everything in the last set.
        """
        taken, fall = self.flow.taken[block], self.flow.fall[block]
        t = self.live_in[taken] if taken >= 0 else 0
        f = self.live_in[fall] if fall >= 0 else 0
        if taken < 0 or fall < 0 or self._branch(block) < 0:
            return 0, 0, t | f
        return t & ~f, f & ~t, t & f

    def _summarise(self, block: int) -> tuple[int, int, int, int]:
        """Compute the summary of a block, as `solve` combines it with the sets of its edges."""
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
        """Return the places live before row `start`, from the state behind row `end` - 1."""
        rows = self.rows
        for i in range(end - 1, start - 1, -1):
            g = rows.lits[i]
            live, _ = step_back(live, cond, rows.defs[i], rows.uses[i], g, rows.changes[i], self._guard(g))
        return live | union(cond)

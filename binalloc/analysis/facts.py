"""Per-instruction sets of locations, and the predicate-aware backward step that all liveness is built from.

Needs a `Cfg`; leaves it untouched. A guarded definition does not kill, yet `@P0 MOV R1; @P0 use R1` does not make R1
live above. So a location is dead, live, or *live only under a literal* (P or !P of the predicate's present value):

- a definition under g makes a location live under g dead, one live otherwise live under !g (for one live under another
  literal that is an over-approximation, and keeps the step monotone); so `@P0 def; @!P0 def` kill together;
- a use under g makes a dead location live under g, one live under another literal live;
- a definition of P (backwards past it, literals of P mean nothing) turns what was live under P or !P into live.

Each location moves through these states by itself, so the effect of a whole block on it is a function of four states.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from binalloc.analysis.cfg import Cfg
from binalloc.analysis.locations import PRED_BASE, PRED_MASK, location
from binalloc.isa.fields import PT
from binalloc.isa.interface import Ref

ALWAYS = -1
NEVER = -2

State = tuple[int, dict[int, int]]
"""(live, {literal: live only under it}); the sets are disjoint."""


def literal(guard: tuple[int, bool] | None) -> int:
    """2 * predicate + negated; ALWAYS without a guard (or @PT), NEVER for @!PT. `literal ^ 1` is the complement."""
    if guard is None:
        return ALWAYS
    predicate, negated = guard
    if predicate == PT:
        return NEVER if negated else ALWAYS
    return 2 * predicate + negated


def refs_mask(refs: tuple[Ref, ...]) -> int:
    """The set of locations that register and predicate operands cover."""
    mask = 0
    for r in refs:
        mask |= ((1 << r.units) - 1) << location(r.file, r.index)
    return mask


@dataclass
class Facts:
    """Sets of locations per instruction of one function.

    defs: written if the guard holds (calls: what the callee surely redefines). uses: read if the guard holds. lits:
    the guard. clobbers: like defs, but calls: all that the callee may change. everything: union of all sets. local:
    accesses to lifted local words, instruction -> (is a store, first location, words); they are in the sets too.
    """

    defs: list[int]
    uses: list[int]
    lits: list[int]
    clobbers: list[int]
    local: dict[int, tuple[bool, int, int]] = field(default_factory=dict)

    @property
    def everything(self) -> int:
        mask = 0
        for d, u in zip(self.clobbers, self.uses, strict=True):
            mask |= d | u
        for g in self.lits:
            if g >= 0:
                mask |= 1 << (PRED_BASE + (g >> 1))
        return mask


def build_facts(cfg: Cfg, local: dict[int, tuple[bool, int, int]] | None = None) -> Facts:
    """The sets that instructions have by themselves; calls and returns have none yet (their summaries come later)."""
    defs = [refs_mask(v.defs) for v in cfg.views]
    uses = [refs_mask(v.uses) for v in cfg.views]
    lits = [literal(v.guard) for v in cfg.views]
    for i, (is_store, first, count) in (local or {}).items():
        (defs if is_store else uses)[i] |= ((1 << count) - 1) << first
    return Facts(defs, uses, lits, list(defs), local or {})


def step_back(live: int, cond: dict[int, int], d: int, u: int, g: int) -> tuple[int, int]:
    """One instruction backwards: (live before, locations of `d` whose old value flows past it). Updates `cond`.

    d, u: definitions and uses under literal g. The guard itself is an unconditional use.
    """
    if cond and d & PRED_MASK:
        for lit in list(cond):
            if d >> (PRED_BASE + (lit >> 1)) & 1:
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
    predicate = 1 << (PRED_BASE + (g >> 1))
    for lit in cond:
        cond[lit] &= ~predicate
    return live | predicate, kept


def union(cond: dict[int, int]) -> int:
    """All that is live under some literal."""
    mask = 0
    for m in cond.values():
        mask |= m
    return mask


class BackwardSolver:
    """Solves live-in per block for given definitions and uses, by summaries of whole blocks.

    After changing `defs` or `uses` of an instruction call `touch(index)`; `solve()` then starts from the old solution,
    which is right as long as sets of uses only grow and definitions stay.
    """

    def __init__(self, cfg: Cfg, defs: list[int], uses: list[int], lits: list[int], everything: int) -> None:
        self.cfg = cfg
        self.defs = defs
        self.uses = uses
        self.lits = lits
        self.everything = everything
        self.live_in = [0] * len(cfg.blocks)
        self._summary: list[tuple[int, int, int, int] | None] = [None] * len(cfg.blocks)

    def touch(self, index: int) -> None:
        """Forget the summary of the block that holds instruction `index`."""
        self._summary[self.cfg.block_of[index]] = None

    def edges(self, block: int) -> tuple[int, int, int]:
        """(live into the taken target only, into the fall-through only, into both) at the end of a block; a block
        that does not end in a guarded branch has everything in the last."""
        taken, fall = self.cfg.taken[block], self.cfg.fall[block]
        t = self.live_in[taken] if taken >= 0 else 0
        f = self.live_in[fall] if fall >= 0 else 0
        if taken < 0 or fall < 0 or self.lits[self.cfg.blocks[block].end - 1] < 0:
            return 0, 0, t | f
        return t & ~f, f & ~t, t & f

    def end_state(self, block: int) -> State:
        """State after the last instruction of a block."""
        t, f, both = self.edges(block)
        if not t and not f:
            return both, {}
        g = self.lits[self.cfg.blocks[block].end - 1]
        return both, {g: t, g ^ 1: f}

    def solve(self) -> list[int]:
        """Live-in sets of all reachable blocks (0 elsewhere), the least solution."""
        cfg = self.cfg
        pending = set(cfg.rpo)
        order = cfg.rpo[::-1]
        while pending:
            for block in order:
                if block not in pending:
                    continue
                pending.discard(block)
                gen, only_taken, only_fall, both = self._summary[block] or self._summarise(block)
                t, f, out = self.edges(block)
                new = gen | (t & only_taken) | (f & only_fall) | (out & both)
                if new != self.live_in[block]:
                    self.live_in[block] = new
                    pending.update(p for p in cfg.preds[block] if cfg.rpo_number[p] >= 0)
        return self.live_in

    def _summarise(self, block: int) -> tuple[int, int, int, int]:
        start, end = self.cfg.blocks[block].start, self.cfg.blocks[block].end
        last = self.lits[end - 1]
        plain = all(g == ALWAYS for g in self.lits[start : end - 1])
        if plain and (last < 0 or not (self.defs[end - 1] or self.uses[end - 1])):
            gen, kill = (1 << (PRED_BASE + (last >> 1)) if last >= 0 else 0), 0
            for i in range(end - 1, start - 1, -1):
                d, u = self.defs[i], self.uses[i]
                if self.lits[i] == NEVER:
                    d = 0
                gen = (gen & ~d) | u
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
        defs, uses, lits = self.defs, self.uses, self.lits
        for i in range(end - 1, start - 1, -1):
            live, _ = step_back(live, cond, defs[i], uses[i], lits[i])
        return live | union(cond)

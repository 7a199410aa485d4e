"""This module computes the meet of two ways: what is known on both.

Needs two states (`lattice.py`), which it leaves unchanged. The lattice's order is inclusion of facts closed under their
consequences. An unconditional fact implies the conditional ones, and a free x is held everywhere. Under K = (p, v)
every statement holds for threads where p is not v. The meet is the intersection of the closures, which stays
representable: a fact that one side proves and the other side rules out by K becomes conditional. Facts are finite and
only shrink at a meet, so every fixpoint ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from binalloc.verify.reading.names import DEFINED, UNWRITTEN, const_of, is_token
from binalloc.verify.values.conditions import NO_FACTS, NONE, Cond, Conds, Facts, Set, refined
from binalloc.verify.values.lattice import State

# predicates that one conditional fact may depend on; chosen by hand: each one more costs time at meets
MAX_LITERALS = 2
MAX_FACTS = 16  # conditional facts kept for one row; chosen by hand, likewise


def meet(a: State, b: State, live: Callable[[int], bool] | None = None) -> State:
    """Return the facts that hold in both (see the module). live: values for which conditional facts are worth
    keeping."""
    if a.doubt != b.doubt:
        a, b = _doubting(a, b.doubt), _doubting(b, a.doubt)
    a, b = _keeping(a), _keeping(b)
    out = a.copy()
    out.free = a.free & b.free
    if a.free or b.free or a.C or b.C or a.K or b.K:
        _meet_rows(out, a, b, live)
    else:
        other = b.S
        for k, x in a.S.items():
            y = other.get(k)
            if x is not y and x != y:
                out.put(k, NONE if y is None else x & y)
    out.K = a.K & b.K
    out.bits = a.bits | b.bits
    if a.of != b.of or a.free or b.free:
        out.of = {x: t for x, t in a.of.items() if b.of.get(x) == t or x in b.free}
        out.of.update({x: t for x, t in b.of.items() if x in a.free})
    return out


def meet_sides(done: State, before: State, conds: tuple[Cond, ...]) -> State:
    """Return the facts behind a step that was executed where all of `conds` hold, and not elsewhere.

    done: the facts behind it, started from `before` with the conditions known; its `touched` has the rows that the step
    changed. Changes `before`. The result is the meet of both sides, at a cost that depends on the step's changes and
    not on the size of the state.
    """
    touched, done.touched = done.touched, None
    against = frozenset((p, not v) for p, v in conds)
    free = done.free
    settled = free == before.free and done.doubt == before.doubt and all(c in done.K for c in conds)
    freed = any(cs <= before.K | against for cs in before.C.get(UNWRITTEN, NO_FACTS))
    if touched is None or freed or not settled:
        before.refine(against)
        return meet(done, before)
    here, there = done.K, before.K | against
    for k in touched:
        x, left = done.S.get(k, NONE), done.C.get(k, NO_FACTS)
        y, right = before.S.get(k, NONE), before.C.get(k, NO_FACTS)
        if right:
            always, right = refined(right, there)
            y |= always
        token = const_of(k)
        if token is not None:
            x, y = x | {token}, y | {token}
        both = (x & y) - free if free and k != DEFINED else x & y
        before.put(k, both - {token} if token is not None else both)
        before.put_facts(k, _meet_conds(_Side(here, left, x, free), _Side(there, right, y, free), both | free))
    before.K = before.K & here
    before.bits |= done.bits
    if done.of != before.of:
        before.of = {x: t for x, t in before.of.items() if done.of.get(x) == t}
    return before


def _keeping(state: State) -> State:
    """Return the same facts, with facts on values in doubt whose conditions the other way may not know."""
    if UNWRITTEN not in state.C:
        return state
    out = state.copy()
    out.keep_written()
    return out


def _doubting(state: State, also: Set) -> State:
    """Return the same facts with more values in doubt, which were sure."""
    out = state.copy()
    out.doubt = state.doubt | also
    out.add(DEFINED, also - state.doubt)
    return out


def _meet_rows(out: State, a: State, b: State, live: Callable[[int], bool] | None) -> None:
    """Set the rows of `out` to the meet of both states' rows."""
    rows, other, free_a, free_b = a.S, b.S, a.free, b.free
    free = out.free
    plain = not a.C and not b.C and not a.K and not b.K
    keys = rows.keys() | other.keys()
    if a.C or b.C:
        keys = keys | a.C.keys() | b.C.keys()
    if free_a != free_b and not plain:
        keys = keys | {UNWRITTEN}
    out.C = {}
    for k in keys:
        x, y = rows.get(k, NONE), other.get(k, NONE)
        left, right = a.C.get(k, NO_FACTS), b.C.get(k, NO_FACTS)
        if x == y and left == right and not (k == UNWRITTEN and free_a != free_b):
            if left:
                out.C[k] = left
            if free and k != DEFINED:
                out.put(k, x - free)
            continue
        if k != DEFINED and (free_a or free_b):
            x, y = x | free_a, y | free_b
        token = const_of(k)
        if token is not None:
            x, y = x | {token}, y | {token}
        both = (x & y) - free if free else x & y
        out.put(k, both - {token} if token is not None else both)
        if plain:
            continue
        apart = free | both
        if live is not None:
            lost = (_all(x, left) | _all(y, right)) - apart
            dead = [v for v in lost if is_token(v) or not live(v)]
            if len(dead) == len(lost):
                continue
            apart = apart.union(dead)
        # Free values under a condition are kept in one row only: in all others they would be useless, and many.
        trifles = (NONE, NONE) if k == UNWRITTEN else (free_a, free_b)
        conds = _meet_conds(_Side(a.K, left, x, trifles[0]), _Side(b.K, right, y, trifles[1]), apart)
        if conds:
            out.C[k] = conds
    out.find_named()


def _all(always: Set, facts: Facts) -> Set:
    return always.union(*facts.values()) if facts else always


class _Side(NamedTuple):
    """A side of a meet is one row on one way."""

    known: Conds  #: what is known of predicates there
    facts: Facts  #: what the row holds under conditions
    always: Set  #: what the row holds unconditionally
    free: Set  #: the part of that which says nothing where the other way is ruled out


def _meet_conds(a: _Side, b: _Side, apart: Set) -> Facts:
    """Return the conditional facts of one row. apart: names for which nothing is to be kept.

    Considers the conditions of either side, joined with each other and with those that one side rules out.
    """
    if _all(a.always, a.facts) <= apart and _all(b.always, b.facts) <= apart:
        return NO_FACTS
    mine, theirs = {_ALWAYS: a.always, **a.facts}, {_ALWAYS: b.always, **b.facts}
    candidates: set[Conds] = {p | q for p in mine for q in theirs} if a.facts or b.facts else set()
    candidates.update(cs | {(p, not v)} for cs in mine for p, v in b.known)
    candidates.update(cs | {(p, not v)} for cs in theirs for p, v in a.known)
    out: Facts = {}
    possible = [cs for cs in candidates if 0 < len(cs) <= MAX_LITERALS]
    for cs in sorted(possible, key=lambda c: (len(c), sorted(c))):
        if any((p, not v) in cs for p, v in cs):
            continue
        left, right = _under(a.known, mine, cs), _under(b.known, theirs, cs)
        if left is None:
            if right is None:
                continue
            values = right - b.free
        else:
            values = left - a.free if right is None else left & right
        values -= apart
        for smaller, m in out.items():
            if smaller <= cs:
                values -= m
        if values and len(out) < MAX_FACTS:
            out[cs] = values
    return out


_ALWAYS: Conds = frozenset()  # the condition that always holds


def _under(known: Conds, facts: Facts, cs: Conds) -> Set | None:
    """Return what a row holds where `cs` is true; None (anything) if the known predicates rule that out."""
    for p, v in cs:
        if (p, not v) in known:
            return None
    given = cs | known
    values = NONE
    for conds, m in facts.items():
        if conds <= given:
            values |= m
    return values

"""Where two ways come together: what is known on both.

Needs two states (`lattice.py`), which it leaves unchanged. The lattice's order is inclusion of facts closed under their
consequences (an unconditional fact implies the conditional ones; a free x is held everywhere; under K = (p, v) anything
may be said of threads where p is not v). The meet is the intersection of the closures, which stays representable: what
one side proves and the other side rules out by K becomes a conditional fact. Facts are finite and only shrink at a
meet, so every fixpoint ends.
"""

from __future__ import annotations

from binalloc.verify.lattice import NO_FACTS, NONE, Cond, Conds, Facts, Set, State
from binalloc.verify.names import DEFINED, const_of

MAX_LITERALS = 2  # predicates that one conditional fact may depend on
MAX_FACTS = 16  # conditional facts kept for one row


def meet(a: State, b: State) -> State:
    """The facts that hold in both (see the module)."""
    if a.doubt != b.doubt:
        a, b = _doubting(a, b.doubt), _doubting(b, a.doubt)
    out = a.copy()
    out.free = a.free & b.free
    if a.free or b.free or a.C or b.C or a.K or b.K:
        _meet_rows(out, a, b)
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


def _doubting(state: State, also: Set) -> State:
    """The same facts, with values in doubt that were beyond it."""
    out = state.copy()
    out.doubt = state.doubt | also
    out.add(DEFINED, also - state.doubt)
    return out


def _meet_rows(out: State, a: State, b: State) -> None:
    rows, other, free_a, free_b = a.S, b.S, a.free, b.free
    free = out.free
    plain = not a.C and not b.C and not a.K and not b.K
    keys = rows.keys() | other.keys()
    if a.C or b.C:
        keys = keys | a.C.keys() | b.C.keys()
    out.C = {}
    for k in keys:
        x, y = rows.get(k, NONE), other.get(k, NONE)
        left, right = a.C.get(k, NO_FACTS), b.C.get(k, NO_FACTS)
        if x == y and left == right:
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
        conds = _meet_conds(a, b, left, right, x, y, free | both)
        if conds:
            out.C[k] = conds


def _meet_conds(a: State, b: State, ca: Facts, cb: Facts, x: Set, y: Set, apart: Set) -> Facts:
    """Conditional facts of one row; ca, cb: those of either side; x, y: what the row holds there unconditionally.

    apart: names of which nothing is to be kept. Considers the conditions of either side, joined with each other and
    with what one side rules out.
    """
    mine, theirs = {frozenset[Cond](): x, **ca}, {frozenset[Cond](): y, **cb}
    candidates: set[Conds] = {p | q for p in mine for q in theirs}
    candidates.update(cs | {(p, not v)} for cs in mine for p, v in b.K)
    candidates.update(cs | {(p, not v)} for cs in theirs for p, v in a.K)
    out: Facts = {}
    for cs in sorted(candidates, key=lambda c: (len(c), sorted(c))):
        if not 0 < len(cs) <= MAX_LITERALS or any((p, not v) in cs for p, v in cs):
            continue
        left, right = _under(a, mine, cs), _under(b, theirs, cs)
        # An undefined value under a condition helps nobody, and would put conditions on every row.
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


def _under(state: State, facts: Facts, cs: Conds) -> Set | None:
    """What a row holds where `cs` is true; None (anything) if the state rules that out."""
    if any((p, not v) in state.K for p, v in cs):
        return None
    given = cs | state.K
    values = NONE
    for conds, m in facts.items():
        if conds <= given:
            values |= m
    return values

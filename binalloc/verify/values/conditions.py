"""This module represents facts under conditions on predicates as data, and combines them.

Needs only integers: an original predicate with its truth value, sets of those, and for each set the facts that are
known where all of them hold.
"""

from __future__ import annotations

from collections.abc import Sequence

Cond = tuple[int, bool]  # (predicate, its truth value)
Conds = frozenset[Cond]  # conditions that hold together
Set = frozenset[int]  # names of values and tokens
Facts = dict[Conds, Set]  # for some conditions, the names held where they are true

NONE: Set = frozenset()  # the empty set, shared
NO_FACTS: Facts = {}  # no conditional facts, shared; never changed
MOST_SPLIT = 4
"""Predicates over which cases are distinguished to find whether one of some conditions always holds. Chosen by hand:
each one more doubles the time."""


def mentioned(facts: Facts) -> set[int]:
    """Return the values and predicates that conditional facts of one row name."""
    found: set[int] = set()
    for conds, values in facts.items():
        found |= values
        found.update([p for p, _ in conds])
    return found


def depends(ways: Facts | Sequence[Conds], predicates: Set) -> bool:
    """Return whether one of the conditions is on one of the predicates."""
    for conds in ways:
        for p, _ in conds:
            if p in predicates:
                return True
    return False


def refined(facts: Facts, known: Conds) -> tuple[Set, Facts]:
    """Return the names held unconditionally, and those still held under a condition, where these predicates are
    known."""
    out: Facts = {}
    for cs, m in facts.items():
        rest = cs - known
        out[rest] = out.get(rest, NONE) | m
    return out.pop(frozenset(), NONE), out


def ways_of(facts: Facts, x: int) -> list[Conds]:
    """Return the conditions under which x is held."""
    return [cs for cs, xs in facts.items() if x in xs]


def everywhere(ways: Sequence[Conds], known: Conds) -> bool:
    """Return whether one of these conditions holds wherever the known ones do."""
    open_ways = [cs for cs in ways if not any((p, not v) in known for p, v in cs)]
    names = sorted({p for cs in open_ways for p, v in cs if (p, v) not in known})
    if len(names) > MOST_SPLIT:
        return False
    if not names:
        return bool(open_ways)
    return all(everywhere(open_ways, known | {(names[0], v)}) for v in (True, False))

"""Facts under conditions on predicates, as data: what they name, what they hang on, what they come to together.

Needs only integers: an original predicate and what it is, sets of those, and for each what is known where all of them
hold.
"""

from __future__ import annotations

from collections.abc import Sequence

Cond = tuple[int, bool]
Conds = frozenset[Cond]
Set = frozenset[int]
Facts = dict[Conds, Set]

NONE: Set = frozenset()
NO_FACTS: Facts = {}
MOST_SPLIT = 4
"""Predicates by which it is looked through whether one of some conditions holds everywhere."""


def mentioned(facts: Facts) -> set[int]:
    """The values and predicates that conditional facts of one row name."""
    found: set[int] = set()
    for conds, values in facts.items():
        found |= values
        found.update([p for p, _ in conds])
    return found


def depends(ways: Facts | Sequence[Conds], predicates: Set) -> bool:
    """Whether one of the conditions is on one of the predicates."""
    for conds in ways:
        for p, _ in conds:
            if p in predicates:
                return True
    return False


def refined(facts: Facts, known: Conds) -> tuple[Set, Facts]:
    """What holds anyway, and what under a condition still, of conditional facts where these predicates are known."""
    out: Facts = {}
    for cs, m in facts.items():
        rest = cs - known
        out[rest] = out.get(rest, NONE) | m
    return out.pop(frozenset(), NONE), out


def ways_of(facts: Facts, x: int) -> list[Conds]:
    """The conditions under which x is among what is known."""
    return [cs for cs, xs in facts.items() if x in xs]


def everywhere(ways: Sequence[Conds], known: Conds) -> bool:
    """Whether one of these conditions holds wherever those known do."""
    open_ways = [cs for cs in ways if not any((p, not v) in known for p, v in cs)]
    names = sorted({p for cs in open_ways for p, v in cs if (p, v) not in known})
    if len(names) > MOST_SPLIT:
        return False
    if not names:
        return bool(open_ways)
    return all(everywhere(open_ways, known | {(names[0], v)}) for v in (True, False))

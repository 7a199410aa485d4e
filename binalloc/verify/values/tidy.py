"""This module forgets facts that can no longer be needed.

Needs a state of `lattice.py` and the values that are live at its place in the original. Forgetting proves less, never
more.
"""

from __future__ import annotations

from collections.abc import Callable

from binalloc.verify.reading.names import const_key, const_of, is_copy, is_place
from binalloc.verify.values.lattice import State

DEEP = 8
"""Chained operations of which a value that is computed again may consist, where the original has none of their results.
Chosen by hand: a larger number keeps more facts."""


def prune(state: State, live: Callable[[int], bool]) -> None:
    """Forget needless facts. They say that dead original values equal tokens, or hold under conditions on dead
    predicates that the rewritten program holds nowhere either."""
    for x in [x for x in state.of if not live(x)]:
        del state.of[x]
    for k in [k for k in state.S if const_of(k) is not None]:
        values = state.S[k]
        if not all(map(live, values)):
            state.put(k, frozenset(filter(live, values)))
    for k in [k for k in state.C if const_of(k) is not None]:
        left = {cs: frozenset(filter(live, xs)) for cs, xs in state.C[k].items()}
        state.put_facts(k, {cs: xs for cs, xs in left.items() if xs})
    for k in [k for k in state.S if is_copy(k) and not any(map(live, state.S[k]))]:
        state.put(k, frozenset())
    lost = {c[0] for c in state.K}
    for d in state.C.values():
        lost.update(p for cs in d for p, _ in cs)
    lost = {p for p in lost if not live(p) and p not in state.where and not is_place(p)}
    if lost:
        state.drop_conds(frozenset(lost))


def needed(state: State, live: Callable[[int], bool]) -> Callable[[int], bool]:
    """Return a function: is a value live, or may a live value be computed again from it within the limit `DEEP`?

    Results of operations on dead values may be computed again by way of these.
    """
    leaves, steps = state.names.leaves, dict[int, int]()
    tokens = sorted([t for k in state.S if (t := const_of(k)) is not None and t in leaves], reverse=True)
    for t in tokens:  # newest first: a token is computed from older ones
        left = max(DEEP if live(x) else steps.get(x, 0) for x in state.S[const_key(t)]) - 1
        if left > 0:
            for x in leaves[t]:
                steps[x] = max(steps.get(x, 0), left)
    return lambda x: x in steps or live(x)

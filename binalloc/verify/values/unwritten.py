"""This module handles values that the original reads before anything wrote them: which rows may stand for such a value,
and when it becomes one value.

Needs a state of `lattice.py`. A value that nobody wrote reads as anything, each time anew. Any row may stand for it.
The same holds in threads where a predicate kept it from being written (`UNWRITTEN`). A predicate is different where it
guards something: the code that is executed shows its value. So each thread has for each predicate one value of which
conditions speak. The value is in doubt as long as nothing in the rewritten program depended on it, and may be chosen
until then. It is the content of the row that the rewritten program first uses for it (`settle`). Facts under a
condition on it were known for either choice. From then on that row holds it, and so do its copies.

*Wherever somebody wrote it.* For a value in doubt, "S[row] has x" says for each thread: the row holds x, or nobody
wrote x there. That needs no condition, so it outlives the predicate under which x was written. It is found where a
guard or a branch splits the threads. On the side where known predicates say that nobody wrote x, x is free, as if it
never had been written (`State.refine`). When the sides meet, a row keeps x if it holds x on the other side. That is
sound: in all threads of a side the predicates known there hold, and the rule says nothing of other threads. That x was
written is another fact (DEFINED), which the meet removes.

It is found, too, where ways meet, and when a predicate is written or is known no more. There a row holds x under some
conditions, nobody wrote x under others, and one of all these conditions always holds. So a store under x's own guard
puts x into its place for good. A store under another guard does not: x was written in some threads where the place has
other contents.
"""

from __future__ import annotations

from collections.abc import Container

from binalloc.isa.interface.places import LOCAL_BASE, PRED_BASE
from binalloc.verify.reading.names import DEFINED, UNWRITTEN, is_token
from binalloc.verify.values.conditions import NO_FACTS, NONE, Cond, everywhere, ways_of
from binalloc.verify.values.lattice import State


def settle(state: State, x: int, key: int) -> None:
    """Decide that predicate x is what the row holds, and no other row's content.

    x was not written on every way, and the row holds it if it is not free. Facts under a condition on it stay.
    """
    for k in state.where.get(x, NONE):
        state.put(k, state.S[k] - {x})
    state.of.pop(x, None)
    gone = frozenset((x,))
    state.forget_made(gone)
    state.forget(gone)
    state.free -= gone
    state.add(DEFINED, gone)
    state.add(key, gone)


def stands(state: State, key: int, x: int) -> bool:
    """Return whether the row may stand for x: in every thread it holds x, or nobody wrote x."""
    if x in state.free or x in state.row(key) or x in state.row(UNWRITTEN):
        return True
    unwritten = ways_of(state.C.get(UNWRITTEN, NO_FACTS), x)
    held = ways_of(state.C.get(key, NO_FACTS), x)
    return bool(unwritten) and bool(held) and everywhere(unwritten + held, state.K)


def without_others(state: State, predicates: Container[int]) -> State:
    """Return the facts that are known where no other predicates are in sight."""
    if UNWRITTEN not in state.C:
        return state
    lost = frozenset([p for facts in state.C.values() for cs in facts for p, _ in cs if p not in predicates])
    if lost:
        state = state.copy()
        state.drop_conds(lost)
    return state


def predicates(state: State, key: int) -> list[int]:
    """Return the original predicates that a row is known to hold."""
    place = state.names.place
    return [x for x in sorted(state.row(key)) if not is_token(x) and PRED_BASE <= place(x) < LOCAL_BASE]


def undecided(state: State, place: int) -> list[int]:
    """Return a free predicate of which conditions speak, so that any row may still stand for it.

    The list has one element at most; a predicate of this place is preferred.
    """
    if not state.free or not state.C:
        return []
    speaking: set[Cond] = {c for facts in state.C.values() for cs in facts for c in cs}
    found = sorted({p for p, _ in speaking} & state.free)
    return sorted(found, key=lambda x: state.names.place(x) != place)[:1]

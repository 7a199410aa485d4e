"""What the original reads before anything wrote it: which places may stand for it, and when it becomes one value.

Needs a state of `lattice.py`. A value that nobody wrote reads as anything, each time anew; any row may stand for it,
and so it is in threads where a predicate kept it from being written (`UNWRITTEN`). A predicate is another matter where
it guards something: what is executed shows what it held. So each thread has for each predicate one value that
conditions speak of, in doubt as long as nothing in the rewritten program depended on it, and free to be chosen until
then: whatever the row holds by which the rewritten program first goes (`settle`). What is known under a condition on it
was known for either choice. From then on that row holds it, and of the others those that copy it.

*Wherever somebody wrote it.* Of a value in doubt S[row] has x says for each thread: the row holds x, or nobody wrote x
there. That needs no condition, so it outlives the predicate under which x was written. It is found where a guard or a
branch splits the threads: on the side where what is known of predicates says that nobody wrote x, x is free, as if it
never had been written (`State.refine`), and when the sides meet, a row keeps x that holds it on the other. That is
sound: in all threads of a side the predicates known there hold, and the rule says nothing of other threads; that x was
written is another fact (DEFINED), which the meet takes away. It is found, too, where ways meet, and when a predicate is
written or passes out of sight: where a row holds x under conditions, and nobody wrote x under others, and one of these
always holds. So a store under x's own guard puts x into its place for good. One under another guard does not: x was
written in some threads where the place has other contents.
"""

from __future__ import annotations

from collections.abc import Container

from binalloc.isa.interface.places import LOCAL_BASE, PRED_BASE
from binalloc.verify.reading.names import DEFINED, UNWRITTEN, is_token
from binalloc.verify.values.conditions import NO_FACTS, NONE, Cond, everywhere, ways_of
from binalloc.verify.values.lattice import State


def settle(state: State, x: int, key: int) -> None:
    """Predicate x, not written on every way and held by the row if it is not free, is what the row holds: no other
    row's content. What is known under a condition on it stays so."""
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
    """Whether the row may stand for x: in every thread it holds it, or nobody wrote it."""
    if x in state.free or x in state.row(key) or x in state.row(UNWRITTEN):
        return True
    unwritten = ways_of(state.C.get(UNWRITTEN, NO_FACTS), x)
    held = ways_of(state.C.get(key, NO_FACTS), x)
    return bool(unwritten) and bool(held) and everywhere(unwritten + held, state.K)


def without_others(state: State, predicates: Container[int]) -> State:
    """What is known where no other predicates are in sight."""
    if UNWRITTEN not in state.C:
        return state
    lost = frozenset([p for facts in state.C.values() for cs in facts for p, _ in cs if p not in predicates])
    if lost:
        state = state.copy()
        state.drop_conds(lost)
    return state


def predicates(state: State, key: int) -> list[int]:
    """The original predicates that a row is known to hold."""
    place = state.names.place
    return [x for x in sorted(state.row(key)) if not is_token(x) and PRED_BASE <= place(x) < LOCAL_BASE]


def undecided(state: State, place: int) -> list[int]:
    """A free predicate that conditions speak of, so that any row may still be said to be it; of this place, if there
    is one."""
    if not state.free or not state.C:
        return []
    speaking: set[Cond] = {c for facts in state.C.values() for cs in facts for c in cs}
    found = sorted({p for p, _ in speaking} & state.free)
    return sorted(found, key=lambda x: state.names.place(x) != place)[:1]

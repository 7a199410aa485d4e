"""This module takes facts across a call: from the caller to the callee's entry, and from its returns back.

Needs the pair of functions that calls, the pair that is called, and the caller's facts at the call. There is no calling
convention to trust:

- The callee starts from the caller's facts about original places that the original callee needs (`footprint.py`), with
  slot rows counted from the slot pointer as it is at the call. Facts about predicates there, the call's guard included,
  hold in the callee: they may rule out ways through it, and calls.
- Facts under conditions on the caller's predicates cross, too, where the callee neither needs nor writes those
  predicates: inside, the condition is on the predicate's place.
- Afterwards the caller keeps facts about rows and original places that neither callee touches. These are rows that the
  rewritten callee never writes, and places that the original one never writes. For registers, predicates and spill
  words the callee's code decides that, for slot rows its analysis. Everything else must be proven by the callee's facts
  at its returns.
"""

from __future__ import annotations

from binalloc.bitset import bits
from binalloc.isa.interface.places import LOCAL_BASE, SLOT_ROW
from binalloc.verify.product import Pair
from binalloc.verify.reading.names import WHOLE, Names, const_of, is_copy, shift_slots, slot_of
from binalloc.verify.values.conditions import NONE, Facts, Set
from binalloc.verify.values.lattice import State
from binalloc.verify.values.unwritten import without_others


class CallBoundary:
    """A call boundary is one call, which facts cross in both directions."""

    def __init__(self, names: Names, caller: Pair, callee: Pair, m: int, at: int | None, state: State) -> None:
        self.names, self.caller, self.callee = names, caller, callee
        self.m = m  #: the call's position in the original caller
        self.at = at  #: bytes of the slot pointer at the call, None where they are not known
        self.shift = 0 if at is None else at // SLOT_ROW  #: rows between the slot pointers of caller and callee
        self.beyond = self._beyond(state)  #: see `_beyond`

    def _beyond(self, state: State) -> dict[int, int]:
        """Return {place: predicate} for predicates of the caller in conditions, which the callee leaves alone without
        knowing them. In the callee the place is their name; of several in one place, one that is still read counts."""
        inside, writes = self.callee.old.webs.entry, self.callee.footprint.summary.writes
        live = self.caller.old.live(self.m + 1)
        found = {self.names.place(p): p for facts in state.C.values() for cs in facts for p, _ in cs if live(p)}
        return {place: p for place, p in found.items() if place not in inside and not writes >> place & 1}

    def _crosses(self, key: int) -> bool:
        """Return whether the row means the same on either side of a call. Slots do where the pointer is known. Tokens
        computed from one side's values, and rows of one side's copies, do not."""
        if is_copy(key):
            return False
        return (self.at is not None or slot_of(key) is None) and const_of(key) not in self.names.leaves

    def entry(self, state: State, pointer: int) -> State:
        """Return the caller's facts as the callee sees them, about the values that it needs. pointer: row of the slot
        pointer."""
        names, at = self.names, self.at
        inside = self.callee.old.webs.entry
        into = {x: inside[place] for place, x in self.caller.old.webs.before[self.m].items() if place in inside}
        into |= {w: w for w in _words(self.callee.footprint.summary.needed)}
        under = into | {p: place for place, p in self.beyond.items()}
        state = without_others(state, under)
        entry = State(names, _mapped(state.free, into))
        entry.doubt = _mapped(state.doubt, into)
        lasting = names.lasting(frozenset(state.of.values()))
        entry.of = {into[x]: t for x, t in state.of.items() if x in into and t in lasting}
        entry.K = frozenset((into[p], v) for p, v in state.K if p in into)
        for key, values in state.S.items():
            known = _mapped(values, into)
            if known and self._crosses(key):
                # The constants stay with the row where the values that are known to be them die.
                entry.S[shift_slots(key, -self.shift)] = known | values.intersection(map(entry.of.get, known))
        for key, conds in state.C.items():
            found = _mapped_facts(conds, into, under)
            if found and self._crosses(key):
                entry.C[shift_slots(key, -self.shift)] = found
        if at is not None:
            entry.S[pointer] = entry.S.get(pointer, NONE) | {names.token(("ptr", 0))}
        entry.find_bits()
        return entry

    def back(self) -> tuple[dict[int, int], dict[int, int]]:
        """Return names of the caller behind a call, by the callee's names at its returns: for places that the callee
        leaves alone, and for places that it may write."""
        callee, m = self.callee, self.m
        summary, inside, here = callee.footprint.summary, callee.old.webs, self.caller.old.webs
        kept = {
            inside.entry[place]: x
            for place, x in here.before[m].items()
            if place in inside.entry and not summary.writes >> place & 1
        }
        changed = {inside.exit[place]: x for place, x in here.after[m].items() if place in inside.exit}
        kept |= {w: w for w in _words(summary.needed & ~summary.writes)}
        changed |= {w: w for w in _words(summary.writes)}
        return kept, changed

    def returned(self, after: State, leaving: State, kept: dict[int, int], changed: dict[int, int]) -> None:
        """Add the callee's facts at its returns, in the caller's terms. kept, changed: as `back` returns them."""
        names, at = self.names, self.at
        known = kept | changed
        under = known | self.beyond
        leaving = without_others(leaving, under)
        after.free |= _mapped(leaving.free, known)
        after.doubt |= _mapped(leaving.doubt, changed)
        for key, values in leaving.S.items():
            if not self._crosses(key):
                continue
            row = shift_slots(key, self.shift)
            found = _mapped(values, known) | names.lasting(values)
            moved = names.pointer_bytes(values)
            if moved is not None and at is not None:
                found |= {names.token(("ptr", at + moved))}
            if found:
                after.S[row] = after.S.get(row, NONE) | found
        for key, conds in leaving.C.items():
            if not self._crosses(key):
                continue
            row = shift_slots(key, self.shift)
            facts = dict(after.C.get(row, {}))
            for c, xs in _mapped_facts(conds, known, under).items():
                facts[c] = facts.get(c, NONE) | xs
            if facts:
                after.C[row] = facts
        lasting = names.lasting(frozenset(leaving.of.values()))
        after.of.update({changed[x]: t for x, t in leaving.of.items() if x in changed and t in lasting})
        after.find_bits()


def surviving(state: State, killed: Set, written: set[int]) -> State:
    """Return the facts that survive a callee if it writes these original values and these rows."""
    after = state.copy()
    after.doubt -= killed
    after.kill(killed)
    after.S = {k: xs for k, xs in after.S.items() if k & WHOLE not in written}
    after.C = {k: d for k, d in after.C.items() if k & WHOLE not in written}
    after.find_bits()
    return after


def _words(places: int) -> list[int]:
    """Return the places that are words of local memory."""
    return [x + LOCAL_BASE for x in bits(places >> LOCAL_BASE)]


def _mapped(values: Set, into: dict[int, int]) -> Set:
    """Return the values in other names, without those that have none."""
    return frozenset([into[x] for x in values if x in into])


def _mapped_facts(conds: Facts, into: dict[int, int], under: dict[int, int]) -> Facts:
    """Return facts in other names: `into` has names for values, `under` for predicates in conditions."""
    found: Facts = {}
    for cs, xs in conds.items():
        values = _mapped(xs, into)
        if values and all(p in under for p, _ in cs):
            found[frozenset((under[p], v) for p, v in cs)] = values
    return found

"""This module lets values stay where a call has moved them, so that calls in sequence share moves.

Needs plans in which each call moves values down from high slots and then moves them back, and the straight-line
stretches of every procedure. Leaves, for each call, the remaining moves, and the accesses that go to another slot than
their variable's own. Within a stretch a value that was moved stays until one of these events:

- It dies. Nothing is moved back, and its last accesses go to the slot where it lies.
- A later call needs it below its start. It lies there already, or it is moved from one slot to the next.
- Its slot is needed by the variable that owns it, or by another variable at a call, or the stretch ends. It is moved
  back behind the last call that needed its own slot, as if it had not stayed.

A value may begin its life in the stretch, with a store. It may then be stored directly in the slot to which the first
call moves it. Where there is a choice of slots, each call takes those with the fewest moves left. That is an assignment
problem, which looks no further than the next such call. A live value's own slot stays free for it, so that it can
always go back. Hence no call has more moves than before, and no further slot is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from binalloc.bitset import bits
from binalloc.models.allocation.stack.matching import cheapest_matching
from binalloc.models.allocation.stack.procedures import Event, Procedure
from binalloc.models.allocation.stack.slot_plan import ProcedurePlan, SlotMove


def share_moves(procedures: Mapping[str, Procedure], plans: Mapping[str, ProcedurePlan]) -> None:
    """Leave out moves in all procedures.

    `need` of the plans has to be known: a callee without slots disturbs nobody.
    """
    busy = {name for name, plan in plans.items() if plan.need}
    for plan in plans.values():
        for stretch in procedures[plan.name].stretches:
            if any(e.variable < 0 and plan.sites[e.number].moves for e in stretch):
                _Stretch(plan, stretch, busy).run()


@dataclass
class _Stay:
    """A stay is a time during which a variable is in another slot than its own."""

    variable: int  #: the variable
    slot: int  #: slot in which it lies
    since: int  #: event at which the stay begins
    call: int  #: last event that needed it there
    accesses: list[int] = field(default_factory=list)  #: its accesses since then, by number


class _Stretch:
    """`_Stretch` goes through one stretch from its first event to its last, and plans the moves of its calls anew.

    stays: stays that have begun and not ended. past: slots of finished stays, with the first and
    last event. fresh: variables that began their life here and were not moved yet, with the first event and the
    accesses from then on.
    """

    def __init__(self, plan: ProcedurePlan, events: Sequence[Event], busy: set[str]) -> None:
        self.plan, self.busy = plan, busy
        self.events = [e for e in events if self._matters(e)]
        self.wanted = [self._wanted(e) for e in self.events]
        self.stays: dict[int, _Stay] = {}
        self.past: list[tuple[int, int, int]] = []
        self.fresh: dict[int, tuple[int, list[int]]] = {}

    def _matters(self, event: Event) -> bool:
        """Return whether an event concerns slots."""
        if event.variable >= 0:
            return event.variable in self.plan.slot_of
        return self.plan.sites[event.number].callee in self.busy

    def _wanted(self, event: Event) -> set[int]:
        """Return the variables whose own slots a call needs for others."""
        return set() if event.variable >= 0 else {m.variable for m in self.plan.sites[event.number].moves}

    def run(self) -> None:
        for k, event in enumerate(self.events):
            if event.variable >= 0:
                self._access(k, event)
            else:
                self._call(k, event)
            for stay in [s for s in self.stays.values() if not event.live >> s.variable & 1]:
                self._settle(self.stays.pop(stay.variable), k)
        for stay in list(self.stays.values()):
            self._go_back(stay)

    def _access(self, k: int, event: Event) -> None:
        """Record an access; a stay in the slot of its variable ends."""
        v = event.variable
        for stay in [s for s in self.stays.values() if s.slot == self.plan.slot_of[v] and s.variable != v]:
            self._go_back(stay)
        if v in self.stays:
            assert not event.fresh, "a variable in another slot lives"
            self.stays[v].accesses.append(event.number)
        elif event.fresh:
            self.fresh[v] = k, [event.number]
        elif v in self.fresh:
            self.fresh[v][1].append(event.number)

    def _call(self, k: int, event: Event) -> None:
        """Replan the moves of a call, which is event k."""
        site, wanted = self.plan.sites[event.number], self.wanted[k]
        # during a stay a variable lies in a lower slot than its own
        assert all(s.slot < site.shift or s.variable in wanted for s in self.stays.values()), "a callee starts below"
        moving = sorted(v for v in wanted if v not in self.stays or self.stays[v].slot >= site.shift)
        free = self._free(event, site.shift, wanted, len(moving))
        moves = []
        for v, slot in zip(moving, self._chosen(k, moving, free), strict=True):
            source, since = self.plan.slot_of[v], k
            if v in self.stays:
                source = self.stays[v].slot
                self._settle(self.stays.pop(v), k - 1)
            elif self._may_begin_in(slot, v, k):
                since, accesses = self.fresh[v]
                self.plan.moved.update(dict.fromkeys(accesses, slot))
                source = slot
            if source != slot:
                moves.append(SlotMove(v, source, slot))
            self.stays[v] = _Stay(v, slot, since, k)
        for v in sorted(wanted):
            self._settle(self.stays[v], k)
            self.stays[v].call = k
            self.fresh.pop(v, None)
        self.plan.sites[event.number] = replace(site, moves=tuple(moves), back=())

    def _free(self, event: Event, start: int, wanted: set[int], least: int) -> list[int]:
        """Return at least `least` free slots below a call's start. No variable is in such a slot, and none needs it to
        go back to.

        If there are too few, variables whose own slots this call does not need go back.
        """
        own = {self.plan.slot_of[v] for v in bits(event.live) if v in self.plan.slot_of}
        while True:
            free = [slot for slot in range(start) if slot not in own | {s.slot for s in self.stays.values()}]
            if len(free) >= least:
                return free
            self._go_back(next(s for s in self.stays.values() if s.variable not in wanted))

    def _chosen(self, k: int, moving: Sequence[int], free: Sequence[int]) -> list[int]:
        """Return the slot of each variable that the call at event k moves."""
        cost = [[float((not self._may_begin_in(t, v, k)) + self._leaving(t, v, k)) for t in free] for v in moving]
        return [free[column] for column in cheapest_matching(cost)]

    def _may_begin_in(self, slot: int, variable: int, k: int) -> bool:
        """Return whether a variable could have been in that slot all its life.

        The variable is moved first at event k, and the slot is free now.
        """
        if variable not in self.fresh:
            return False
        first = self.fresh[variable][0]
        if any(slot == other and start < k and end > first for other, start, end in self.past):
            return False
        return not any(self._disturbs(e, slot, variable) for e in self.events[first:k])

    def _leaving(self, slot: int, variable: int, k: int) -> int:
        """Return the number of later moves if a variable is brought to that slot at event k.

        It looks as far as the next call that needs the variable's own slot, and ignores moves of other variables.
        """
        for e, wanted in zip(self.events[k + 1 :], self.wanted[k + 1 :], strict=True):
            if self._disturbs(e, slot, variable):
                return 1
            if variable in wanted or not e.live >> variable & 1:
                return 0
        return 1

    def _disturbs(self, event: Event, slot: int, variable: int) -> bool:
        """Return whether an event keeps a variable from lying in a slot that is not its own.

        (The owner of the slot is accessed before it dies, if it lives.)
        """
        if event.variable < 0:
            return self.plan.sites[event.number].shift <= slot
        return event.variable != variable and self.plan.slot_of[event.variable] == slot

    def _settle(self, stay: _Stay, end: int) -> None:
        """Direct the accesses of a stay to its slot; the stay has lasted until event `end`."""
        self.plan.moved.update(dict.fromkeys(stay.accesses, stay.slot))
        stay.accesses = []
        self.past.append((stay.slot, stay.since, end))

    def _go_back(self, stay: _Stay) -> None:
        """Move a variable back to its own slot, behind the last call that needed it elsewhere."""
        del self.stays[stay.variable]
        self.past.append((stay.slot, stay.since, stay.call))
        number = self.events[stay.call].number
        site = self.plan.sites[number]
        home = SlotMove(stay.variable, stay.slot, self.plan.slot_of[stay.variable])
        self.plan.sites[number] = replace(site, back=(*site.back, home))

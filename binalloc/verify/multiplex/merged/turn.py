"""This module follows one virtual block of a merged block from turn to turn.

Needs the places of its course; leaves those at which it has the turn, and what is wrong. A virtual block takes the turn
at one hand-over and gives it away at another. At the kernel's start the last one of all *owes* it to the first one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto

from binalloc.verify.multiplex.merged.places import Place
from binalloc.verify.multiplex.merged.roles import Role


class _State(Enum):
    OWES = auto()
    WITHOUT = auto()
    WITH = auto()


_BEHIND = {Role.TAKE: _State.WITH, Role.GIVE: _State.WITHOUT}
_FAULTS = {
    (Role.TAKE, _State.WITH): "waits for the turn in its turn",
    (Role.TAKE, _State.OWES): "waits for the turn before it has given the first one away",
    (Role.GIVE, _State.WITHOUT): "gives the turn away without having it",
    (Role.WHOLE, _State.WITH): "waits for other virtual blocks in its turn",
    (Role.WHOLE, _State.OWES): "waits for other virtual blocks before it has given the first turn away",
}


@dataclass
class Turn:
    """The turn of a virtual block."""

    held: set[Place] = field(default_factory=set)  #: places in its turn
    first: set[Place] = field(default_factory=set)  #: hand-overs of the very first turn
    faults: list[tuple[str, Place]] = field(default_factory=list)


def follow(entry: Place, owes: bool, ends: Callable[[Place], bool]) -> Turn:
    """Return the turn of a virtual block. owes: it gives the first turn away. ends: whether threads may end at a place.
    """
    turn, states = Turn(), {entry: _State.OWES if owes else _State.WITHOUT}
    work = [entry]
    while work:
        place = work.pop()
        state = states[place]
        fault = _FAULTS.get((place.role, state)) if place.role is not None and place is not entry else None
        if ends(place) and state != _State.WITHOUT:
            fault = "threads may end before they give the turn away"
        if fault is not None:
            turn.faults.append((fault, place))
        if state == _State.WITH:
            turn.held.add(place)
        if state == _State.OWES and place.role == Role.GIVE:
            turn.first.add(place)
        behind = state if place.role is None else _BEHIND.get(place.role, state)
        for to in place.out:
            if to not in states:
                states[to] = behind
                work.append(to)
            elif states[to] != behind:
                turn.faults.append(("may have the turn or not", to))
    return turn

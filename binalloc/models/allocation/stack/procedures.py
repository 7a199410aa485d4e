"""This module describes the memory variables of a call graph: for each procedure what is live at each point, and its
calls.

Needs nothing. Leaves data types, the order of the call graph and Max-live (unified paper, section 3.2.2) over it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from binalloc.errors import Refused

Variable = tuple[str, int]
"""(procedure, number of the variable in it)."""


@dataclass(frozen=True, slots=True)
class ProcedureCall:
    """A procedure call has the caller's memory variables that are live through it."""

    callee: str  #: name of the callee
    live_across: int  #: bitset of the caller's memory variables live through the call (not what it defines)
    movable: bool = True  #: a scratch register is free at the call, so that variables can be moved
    weight: float = 1.0  #: estimated execution frequency within one run of the caller


@dataclass(frozen=True, slots=True)
class Event:
    """An event is an access to a memory variable, or a call, at a point of straight-line code."""

    variable: int  #: variable that is accessed, -1 for a call
    number: int  #: which access of the procedure it is, or which call
    live: int  #: bitset of the variables live behind it
    fresh: bool = False  #: it stores a variable that is not live in front of it


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure has the memory variables 0..variables-1, each one 32-bit word."""

    name: str  #: name of the procedure
    variables: int  #: number of memory variables
    live_exit: Sequence[int]  #: for each instruction the bitset of variables live at its exit
    adjacency: Sequence[int]  #: for each variable the bitset of variables that it interferes with
    calls: Sequence[ProcedureCall] = ()  #: its call sites
    #: for each variable its loop-weighted accesses in one run of the procedure (empty: all 1)
    cost: Sequence[float] = ()
    frequency: float = 1.0  #: estimated runs of the procedure per run of the kernel, a factor on cost
    #: straight-line code with calls, as events; a call outside of all of them shares no moves
    stretches: Sequence[Sequence[Event]] = ()

    def live_sets(self) -> dict[int, int]:
        """Return the different sets of `live_exit`, each with its number of instructions, in order of first
        occurrence."""
        found: dict[int, int] = {}
        times, last = 0, None
        for live in (*self.live_exit, None):  # runs of one object are counted before any set is hashed
            if live is last:
                times += 1
                continue
            if last is not None:
                found[last] = found.get(last, 0) + times
            times, last = 1, live
        return found

    def cost_of(self, variable: int) -> float:
        """Return the loop-weighted accesses of `variable` per run of the kernel."""
        return self.frequency * (self.cost[variable] if self.cost else 1.0)


def call_order(procedures: Mapping[str, Procedure], kernel: str) -> list[str]:
    """Return the procedures reachable from `kernel`, callers before callees. Raises Refused on recursion or a missing
    callee."""
    state: dict[str, int] = {}
    order: list[str] = []
    stack: list[tuple[str, int]] = [(kernel, 0)]
    while stack:
        name, position = stack.pop()
        if name not in procedures:
            raise Refused("the call graph names an unknown procedure", place=name)
        callees = sorted({site.callee for site in procedures[name].calls})
        state[name] = 1
        if position == len(callees):
            state[name] = 2
            order.append(name)
            continue
        stack.append((name, position + 1))
        callee = callees[position]
        if state.get(callee) == 1:
            raise Refused(
                "recursion: slots are placed at offsets known beforehand", place=f"{name} calls {callee}",
                remedy="rewrite only kernels with an acyclic call graph",
            )
        if callee not in state:
            stack.append((callee, 0))
    return order[::-1]


def all_variables(procedures: Mapping[str, Procedure]) -> dict[str, int]:
    """Return every variable, as a bitset per procedure."""
    return {name: (1 << p.variables) - 1 for name, p in procedures.items()}


def max_lives(
    procedures: Mapping[str, Procedure], kernel: str, kept: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Return Max-live of every procedure reachable from `kernel`, counting only the variables in `kept` (default: all).

    At a call, Max-live is the variables live across it + Max-live of the callee.
    """
    kept = all_variables(procedures) if kept is None else kept
    result: dict[str, int] = {}
    for name in reversed(call_order(procedures, kernel)):
        procedure, mask = procedures[name], kept[name]
        own = max((live & mask).bit_count() for live in (*procedure.live_sets(), 0))
        through = [(site.live_across & mask).bit_count() + result[site.callee] for site in procedure.calls]
        result[name] = max([own, *through])
    return result


def max_live(procedures: Mapping[str, Procedure], kernel: str, kept: Mapping[str, int] | None = None) -> int:
    """Return Max-live of the kernel (unified paper, section 3.2.2): most variables live at once, callees included."""
    return max_lives(procedures, kernel, kept)[kernel]

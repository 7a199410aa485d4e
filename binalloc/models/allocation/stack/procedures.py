"""What is known of the memory values of a call graph: per procedure what is live where, and its calls.

Needs nothing; leaves data types, the order of the call graph and Max-live (unified paper, section 3.2.2) over it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from binalloc.errors import Refused

Variable = tuple[str, int]
"""(procedure, number)."""


@dataclass(frozen=True, slots=True)
class ProcedureCall:
    """A call. live_across: bitset of the caller's memory variables live through it (not what it defines).

    movable: a scratch register is free there, so that variables can be moved. weight: execution frequency estimate
    within one run of the caller.
    """

    callee: str
    live_across: int
    movable: bool = True
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Event:
    """What happens to memory variables at a point of straight-line code: an access of `variable`, or, where that is -1,
    a call; the `number`-th access or call of the procedure. live: variables live behind it, as a bitset. fresh: a store
    of a variable that is not live in front of it."""

    variable: int
    number: int
    live: int
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Procedure:
    """Memory variables 0..variables-1 of one procedure, each one 32-bit word.

    live_exit: per instruction the bitset of variables live at its exit. adjacency: per variable the bitset it
    interferes with. cost: per variable its loop-weighted accesses in one run of the procedure (empty: all 1).
    frequency: runs of the procedure per run of the kernel (an estimate), a factor on cost. stretches: straight-line
    code with calls, by its events; calls in none have nothing in common.
    """

    name: str
    variables: int
    live_exit: Sequence[int]
    adjacency: Sequence[int]
    calls: Sequence[ProcedureCall] = ()
    cost: Sequence[float] = ()
    frequency: float = 1.0
    stretches: Sequence[Sequence[Event]] = ()

    def live_sets(self) -> dict[int, int]:
        """The different sets of `live_exit`, each with how many instructions have it, in order of the first."""
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
        """Loop-weighted accesses of `variable` per run of the kernel."""
        return self.frequency * (self.cost[variable] if self.cost else 1.0)


def call_order(procedures: Mapping[str, Procedure], kernel: str) -> list[str]:
    """Procedures reachable from `kernel`, callers before callees. Raises Refused on recursion or a missing callee."""
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
    """Every variable, as a bitset per procedure."""
    return {name: (1 << p.variables) - 1 for name, p in procedures.items()}


def max_lives(
    procedures: Mapping[str, Procedure], kernel: str, kept: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Max-live of every procedure reachable from `kernel`, counting only the variables in `kept` (default: all).

    At a call: the variables live across it + Max-live of the callee.
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
    """Max-live of the kernel (unified paper, section 3.2.2): most variables live at once, callees included."""
    return max_lives(procedures, kernel, kept)[kernel]

"""This module passes arguments in memory: the caller stores them where the callee has them.

It needs an analysed program; to see whether this pays it also needs an attempt whose functions are all allocated.
Arguments in registers take all of these at once, at the call and behind it; arguments in memory are loaded one at a
time. If a budget does not hold all arguments, those beyond a number are stored. If a callee begins with a store of an
argument, its callers may as well store it. This frees registers for values live across the call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf

from binalloc.analysis.locations import Location
from binalloc.analysis.program import ProgramAnalysis
from binalloc.transform.allocate.attempt import (
    Attempt,
    Spill,
    allocate,
    by_regions,
    colour_functions,
    in_registers,
)
from binalloc.transform.allocate.functions.registers import Infeasible, RegisterAllocation, TooDear
from binalloc.transform.allocate.known import ResultStore
from binalloc.transform.order.clock import LatencyClock
from binalloc.transform.spill.prices import LOCAL_COST
from binalloc.transform.virtual.code import ENTRY, STORE
from binalloc.transform.virtual.virtualise import may_be_stored, never_written

NUMBERS = (16, 12, 8, 5, 4, 3, 2, 1, 0)
"""Numbers of a function's arguments passed in registers, tried in order if all do not fit. Steps are smaller where
registers are scarcer; more of them cost an allocation each. Chosen by hand."""


def allocate_passing(
    program: ProgramAnalysis,
    registers: int,
    slots: int,
    spill: Spill = by_regions,
    *,
    fits: Spill = in_registers,
    clock: LatencyClock | None = None,
    known: ResultStore | None = None,
    for_pointer: bool = False,
    far: float = LOCAL_COST,
) -> Attempt:
    """Allocate as `allocate` does, with as many arguments in registers as fit. for_pointer: if there are slots but no
    register is left for their pointer unless arguments are passed in memory, take the cheaper of both, as if all had
    slots. Raises Infeasible."""
    known = known or ResultStore()
    found: Attempt | None = None
    for stored in ({}, *beyond_numbers(program)):
        try:
            other = allocate(
                program, registers, slots, spill, fits=fits, clock=clock, known=known, stored=stored, far=far
            )
        except Infeasible as error:
            refusal = error.with_traceback(None)  # the traceback would keep this frame alive, and all that was tried
            continue
        if found is None or (other.pointer >= 0 and other.cost < found.cost):
            found = other
        if not (for_pointer and slots and other.spilled) or other.pointer >= 0:
            return found
    if found is None:
        raise refusal
    return found


def beyond_numbers(program: ProgramAnalysis) -> Iterator[dict[str, frozenset[Location]]]:
    """Yield, by function, the arguments passed in memory: those beyond a number, for smaller and smaller numbers."""
    last: dict[str, frozenset[Location]] = {}
    for number in NUMBERS:
        found = {}
        for name in program.graph.bottom_up:
            first = [loc for loc, _ in program[name].webs.args][:number]
            rest = frozenset(may_be_stored(program, name)).difference(first)
            if rest:
                found[name] = rest
        if found != last:
            last = found
            yield found


def with_arguments_in_memory(attempt: Attempt, spill: Spill, below: float = inf) -> Attempt:
    """Return the attempt, or one that costs less, and less than `below`. In that one, callees do not store arguments
    themselves where their callers store them."""
    best, cost = attempt, min(below, attempt.cost)
    for name in attempt.program.graph.bottom_up:
        stored = _stored_here(best, name)
        if not stored:
            continue
        trial = replace(best.with_stored(name, stored), below=cost)
        try:
            colour_functions(trial, spill)
        except (Infeasible, TooDear):
            continue
        if trial.cost < cost:
            best, cost = replace(trial, below=attempt.below), trial.cost
    return best


def _stored_here(attempt: Attempt, name: str) -> frozenset[Location]:
    """Return the arguments that the function puts into memory itself although its callers could."""
    allocation = attempt.allocations[name]
    if not allocation.memory:
        return frozenset()
    often = _stores(allocation)
    return frozenset(
        loc for loc, v in _arguments(allocation).items() if often.get(v, 0.0) >= 1.0
    ).intersection(never_written(attempt.program, name))


def _stores(allocation: RegisterAllocation) -> Mapping[int, float]:
    """Return, by memory value, how often it is stored in one run."""
    often: dict[int, float] = {}
    for item in allocation.code.items():
        if item.kind == STORE:
            often[item.memory] = often.get(item.memory, 0.0) + item.weight
    return often


def _arguments(allocation: RegisterAllocation) -> dict[Location, int]:
    """Return the values of arguments before any spilling."""
    first = next(item for item in allocation.given.flat.items if item.kind == ENTRY)
    return {operand.location: operand.values[0] for operand in first.defs if operand.location >= 0}

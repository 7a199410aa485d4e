"""Arguments that travel in memory: the caller stores them where the callee has them.

Needs an analysed program; for what pays also an attempt whose functions are all allocated. Arguments in registers take
all of those at once, at the call and behind it; in memory one at a time. So where a budget does not hold them, those
beyond a number are stored; and where a callee begins with a store of what it has just been given, its callers may as
well make that, which leaves registers to what lives across the call.
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
from binalloc.transform.allocate.known import Known
from binalloc.transform.order.clock import Clock
from binalloc.transform.spill.prices import LOCAL_COST
from binalloc.transform.virtual.code import ENTRY, STORE
from binalloc.transform.virtual.virtualise import may_be_stored, never_written

NUMBERS = (16, 12, 8, 5, 4, 3, 2, 1, 0)
"""How many arguments of a function travel in registers, where no more can: tried in order."""


def allocate_passing(
    program: ProgramAnalysis,
    registers: int,
    slots: int,
    spill: Spill = by_regions,
    *,
    fits: Spill = in_registers,
    clock: Clock | None = None,
    known: Known | None = None,
    for_pointer: bool = False,
    far: float = LOCAL_COST,
) -> Attempt:
    """As `allocate`, with as many arguments in registers as those hold. for_pointer: where there are slots and no
    register is left for their pointer unless arguments travel in memory, the cheaper of both, were there slots for all.
    Raises Infeasible."""
    known = known or Known()
    found: Attempt | None = None
    for stored in ({}, *beyond_numbers(program)):
        try:
            other = allocate(
                program, registers, slots, spill, fits=fits, clock=clock, known=known, stored=stored, far=far
            )
        except Infeasible as error:
            refusal = error.with_traceback(None)  # which would hold this frame, and all that was tried
            continue
        if found is None or (other.pointer >= 0 and other.cost < found.cost):
            found = other
        if not (for_pointer and slots and other.spilled) or other.pointer >= 0:
            return found
    if found is None:
        raise refusal
    return found


def beyond_numbers(program: ProgramAnalysis) -> Iterator[dict[str, frozenset[Location]]]:
    """By function, the arguments that travel in memory: those beyond a number, fewer and fewer."""
    told: dict[str, frozenset[Location]] = {}
    for number in NUMBERS:
        found = {}
        for name in program.graph.bottom_up:
            first = [loc for loc, _ in program[name].webs.args][:number]
            rest = frozenset(may_be_stored(program, name)).difference(first)
            if rest:
                found[name] = rest
        if found != told:
            told = found
            yield found


def with_arguments_in_memory(attempt: Attempt, spill: Spill, below: float = inf) -> Attempt:
    """The attempt, or one that costs less, and less than `below`, in which callees no longer store arguments that their
    callers have stored for them."""
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
    """Arguments that the function, which nobody but its callers can do that for, puts into memory itself."""
    allocation = attempt.allocations[name]
    if not allocation.memory:
        return frozenset()
    often = _stores(allocation)
    return frozenset(
        loc for loc, v in _arguments(allocation).items() if often.get(v, 0.0) >= 1.0
    ).intersection(never_written(attempt.program, name))


def _stores(allocation: RegisterAllocation) -> Mapping[int, float]:
    """By memory value, how often it is stored in one run."""
    often: dict[int, float] = {}
    for item in allocation.code.items():
        if item.kind == STORE:
            often[item.memory] = often.get(item.memory, 0.0) + item.weight
    return often


def _arguments(allocation: RegisterAllocation) -> dict[Location, int]:
    """The values that arguments are, before any spilling."""
    first = next(item for item in allocation.given.flat.items if item.kind == ENTRY)
    return {operand.location: operand.values[0] for operand in first.defs if operand.location >= 0}

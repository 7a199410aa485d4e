"""Registers for callees: fewer than there are, where what lives across their calls gains more than they lose.

A callee allocated by itself takes all the registers it can use, and what lives across its calls has to leave those.
Needs an attempt whose functions are all allocated. Leaves it, or a cheaper one in which some callees had to do with
fewer registers: callees are tried one after the other, a few numbers each, the cost being that of the whole call graph,
each function's by how often it runs.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

from binalloc.analysis.program import ProgramAnalysis
from binalloc.transform.allocate.attempt import Attempt, Spill, by_regions, colour_functions
from binalloc.transform.allocate.functions.registers import Infeasible, TooDear
from binalloc.transform.allocate.known import Known
from binalloc.transform.allocate.passing import allocate_passing, with_arguments_in_memory
from binalloc.transform.order.clock import Clock
from binalloc.transform.spill.prices import LOCAL_COST

FEWER = (1, 2, 3, 4, 8, 12, 16)
MOST_ITEMS = 20_000
"""Items that trials allocate anew, all together."""
COPY = 0.01
"""What a copy between registers counts, in accesses to a slot, where attempts are compared: registers that are all
taken cost exchanges around calls, which may cost more than a value in memory does."""


def allocate_with_budgets(
    program: ProgramAnalysis,
    registers: int,
    slots: int,
    clock: Clock | None,
    spill: Spill = by_regions,
    below: float = inf,
    known: Known | None = None,
    *,
    for_pointer: bool = False,
    far: float = LOCAL_COST,
) -> Attempt:
    """As `allocate_passing`, with budgets for callees; arguments travel in memory where that is cheaper, too. Where
    values leave the registers of a kernel with calls, also without hiding latencies: callees that do so take registers
    which their callers lack. below: what costs as much is not wanted, but where there is nothing else."""
    known = known or Known()

    def budgeted(clock: Clock | None, below: float) -> Attempt:
        first = allocate_passing(
            program, registers, slots, spill, clock=clock, known=known, for_pointer=for_pointer, far=far
        )
        found = with_budgets(first, spill, below)
        passing = with_arguments_in_memory(found, spill, below)
        return found if passing is found else with_budgets(passing, spill, below)

    found = budgeted(clock, below)
    if clock is None or not found.spilled or len(program.functions) == 1:
        return found
    calm = budgeted(None, min(below, found.cost))
    return calm if calm.cost < found.cost else found


def with_budgets(attempt: Attempt, spill: Spill = by_regions, below: float = inf) -> Attempt:
    """The attempt, or one that costs less. spill: how functions were allocated, where not all fitted. below: what costs
    as much is not wanted."""
    best, cost = attempt, min(below, attempt.cost)
    left = MOST_ITEMS
    for name in attempt.program.graph.bottom_up:
        if not _is_in_the_way(best, name):
            continue
        best = _modest(best, name, spill, cost)
        start, cost = best, min(cost, best.cost)
        used = (start.contracts[name].registers & start.available).bit_count()
        for fewer in FEWER:
            trial = replace(start.with_limit(name, used - fewer), below=cost)
            anew = start.allocations.keys() - trial.allocations.keys()
            left -= sum(len(start.allocations[n].given.flat.items) for n in anew)
            if fewer >= used or left < 0:
                break
            try:
                colour_functions(trial, spill)
            except TooDear:
                if name not in trial.allocations:  # the callee alone is, and with fewer it gets dearer
                    break
                continue
            except Infeasible:
                break
            if trial.cost < cost and _is_better(trial, best):
                best, cost = replace(trial, below=start.below), trial.cost
    return best


def _is_in_the_way(attempt: Attempt, name: str) -> bool:
    """Does a caller spill, or a caller of one?"""
    return any(attempt.costs(caller) for caller in attempt.above(name))


def _modest(attempt: Attempt, name: str, spill: Spill, below: float) -> Attempt:
    """The attempt, or one that costs less than `below`, in which the callee, where it spills, leaves its callers'
    arguments in their places."""
    if not attempt.costs(name):
        return attempt
    trial = replace(attempt.with_modest(name), below=below)
    try:
        colour_functions(trial, spill)
    except (Infeasible, TooDear):
        return attempt
    return replace(trial, below=attempt.below) if trial.cost < below and _is_better(trial, attempt) else attempt


def _is_better(attempt: Attempt, other: Attempt) -> bool:
    """Whether it costs less, copies counted."""
    return attempt.cost + COPY * attempt.copies < other.cost + COPY * other.copies

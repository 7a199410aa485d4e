"""This module gives callees fewer registers than there are, if values live across their calls gain more than the
callees lose.

A callee allocated by itself takes all registers it can use, and values live across its calls have to avoid them. The
module needs an attempt with all functions allocated. It leaves that attempt, or a cheaper one in which some callees
have fewer registers. Callees are tried one after the other, with a few numbers each. The cost is summed over the whole
call graph, each function's by how often it runs.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

from binalloc.analysis.program import ProgramAnalysis
from binalloc.transform.allocate.attempt import Attempt, Spill, by_regions, colour_functions
from binalloc.transform.allocate.functions.registers import Infeasible, TooDear
from binalloc.transform.allocate.known import ResultStore
from binalloc.transform.allocate.passing import allocate_passing, with_arguments_in_memory
from binalloc.transform.order.clock import LatencyClock
from binalloc.transform.spill.prices import LOCAL_COST

FEWER = (1, 2, 3, 4, 8, 12, 16)
"""numbers of registers taken from a callee, in the order of trials; more trials cost time, chosen by hand"""
MOST_ITEMS = 20_000
"""Upper limit of items that all trials together allocate anew, so that time stays bounded for large call graphs. Chosen
by hand."""
COPY = 0.01
"""Cost of a copy between registers when attempts are compared, in accesses to a slot. It is not zero because a function
that takes all registers causes exchanges around calls, which may cost more than a value in memory."""


def allocate_with_budgets(
    program: ProgramAnalysis,
    registers: int,
    slots: int,
    clock: LatencyClock | None,
    spill: Spill = by_regions,
    below: float = inf,
    known: ResultStore | None = None,
    *,
    for_pointer: bool = False,
    far: float = LOCAL_COST,
) -> Attempt:
    """Allocate as `allocate_passing` does, with budgets for callees; arguments are passed in memory where that is
    cheaper, too. If a kernel with calls spills, another attempt does not hide latencies. (Hiding them in callees takes
    registers which their callers lack.) below: upper bound of the cost (exclusive); if nothing costs less, it does not
    apply."""
    known = known or ResultStore()

    def budgeted(clock: LatencyClock | None, below: float) -> Attempt:
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
    """Return the attempt, or one that costs less. spill: how functions were allocated if not all fitted. below: upper
    bound of the cost (exclusive)."""
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
                if name not in trial.allocations:  # the callee alone is too dear, and fewer registers make it dearer
                    break
                continue
            except Infeasible:
                break
            if trial.cost < cost and _is_better(trial, best):
                best, cost = replace(trial, below=start.below), trial.cost
    return best


def _is_in_the_way(attempt: Attempt, name: str) -> bool:
    """Say whether a direct or indirect caller spills."""
    return any(attempt.costs(caller) for caller in attempt.above(name))


def _modest(attempt: Attempt, name: str, spill: Spill, below: float) -> Attempt:
    """Return the attempt, or one that costs less than `below`. In it the callee, if it spills, leaves its callers'
    arguments in place."""
    if not attempt.costs(name):
        return attempt
    trial = replace(attempt.with_modest(name), below=below)
    try:
        colour_functions(trial, spill)
    except (Infeasible, TooDear):
        return attempt
    return replace(trial, below=attempt.below) if trial.cost < below and _is_better(trial, attempt) else attempt


def _is_better(attempt: Attempt, other: Attempt) -> bool:
    """Say whether an attempt costs less than the other, copies counted."""
    return attempt.cost + COPY * attempt.copies < other.cost + COPY * other.copies

"""Registers for callees: fewer than there are, where what lives across their calls gains more than they lose.

A callee allocated by itself takes all the registers it can use, and what lives across its calls has to leave those.
Needs an attempt whose functions are all allocated. Leaves it, or a cheaper one in which some callees had to do with
fewer registers: callees are tried one after the other, a few numbers each, the cost being that of the whole call graph,
each function's by how often it runs.
"""

from __future__ import annotations

from binalloc.transform.allocate.attempt import Attempt, Spill, by_regions, colour_functions
from binalloc.transform.allocate.cost import emitted_cost
from binalloc.transform.allocate.frequencies import frequencies
from binalloc.transform.allocate.registers import Infeasible

FEWER = (1, 2, 3, 4, 8, 12, 16)
MOST_ITEMS = 20_000
"""Items that trials allocate anew, all together."""


def whole_cost(attempt: Attempt) -> float:
    """Estimated cost of all spill code in one run of the kernel, in accesses to a slot."""
    often = frequencies(attempt.program)
    costs = {n: emitted_cost(a.code, attempt.prices) for n, a in attempt.allocations.items()}
    return sum(often[name] * cost for name, cost in costs.items())


def with_budgets(attempt: Attempt, spill: Spill = by_regions) -> Attempt:
    """The attempt, or one that costs less. spill: how functions were allocated, where not all fitted."""
    best, cost = attempt, whole_cost(attempt)
    left = MOST_ITEMS
    for name in attempt.program.graph.bottom_up:
        if not _is_in_the_way(best, name):
            continue
        start = best
        used = (start.contracts[name].clobbers & start.available).bit_count()
        for fewer in FEWER:
            trial = start.with_limit(name, used - fewer)
            anew = start.allocations.keys() - trial.allocations.keys()
            left -= sum(len(start.allocations[n].given.flat.items) for n in anew)
            if fewer >= used or left < 0:
                break
            try:
                colour_functions(trial, spill)
            except Infeasible:
                break
            found = whole_cost(trial)
            if found < cost:
                best, cost = trial, found
    return best


def _is_in_the_way(attempt: Attempt, name: str) -> bool:
    """Does a caller spill?"""
    callers = {site.caller for site in attempt.program.graph.sites_of(name)}
    return any(attempt.allocations[caller].memory for caller in callers)

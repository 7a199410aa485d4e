"""This module bounds the cost of spill code in a whole call graph from below, and finds how many registers each callee
should use.

It needs an attempt whose functions are all allocated. It leaves the result of the exact model of all functions at once
(`models.allocation.joint`), for the orders of their code. The model takes no contract as given: callers have all
registers that a callee does not overwrite, whichever these are. An argument that lives on may stay where the callee
takes it.
"""

from __future__ import annotations

import numpy as np

from binalloc.models.allocation.joint import JointCall, JointFunction, JointSolution, solve_jointly
from binalloc.transform.allocate.attempt import Attempt
from binalloc.transform.spill.comeback import Comebacks
from binalloc.transform.spill.expressions import Expressions
from binalloc.transform.spill.find_regions import FoundRegions, find_regions
from binalloc.transform.spill.list_spills import list_spills
from binalloc.transform.virtual.analysed import Analysed
from binalloc.transform.virtual.code import ANYWHERE, ENTRY
from binalloc.transform.virtual.room import CallRoom, call_sites, room

MOST_ITEMS = 4_000  # Upper limit of items of all functions together: the solver does not close larger models.


def solve_graph(attempt: Attempt, limit: float) -> JointSolution | None:
    """Return the solution of the model of all functions, None for graphs that are too large. limit: deterministic
    solver time."""
    names = attempt.program.graph.bottom_up
    if sum(len(attempt.allocations[name].given.flat.items) for name in names) > MOST_ITEMS:
        return None
    runs = attempt.program.runs
    functions = [_function(attempt, name, runs[name]) for name in names]
    return solve_jointly(functions, attempt.available.bit_count(), limit=limit)


def _function(attempt: Attempt, name: str, runs: float) -> JointFunction:
    """Return one function for the exact model."""
    given = attempt.allocations[name].given
    flat, live = given.flat, given.live
    sites = call_sites(flat, live, attempt.contracts)
    passed = [_at_best(given, site) for site in sites]
    values = len(given.code.names)
    found = find_regions(flat, live, sites, [True] * values)
    for site in sites:
        _go_through(found, site)
    expressions = given.once("expressions", lambda: Expressions(given.code, flat, live))
    comebacks = Comebacks(given.copied(), flat, live, attempt.prices, expressions=expressions)
    near, slots = attempt.prices.usual, attempt.slots
    there = room(flat, live, sites, attempt.available)
    far = attempt.far if slots else near
    spills = list_spills(flat, found, comebacks, there.holes, near=near, far=far, slots=slots)
    arguments = frozenset(v for k, item in enumerate(flat.items) if item.kind == ENTRY for v in flat.defs[k])
    own = np.zeros_like(there.pressure)
    own[: flat.points] = live.pressure(flat.points)
    for v in arguments:
        for start, end in live.intervals[v]:
            own[start:end] -= 1
    calls = [
        JointCall(flat.items[site.item].callee, site.point, frozenset(site.survivors), values)
        for site, values in zip(sites, passed, strict=True)
    ]
    return JointFunction(name, spills, runs, there.pressure, own, arguments, calls)


def _at_best(given: Analysed, site: CallRoom) -> frozenset[int]:
    """Change the call to one whose callee leaves all its arguments where they are; return the values of these
    arguments."""
    operands = [o.values[0] for o in given.flat.items[site.item].uses]
    passed = frozenset(operands)
    site.kept = dict.fromkeys(sorted(passed.intersection(site.survivors)), ANYWHERE)
    site.extra = len(operands) - len(passed)
    return passed


def _go_through(found: FoundRegions, site: CallRoom) -> None:
    """Let the regions of arguments that live on include the inside of the call, too."""
    for v in site.kept:
        region = next(r for start, end, r in found.spans[v] if start <= 2 * site.item + 1 < end)
        found.points[region].append((site.point, site.point + 1))

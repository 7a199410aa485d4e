"""This module finds the chromatic number of a graph, with a colouring and a proof.

Needs interference bitsets. Leaves a colouring with the fewest colours, and the reason why fewer are not enough: a
clique of as many vertices, or CP-SAT's answer that one colour less is infeasible.

Upper bounds come from DSATUR (Brelaz, "New methods to color the vertices of a graph", 1979) and from maximum
cardinality search, which is optimal on chordal graphs. Cliques grow greedily from every vertex. Only where the bounds
differ is the solver asked, with the clique's colours fixed, for one colour less each time. Deterministic: one worker, a
fixed seed, a limit in deterministic time.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from binalloc.bitset import bits, lowest
from binalloc.models.allocation.stack.slot_colouring import search_order


class ColourProof(StrEnum):
    """A proof says why a colouring has the fewest colours."""

    CLIQUE = "clique"  #: a clique has as many vertices
    SOLVER = "solver"  #: the solver found one colour less infeasible
    NONE = "none"  #: the limit was hit before either was known


@dataclass(frozen=True)
class ExactColouring:
    """An exact colouring comes with a clique as a lower bound, and with the proof that fewer colours are not enough."""

    colours: list[int]  #: colour of each vertex, from 0
    clique: list[int]  #: vertices that are all adjacent to one another, ascending
    proof: ColourProof  #: proof that fewer colours are not enough; NONE where the limit was hit before

    @property
    def count(self) -> int:
        """Return the number of colours."""
        return _count(self.colours)

    @property
    def bound(self) -> int:
        """Return the proven lower bound on the number of colours."""
        return len(self.clique) if self.proof == ColourProof.NONE else self.count


def colour_exactly(adjacency: Sequence[int], *, limit: float = 60.0, seed: int = 1) -> ExactColouring:
    """Colour a graph with the fewest colours.

    adjacency: for each vertex the bitset of its neighbours, symmetric and without itself (ValueError otherwise). limit:
    of the solver, in units of deterministic time (about seconds), all calls together.
    """
    _require_graph(adjacency)
    everything = (1 << len(adjacency)) - 1
    colours = min(dsatur(adjacency), _greedy(adjacency, search_order(adjacency, everything)), key=_count)
    clique = largest_greedy_clique(adjacency)
    left = limit
    while _count(colours) > len(clique):
        fewer, spent = _with(adjacency, clique, _count(colours) - 1, left, seed)
        left -= spent
        if fewer is None:
            return ExactColouring(colours, clique, ColourProof.SOLVER)
        if not fewer:
            return ExactColouring(colours, clique, ColourProof.NONE)
        colours = fewer
    return ExactColouring(colours, clique, ColourProof.CLIQUE)


def _require_graph(adjacency: Sequence[int]) -> None:
    for v, mask in enumerate(adjacency):
        for n in bits(mask):
            if n == v or n >= len(adjacency) or not adjacency[n] >> v & 1:
                raise ValueError(f"not the neighbours of a graph's vertices: {v} has {n}")


def _count(colours: Sequence[int]) -> int:
    return max(colours, default=-1) + 1


def dsatur(adjacency: Sequence[int]) -> list[int]:
    """Colour each vertex by DSATUR.

    The next vertex is the one with most colours around it, then with most neighbours, then the lower.
    """
    around = [0] * len(adjacency)
    colours = [-1] * len(adjacency)
    queue = [(0, -mask.bit_count(), v) for v, mask in enumerate(adjacency)]
    heapq.heapify(queue)
    while queue:
        saturation, _, v = heapq.heappop(queue)
        if colours[v] >= 0 or -saturation != around[v].bit_count():
            continue
        colours[v] = lowest(~around[v])
        for n in bits(adjacency[v]):
            if colours[n] < 0 and not around[n] >> colours[v] & 1:
                around[n] |= 1 << colours[v]
                heapq.heappush(queue, (-around[n].bit_count(), -adjacency[n].bit_count(), n))
    return colours


def _greedy(adjacency: Sequence[int], order: Sequence[int]) -> list[int]:
    """Give each vertex the lowest free colour, in that order."""
    colours = [-1] * len(adjacency)
    for v in order:
        around = 0
        for n in bits(adjacency[v]):
            if colours[n] >= 0:
                around |= 1 << colours[n]
        colours[v] = lowest(~around)
    return colours


def largest_greedy_clique(adjacency: Sequence[int]) -> list[int]:
    """Grow a clique from each vertex, and return the largest.

    A clique grows by the candidate that has most other candidates as neighbours.
    """
    best: list[int] = []
    for v in sorted(range(len(adjacency)), key=lambda v: (-adjacency[v].bit_count(), v)):
        if adjacency[v].bit_count() < len(best):
            break  # the vertices that follow have no more neighbours
        clique, candidates = [v], adjacency[v]
        while candidates and len(clique) + candidates.bit_count() > len(best):
            n = max(bits(candidates), key=lambda n: ((adjacency[n] & candidates).bit_count(), -n))
            clique.append(n)
            candidates &= adjacency[n]
        if not candidates and len(clique) > len(best):
            best = clique
    return sorted(best)


def _with(
    adjacency: Sequence[int], clique: Sequence[int], count: int, limit: float, seed: int
) -> tuple[list[int] | None, float]:
    """Seek a colouring with `count` colours.

    Return it, None if there is none or [] if the limit was hit; and the deterministic time spent. Vertices with fewer
    neighbours than colours always find one: they are left out until the rest is coloured.
    """
    from ortools.sat.python import cp_model

    core, later = _core(adjacency, count)
    if limit <= 0:
        return [], 0.0
    model = cp_model.CpModel()
    has: dict[int, list[Any]] = {v: [model.new_bool_var("") for _ in range(count)] for v in bits(core)}
    for variables in has.values():
        model.add_exactly_one(variables)
    for colour, v in enumerate(v for v in clique if core >> v & 1):
        model.add(has[v][colour] == 1)
    for v in has:
        for n in bits(adjacency[v] & core & ~((2 << v) - 1)):
            for a, b in zip(has[v], has[n], strict=True):
                model.add_bool_or([a.negated(), b.negated()])
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    solver.parameters.max_deterministic_time = limit
    status = solver.solve(model)
    spent = float(solver.deterministic_time)
    if status == cp_model.INFEASIBLE:
        return None, spent
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return [], spent
    colours = [-1] * len(adjacency)
    for v, variables in has.items():
        colours[v] = next(c for c, variable in enumerate(variables) if solver.boolean_value(variable))
    for v in reversed(later):
        taken = 0
        for n in bits(adjacency[v]):
            if colours[n] >= 0:
                taken |= 1 << colours[n]
        colours[v] = lowest(~taken)
    return colours, spent


def _core(adjacency: Sequence[int], count: int) -> tuple[int, list[int]]:
    """Remove vertices with fewer than `count` neighbours, again and again.

    Return the bitset of vertices that are left, and the removed ones in order.
    """
    left = (1 << len(adjacency)) - 1
    gone: list[int] = []
    degree = [mask.bit_count() for mask in adjacency]
    low = [v for v, d in enumerate(degree) if d < count]
    while low:
        v = low.pop()
        if not left >> v & 1:
            continue
        left &= ~(1 << v)
        gone.append(v)
        for n in bits(adjacency[v] & left):
            degree[n] -= 1
            if degree[n] == count - 1:
                low.append(n)
    return left, gone

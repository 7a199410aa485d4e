"""Graph colouring of registers with aligned groups, precoloured nodes and copy affinities.

Chaitin's simplification made optimistic as Briggs proposed (reference [5] of the unified paper and its successors),
widened in the manner usual for register pairs: a node is a *group* of 32-bit values that must lie at fixed offsets of
one aligned base register. Needs: a `Problem` over dense value numbers. Leaves: a colour for every value, or the groups
for which none was left, in the order they failed. Deterministic; O(nodes * degree).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

MUST_STAY = float("inf")


@dataclass(frozen=True, slots=True)
class Group:
    """Values that share one base register. members: (value, offset) pairs; `units` registers, base aligned to `align`.

    cost: loop-weighted cost of keeping the group in memory; MUST_STAY for short-lived reload temporaries.
    """

    members: tuple[tuple[int, int], ...]
    units: int = 1
    align: int = 1
    cost: float = MUST_STAY


@dataclass
class Problem:
    """A colouring problem over values 0..len(adjacency)-1.

    adjacency: per value a bitset of the values it interferes with. available: bitset of usable registers.
    forbidden: per value a bitset of registers it may not take. fixed: value -> register, for precoloured single values.
    affinity: per value {other value: weight}, copies that vanish if both get one register.
    """

    adjacency: list[int]
    groups: list[Group]
    available: int
    forbidden: list[int]
    fixed: dict[int, int] = field(default_factory=dict)
    affinity: dict[int, dict[int, float]] = field(default_factory=dict)


@dataclass
class Colouring:
    """colour: register per value (-1 = none). failed: indexes of groups without a place, first failure first.

    neighbours: per group the groups it interferes with (what a driver needs to choose a spill).
    """

    colour: list[int]
    failed: list[int]
    neighbours: list[set[int]]


def bits(mask: int) -> list[int]:
    """Positions of the one bits of `mask`, ascending."""
    out = []
    while mask:
        low = mask & -mask
        out.append(low.bit_length() - 1)
        mask ^= low
    return out


def base_positions(available: int, units: int, align: int) -> int:
    """Bitset of the aligned bases from which `units` consecutive registers are available."""
    usable = available
    for k in range(1, units):
        usable &= available >> k
    aligned = 0
    for base in range(0, available.bit_length(), align):
        aligned |= 1 << base
    return usable & aligned


def colour(problem: Problem) -> Colouring:
    """Colour `problem`; see the module docstring."""
    graph = _GroupGraph(problem)
    order = _simplify(problem, graph)
    return _select(problem, graph, order)


class _GroupGraph:
    """Interference between groups, with the number of base positions each one takes from another ("squeeze")."""

    def __init__(self, problem: Problem) -> None:
        groups = problem.groups
        self.group_of = [0] * len(problem.adjacency)
        for g, group in enumerate(groups):
            for value, _ in group.members:
                self.group_of[value] = g
        self.fixed = {self.group_of[v] for v in problem.fixed}
        self.neighbours: list[set[int]] = []
        for g, group in enumerate(groups):
            union = 0
            for value, _ in group.members:
                union |= problem.adjacency[value]
            found = {self.group_of[n] for n in bits(union)}
            found.discard(g)
            self.neighbours.append(found)
        self.positions = {
            (group.units, group.align): base_positions(problem.available, group.units, group.align) for group in groups
        }

    def taken(self, by: Group, of: Group) -> int:
        """Most base positions of `of` that a placed `by` can block."""
        return max(1, by.units // of.align)


def _simplify(problem: Problem, graph: _GroupGraph) -> list[int]:
    """Removal order: safely colourable groups first, then the cheapest per neighbour (colouring goes in reverse)."""
    groups = problem.groups
    capacity = [graph.positions[(g.units, g.align)].bit_count() for g in groups]
    squeeze = [sum(graph.taken(groups[n], groups[g]) for n in graph.neighbours[g]) for g in range(len(groups))]
    remaining = set(range(len(groups))) - graph.fixed
    low = [(groups[g].units, g) for g in sorted(remaining) if squeeze[g] < capacity[g]]
    heapq.heapify(low)
    order: list[int] = []
    while remaining:
        pick = -1
        while low and pick < 0:
            _, g = heapq.heappop(low)
            pick = g if g in remaining else -1
        if pick < 0:
            pick = min(remaining, key=lambda g: (groups[g].cost / (1 + squeeze[g]), -squeeze[g], g))
        remaining.discard(pick)
        order.append(pick)
        for n in graph.neighbours[pick]:
            if n in remaining:
                before = squeeze[n]
                squeeze[n] = before - graph.taken(groups[pick], groups[n])
                if before >= capacity[n] > squeeze[n]:
                    heapq.heappush(low, (groups[n].units, n))
    return order


def _select(problem: Problem, graph: _GroupGraph, order: list[int]) -> Colouring:
    groups = problem.groups
    colours = [-1] * len(problem.adjacency)
    for value, register in problem.fixed.items():
        colours[value] = register
    failed: list[int] = []
    for g in reversed(order):
        group = groups[g]
        free = graph.positions[(group.units, group.align)]
        for value, offset in group.members:
            blocked = problem.forbidden[value]
            for n in bits(problem.adjacency[value]):
                if colours[n] >= 0:
                    blocked |= 1 << colours[n]
            free &= ~(blocked >> offset)
        if not free:
            failed.append(g)
            continue
        base = _choose(problem, group, free, colours)
        for value, offset in group.members:
            colours[value] = base + offset
    return Colouring(colours, failed, graph.neighbours)


def _choose(problem: Problem, group: Group, free: int, colours: list[int]) -> int:
    """The base that saves most copies; among equals the lowest, which keeps callees' clobber sets small."""
    wish: dict[int, float] = {}
    for value, offset in group.members:
        for other, weight in problem.affinity.get(value, {}).items():
            if colours[other] >= offset and free >> (colours[other] - offset) & 1:
                base = colours[other] - offset
                wish[base] = wish.get(base, 0.0) + weight
    if wish:
        return min(wish, key=lambda base: (-wish[base], base))
    return (free & -free).bit_length() - 1

"""Graph colouring of registers with aligned groups, precoloured nodes and copy affinities.

Chaitin's simplification made optimistic as Briggs proposed (reference [5] of the unified paper and its successors),
widened in the manner usual for register pairs: a node is a *group* of 32-bit values that must lie at fixed offsets of
one aligned base register. Where that leaves groups without a place, maximum cardinality search is tried, and a group
may push neighbours elsewhere. Needs: a `Problem` over dense value numbers. Leaves: a colour for every value, or the
groups for which none was left, in the order they failed. Deterministic; O(nodes * degree).
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
    affinity: per value {other value: weight}, copies that vanish if both get one register. hint: value -> register
    of a known assignment, kept where it is possible and complete.
    """

    adjacency: list[int]
    groups: list[Group]
    available: int
    forbidden: list[int]
    fixed: dict[int, int] = field(default_factory=dict)
    affinity: dict[int, dict[int, float]] = field(default_factory=dict)
    hint: dict[int, int] = field(default_factory=dict)


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
    """Colour `problem`; see the module docstring. Of the orders tried the one with the cheapest failures counts."""
    graph = _GroupGraph(problem)
    best: tuple[tuple[int, float], _Assignment] | None = None
    for order in (_as_before, _simplify, _cardinality, _wide_first):
        assignment = _Assignment(problem, graph, problem.hint if order is _as_before else {})
        for g in order(problem, graph):
            assignment.place(g)
        lost = [problem.groups[g].cost for g in assignment.failed]
        key = (sum(c == MUST_STAY for c in lost), sum(c for c in lost if c != MUST_STAY))
        if best is None or key < best[0]:
            best = (key, assignment)
        if not lost:
            break
    assert best is not None
    return Colouring(best[1].colour, best[1].failed, graph.neighbours)


class _GroupGraph:
    """Interference between groups, with the number of base positions each one takes from another ("squeeze")."""

    def __init__(self, problem: Problem) -> None:
        groups = problem.groups
        self.group_of = [0] * len(problem.adjacency)
        for g, group in enumerate(groups):
            for value, _ in group.members:
                self.group_of[value] = g
        self.fixed = {self.group_of[v] for v in problem.fixed}
        self.adjacent = [bits(mask) for mask in problem.adjacency]
        self.neighbours: list[set[int]] = []
        for g, group in enumerate(groups):
            found = {self.group_of[n] for value, _ in group.members for n in self.adjacent[value]}
            if g in found and _clash(problem, group):
                raise ValueError(f"values of group {g} that share a register are live at once")
            found.discard(g)
            self.neighbours.append(found)
        for value, register in problem.fixed.items():
            for n in self.adjacent[value]:
                if problem.fixed.get(n) == register:
                    raise ValueError(f"precoloured values {value} and {n} meet in register {register}")
        self.positions = {
            (group.units, group.align): base_positions(problem.available, group.units, group.align) for group in groups
        }

    def taken(self, by: Group, of: Group) -> int:
        """Most base positions of `of` that a placed `by` can block."""
        return by.units // of.align or 1


def _clash(problem: Problem, group: Group) -> bool:
    """Whether two members at one offset interfere."""
    at: dict[int, int] = {}
    for value, offset in group.members:
        if problem.adjacency[value] & at.get(offset, 0):
            return True
        at[offset] = at.get(offset, 0) | 1 << value
    return False


def _as_before(problem: Problem, graph: _GroupGraph) -> list[int]:
    """Groups with a hint first; where they can all be followed nothing moves."""
    todo = set(range(len(problem.groups))) - graph.fixed
    return sorted(todo, key=lambda g: (problem.groups[g].members[0][0] not in problem.hint, g))


def _simplify(problem: Problem, graph: _GroupGraph) -> list[int]:
    """Chaitin-Briggs: safely colourable groups are taken out first, then the cheapest per neighbour; coloured last."""
    groups = problem.groups
    capacity = [graph.positions[(g.units, g.align)].bit_count() for g in groups]
    squeeze = [sum([graph.taken(groups[n], groups[g]) for n in graph.neighbours[g]]) for g in range(len(groups))]
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
    order.reverse()
    return order


def _cardinality(problem: Problem, graph: _GroupGraph) -> list[int]:
    """Maximum cardinality search: next is the group with most coloured neighbours, wider ones first among equals.

    Greedy colouring in this order is optimal on chordal graphs, which straight-line code has.
    """
    groups = problem.groups
    weight = [0] * len(groups)
    for f in sorted(graph.fixed):
        for n in graph.neighbours[f]:
            weight[n] += 1
    todo = set(range(len(groups))) - graph.fixed
    heap = [(-weight[g], -groups[g].units, g) for g in sorted(todo)]
    heapq.heapify(heap)
    order: list[int] = []
    while heap:
        w, _, g = heapq.heappop(heap)
        if g not in todo or -w != weight[g]:
            continue
        todo.discard(g)
        order.append(g)
        for n in graph.neighbours[g]:
            if n in todo:
                weight[n] += groups[g].units
                heapq.heappush(heap, (-weight[n], -groups[n].units, n))
    return order


def _wide_first(problem: Problem, graph: _GroupGraph) -> list[int]:
    """As `_cardinality`, but quads before pairs before single registers, against fragmentation."""
    return sorted(_cardinality(problem, graph), key=lambda g: -problem.groups[g].units)


class _Assignment:
    """Registers handed out so far. A group without a free place may push up to two neighbours elsewhere."""

    MOST_EVICTED = 2

    def __init__(self, problem: Problem, graph: _GroupGraph, hint: dict[int, int]) -> None:
        self.problem = problem
        self.graph = graph
        self.hint = hint
        self.colour = [-1] * len(problem.adjacency)
        for value, register in problem.fixed.items():
            self.colour[value] = register
        self.failed: list[int] = []

    def place(self, g: int) -> None:
        free = self._free(g)
        if free:
            self._set(g, self._choose(g, free))
        elif not self._evict(g):
            self.failed.append(g)

    def _set(self, g: int, base: int) -> None:
        for value, offset in self.problem.groups[g].members:
            self.colour[value] = base + offset if base >= 0 else -1

    def _free(self, g: int) -> int:
        """Bitset of the bases at which `g` meets no neighbour."""
        group, colour = self.problem.groups[g], self.colour
        free = self.graph.positions[(group.units, group.align)]
        for value, offset in group.members:
            free &= ~(self._blocked(value, colour) >> offset)
        return free

    def _blocked(self, value: int, colour: list[int]) -> int:
        blocked = self.problem.forbidden[value]
        for n in self.graph.adjacent[value]:
            if colour[n] >= 0:
                blocked |= 1 << colour[n]
        return blocked

    def _choose(self, g: int, free: int) -> int:
        """The base that saves most copies; else the one whose pair and quad are fullest already, so that wide groups
        find room; among equals the lowest, which keeps clobber sets small."""
        group = self.problem.groups[g]
        value, offset = group.members[0]
        before = self.hint.get(value, -1) - offset
        if before >= 0 and free >> before & 1:
            return before
        wish: dict[int, float] = {}
        for value, offset in group.members:
            for other, weight in self.problem.affinity.get(value, {}).items():
                if self.colour[other] >= offset and free >> (self.colour[other] - offset) & 1:
                    base = self.colour[other] - offset
                    wish[base] = wish.get(base, 0.0) + weight
        if wish:
            return min(wish, key=lambda base: (-wish[base], base))
        if group.units > 1:
            return (free & -free).bit_length() - 1
        blocked = self._blocked(value, self.colour) >> offset
        partners = (blocked & _ODD) >> 1 | (blocked & _EVEN) << 1
        for wanted in (free & partners, free):
            if wanted:
                return (wanted & -wanted).bit_length() - 1
        raise AssertionError("no free base")

    def _evict(self, g: int) -> bool:
        """Place `g` where at most two neighbours stand in the way and can go elsewhere."""
        group = self.problem.groups[g]
        for base in bits(self.graph.positions[(group.units, group.align)]):
            blockers = self._blockers(group, base)
            if blockers is None or len(blockers) > self.MOST_EVICTED:
                continue
            if self._move(g, base, blockers):
                return True
        return False

    def _blockers(self, group: Group, base: int) -> list[int] | None:
        """Groups that must leave before `group` can stand at `base`; None where something immovable does."""
        found: set[int] = set()
        for value, offset in group.members:
            register = base + offset
            if self.problem.forbidden[value] >> register & 1:
                return None
            for n in self.graph.adjacent[value]:
                if self.colour[n] == register:
                    blocker = self.graph.group_of[n]
                    if blocker in self.graph.fixed:
                        return None
                    found.add(blocker)
                    if len(found) > self.MOST_EVICTED:
                        return None
        return sorted(found)

    def _move(self, g: int, base: int, blockers: list[int]) -> bool:
        before = [(b, self._base(b)) for b in blockers]
        for b in blockers:
            self._set(b, -1)
        self._set(g, base)
        for b in blockers:
            free = self._free(b)
            if not free:
                self._set(g, -1)
                for other, old in before:
                    self._set(other, old)
                return False
            self._set(b, self._choose(b, free))
        return True

    def _base(self, g: int) -> int:
        value, offset = self.problem.groups[g].members[0]
        return self.colour[value] - offset


_EVEN = sum(1 << k for k in range(0, 256, 2))
_ODD = _EVEN << 1

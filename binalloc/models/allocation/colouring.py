"""Graph colouring of registers with aligned groups, precoloured nodes and copy affinities.

Chaitin's simplification made optimistic as Briggs proposed (reference [5] of the unified paper and its successors),
widened in the manner usual for register pairs: a node is a *group* of 32-bit values that must lie at fixed offsets of
one aligned base register. Where that leaves groups without a place, maximum cardinality search is tried, and a group
may push neighbours elsewhere. Needs: a `ColouringProblem` over dense value numbers. Leaves: a colour for every value,
or the groups for which none was left, in the order they failed. Deterministic; O(nodes * degree).
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from binalloc.bitset import bits, lowest
from binalloc.isa.interface.places import PRED_BASE
from binalloc.models.allocation.terms import Register, Value

MUST_STAY = float("inf")
_NO_REGISTER = Register(-1)


Lost = tuple[int, float]
"""What failures cost: groups that must stay, and the cost of all others."""


@dataclass(frozen=True, slots=True)
class Group:
    """Values that share one base register. members: (value, offset) pairs; `units` registers, base aligned to `align`.

    cost: loop-weighted cost of keeping the group in memory; MUST_STAY for short-lived reload temporaries.
    """

    members: tuple[tuple[Value, int], ...]
    units: int = 1
    align: int = 1
    cost: float = MUST_STAY


@dataclass
class ColouringProblem:
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
    fixed: dict[Value, Register] = field(default_factory=dict)
    affinity: dict[int, dict[int, float]] = field(default_factory=dict)
    hint: dict[Value, Register] = field(default_factory=dict)


@dataclass
class Colouring:
    """colour: register per value (-1 = none). failed: indexes of groups without a place, first failure first.

    neighbours: per group the groups it interferes with (what a driver needs to choose a spill).
    """

    colour: list[Register]
    failed: list[int]
    neighbours: list[set[int]]


def base_positions(available: int, units: int, align: int) -> int:
    """Bitset of the aligned bases from which `units` consecutive registers are available."""
    usable = available
    for k in range(1, units):
        usable &= available >> k
    aligned = 0
    for base in range(0, available.bit_length(), align):
        aligned |= 1 << base
    return usable & aligned


def colour(problem: ColouringProblem, *, whole: bool = False, most: float = MUST_STAY) -> Colouring:
    """Colour `problem`; see the module docstring. Of the orders tried the one with the cheapest failures counts; an
    order is given up once it is no better than one before.

    whole: only a colouring without failures is of use. most: only one whose failures cost so much or less.
    """
    graph = _GroupGraph(problem)
    useless: Lost = (len(problem.groups) + 1, 0.0)
    if whole or most < MUST_STAY:
        useless = 0, 0.0 if whole else math.nextafter(most, MUST_STAY)
    best: _Assignment | None = None
    for order in (_as_before, _simplify, _cardinality, _wide_first):
        assignment = _Assignment(problem, graph, problem.hint if order is _as_before else {})
        limit = useless if best is None else min(useless, best.lost)
        for g in order(problem, graph):
            if not assignment.place(g) and assignment.lost >= limit:
                break
        if best is None or assignment.lost < best.lost:
            best = assignment
        if not assignment.failed:
            break
    assert best is not None
    return Colouring([Register(r) for r in best.colour.tolist()], best.failed, graph.neighbours)


class _GroupGraph:
    """Interference between groups, with the number of base positions each one takes from another ("squeeze").

    adjacent: per value the values it interferes with, as an index array.
    """

    def __init__(self, problem: ColouringProblem) -> None:
        groups = problem.groups
        group_of = np.zeros(len(problem.adjacency), np.int64)
        for g, group in enumerate(groups):
            for value, _ in group.members:
                group_of[value] = g
        self.group_of = group_of
        self.fixed = {int(group_of[v]) for v in problem.fixed}
        self.adjacent = [positions(mask) for mask in problem.adjacency]
        self.neighbours: list[set[int]] = []
        for g, group in enumerate(groups):
            found: set[int] = set()
            for value, _ in group.members:
                found.update(group_of[self.adjacent[value]].tolist())
            if g in found and _clash(problem, group):
                raise ValueError(f"values of group {g} that share a register are live at once")
            found.discard(g)
            self.neighbours.append(found)
        for value, register in problem.fixed.items():
            for n in self.adjacent[value].tolist():
                if problem.fixed.get(n) == register:
                    raise ValueError(f"precoloured values {value} and {n} meet in register {register}")
        self.positions = {
            (group.units, group.align): base_positions(problem.available, group.units, group.align) for group in groups
        }
        self._by_cardinality: list[int] = []

    def taken(self, by: Group, of: Group) -> int:
        """Most base positions of `of` that a placed `by` can block."""
        return by.units // of.align or 1

    def by_cardinality(self, problem: ColouringProblem) -> list[int]:
        """Maximum cardinality search, made once: next is the group with most neighbours before it, wider ones first."""
        if not self._by_cardinality:
            self._by_cardinality = self._search(problem.groups)
        return self._by_cardinality

    def _search(self, groups: list[Group]) -> list[int]:
        weight = [0] * len(groups)
        for f in sorted(self.fixed):
            for n in self.neighbours[f]:
                weight[n] += 1
        left = set(range(len(groups))) - self.fixed
        heap = [(-weight[g], -groups[g].units, g) for g in sorted(left)]
        heapq.heapify(heap)
        order: list[int] = []
        while heap:
            w, _, g = heapq.heappop(heap)
            if g not in left or -w != weight[g]:
                continue
            left.discard(g)
            order.append(g)
            units = groups[g].units
            for n in self.neighbours[g] & left:
                weight[n] += units
                heapq.heappush(heap, (-weight[n], -groups[n].units, n))
        return order


def positions(mask: int) -> NDArray[np.int64]:
    """Positions of the one bits of `mask`, ascending, as an index array."""
    raw = np.frombuffer(mask.to_bytes((mask.bit_length() + 7) // 8, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(raw, bitorder="little"))


def _clash(problem: ColouringProblem, group: Group) -> bool:
    """Whether two members at one offset interfere."""
    at: dict[int, int] = {}
    for value, offset in group.members:
        if problem.adjacency[value] & at.get(offset, 0):
            return True
        at[offset] = at.get(offset, 0) | 1 << value
    return False


def _as_before(problem: ColouringProblem, graph: _GroupGraph) -> list[int]:
    """Groups with a hint first; where they can all be followed nothing moves."""
    movable = set(range(len(problem.groups))) - graph.fixed
    return sorted(movable, key=lambda g: (problem.groups[g].members[0][0] not in problem.hint, g))


def _simplify(problem: ColouringProblem, graph: _GroupGraph) -> list[int]:
    """Chaitin-Briggs: safely colourable groups are taken out first, then the cheapest per neighbour; coloured last."""
    groups = problem.groups
    capacity = [graph.positions[(g.units, g.align)].bit_count() for g in groups]
    squeeze = [sum([graph.taken(groups[n], groups[g]) for n in graph.neighbours[g]]) for g in range(len(groups))]
    remaining = set(range(len(groups))) - graph.fixed

    def key(g: int) -> tuple[float, int, int]:
        return groups[g].cost / (1 + squeeze[g]), -squeeze[g], g

    low = [(groups[g].units, g) for g in sorted(remaining) if squeeze[g] < capacity[g]]
    high = [key(g) for g in sorted(remaining)]  # keys only grow, so a stale one is put back when it comes up
    heapq.heapify(low)
    heapq.heapify(high)
    order: list[int] = []
    while remaining:
        pick = -1
        while low and pick < 0:
            _, g = heapq.heappop(low)
            pick = g if g in remaining else -1
        while pick < 0:
            stored = heapq.heappop(high)
            g = stored[2]
            if g in remaining:
                if stored == key(g):
                    pick = g
                else:
                    heapq.heappush(high, key(g))
        remaining.discard(pick)
        order.append(pick)
        for n in graph.neighbours[pick] & remaining:
            before = squeeze[n]
            squeeze[n] = before - graph.taken(groups[pick], groups[n])
            if before >= capacity[n] > squeeze[n]:
                heapq.heappush(low, (groups[n].units, n))
    order.reverse()
    return order


def _cardinality(problem: ColouringProblem, graph: _GroupGraph) -> list[int]:
    """By maximum cardinality search: greedy colouring in this order is optimal on chordal graphs, which straight-line
    code has."""
    return graph.by_cardinality(problem)


def _wide_first(problem: ColouringProblem, graph: _GroupGraph) -> list[int]:
    """As `_cardinality`, but quads before pairs before single registers, against fragmentation."""
    return sorted(graph.by_cardinality(problem), key=lambda g: -problem.groups[g].units)


class _Assignment:
    """Registers handed out so far. A group without a free place may push up to two neighbours elsewhere.

    taken[v, r]: how many neighbours of value v hold register r.
    """

    MOST_EVICTED = 2

    def __init__(self, problem: ColouringProblem, graph: _GroupGraph, hint: dict[Value, Register]) -> None:
        self.problem = problem
        self.graph = graph
        self.hint = hint
        width = -(-max(problem.available.bit_length(), *(r + 1 for r in problem.fixed.values()), 1) // 8) * 8
        self.colour = np.full(len(problem.adjacency), -1, np.int64)
        self.taken = np.zeros((len(problem.adjacency), width), np.uint16)
        for value, register in problem.fixed.items():
            self._give(value, register)
        self.failed: list[int] = []
        self.lost: Lost = (0, 0.0)

    def _give(self, value: int, register: int) -> None:
        """Set the register of one value, -1 for none."""
        old = int(self.colour[value])
        adjacent = self.graph.adjacent[value]
        if old >= 0:
            self.taken[adjacent, old] -= 1
        if register >= 0:
            self.taken[adjacent, register] += 1
        self.colour[value] = register

    def place(self, g: int) -> bool:
        """Whether there is a place for the group."""
        free = self._free(g)
        if free:
            self._set(g, self._choose(g, free))
            return True
        if self._evict(g):
            return True
        self.failed.append(g)
        staying, others = self.lost
        cost = self.problem.groups[g].cost
        self.lost = (staying + 1, others) if cost == MUST_STAY else (staying, others + cost)
        return False

    def _set(self, g: int, base: int) -> None:
        """Put a group at `base`, where nothing is in its way, or nowhere (-1)."""
        group = self.problem.groups[g]
        assert base < 0 or self.graph.positions[(group.units, group.align)] >> base & 1, "not a place for the group"
        for value, offset in group.members:
            register = base + offset if base >= 0 else -1
            assert register < 0 or not self.problem.forbidden[value] >> register & 1, "a forbidden register"
            assert register < 0 or not self.taken[value, register], "a neighbour holds the register"
            self._give(value, register)

    def _free(self, g: int) -> int:
        """Bitset of the bases at which `g` meets no neighbour."""
        group = self.problem.groups[g]
        free = self.graph.positions[(group.units, group.align)]
        for value, offset in group.members:
            free &= ~(self._blocked(value) >> offset)
        return free

    def _blocked(self, value: int) -> int:
        """Bitset of the registers that a value may not take now."""
        held = np.packbits(self.taken[value] != 0, bitorder="little")
        return int.from_bytes(held.tobytes(), "little") | self.problem.forbidden[value]

    def _choose(self, g: int, free: int) -> int:
        """The base that saves most copies; else the one whose pair and quad are fullest already, so that wide groups
        find room; among equals the lowest, which keeps clobber sets small."""
        group = self.problem.groups[g]
        value, offset = group.members[0]
        before = self.hint.get(value, _NO_REGISTER) - offset
        if before >= 0 and free >> before & 1:
            return before
        wish: dict[int, float] = {}
        for value, offset in group.members:
            for other, weight in self.problem.affinity.get(value, {}).items():
                base = int(self.colour[other]) - offset
                if base >= 0 and free >> base & 1:
                    wish[base] = wish.get(base, 0.0) + weight
        if wish:
            return min(wish, key=lambda base: (-wish[base], base))
        if group.units > 1:
            return lowest(free)
        value, offset = group.members[0]
        blocked = self._blocked(value) >> offset
        partners = (blocked & _ODD) >> 1 | (blocked & _EVEN) << 1
        wanted = free & partners or free
        return lowest(wanted)

    def _evict(self, g: int) -> bool:
        """Place `g` where at most two neighbours stand in the way and can go elsewhere."""
        group = self.problem.groups[g]
        for base in bits(self.graph.positions[(group.units, group.align)]):
            blockers = self._blockers(group, base)
            if blockers is not None and self._move(g, base, blockers):
                return True
        return False

    def _blockers(self, group: Group, base: int) -> list[int] | None:
        """Groups that must leave before `group` can stand at `base`; None where they are too many, or one cannot."""
        found: set[int] = set()
        for value, offset in group.members:
            register = base + offset
            count = int(self.taken[value, register])
            if self.problem.forbidden[value] >> register & 1 or count > 4 * self.MOST_EVICTED:
                return None
            if count:
                adjacent = self.graph.adjacent[value]
                there = adjacent[self.colour[adjacent] == register]
                found.update(self.graph.group_of[there].tolist())
        if len(found) > self.MOST_EVICTED or found & self.graph.fixed:
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
        return int(self.colour[value]) - offset


_EVEN = sum(1 << k for k in range(0, PRED_BASE, 2))
_ODD = _EVEN << 1

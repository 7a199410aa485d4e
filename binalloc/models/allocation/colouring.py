"""This module colours graphs of registers with aligned groups, precoloured nodes and copy affinities.

It is Chaitin's simplification, made optimistic as Briggs proposed (reference [5] of the unified paper and its
successors). It is extended in the manner usual for register pairs: a node is a *group* of 32-bit values, of any width.
They must lie at fixed offsets of one aligned base register. Where that leaves groups without a register, maximum
cardinality search is tried, and a group may evict neighbours to other registers. Needs: a `ColouringProblem` over dense
value numbers. Leaves: a colour for every value, or the groups that found none, in the order of failure. Deterministic;
O(nodes * degree).
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
"""Cost of a group that must not be spilled: infinite, so that no sum of other costs reaches it."""
_NO_REGISTER = Register(-1)  # negative: no bit of a bitset of registers


Lost = tuple[int, float]
"""The cost of failures: the number of groups that must stay but failed, and the summed cost of all others."""


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Values that share one base register form a group."""

    members: tuple[tuple[Value, int], ...]  #: (value, offset from the base register) pairs
    units: int = 1  #: registers that the group covers
    align: int = 1  #: the base register is a multiple of this
    #: loop-weighted cost of keeping the group in memory; MUST_STAY for short-lived temporaries of reloads
    cost: float = MUST_STAY


@dataclass
class ColouringProblem:
    """A colouring problem asks for a register for each of the values 0..len(adjacency)-1."""

    adjacency: list[int]  #: for each value the bitset of values that it interferes with
    groups: list[NodeGroup]
    available: int  #: bitset of usable registers
    forbidden: list[int]  #: for each value the bitset of registers that it may not take
    fixed: dict[Value, Register] = field(default_factory=dict)  #: register of each precoloured single value
    #: for each value {other value: weight}; the copy between them vanishes if both get one register
    affinity: dict[int, dict[int, float]] = field(default_factory=dict)
    #: register of each value in a known assignment, kept where it is possible and complete
    hint: dict[Value, Register] = field(default_factory=dict)


@dataclass
class Colouring:
    """A colouring gives a register to each value of a problem, or names the groups that found none."""

    colour: list[Register]  #: register of each value, -1 for none
    failed: list[int]  #: indices of the groups that found no register, in the order of failure
    #: for each group the groups that it interferes with; a driver chooses a spill from these
    neighbours: list[set[int]]


def base_positions(available: int, units: int, align: int) -> int:
    """Return the bitset of aligned bases from which `units` consecutive registers are available."""
    usable = available
    for k in range(1, units):
        usable &= available >> k
    aligned = 0
    for base in range(0, available.bit_length(), align):
        aligned |= 1 << base
    return usable & aligned


def colour(problem: ColouringProblem, *, whole: bool = False, most: float = MUST_STAY) -> Colouring:
    """Colour `problem` as the module docstring describes.

    Several orders of the groups are tried, and the one with the cheapest failures is taken. An order is given up as
    soon as it is no better than an earlier one.

    whole: only a colouring without failures is useful. most: upper limit on the cost of failures of a useful colouring.
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
    """The group graph is the interference graph of the groups. It knows how many base positions each group takes from
    another ("squeeze").

    adjacent: for each value the values that it interferes with, as an index array. shape: for each group the number of
    its pair of width and alignment, where all pairs are numbered in ascending order.
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
        shapes = sorted({(group.units, group.align) for group in groups})
        number = {shape: k for k, shape in enumerate(shapes)}
        self.shape = [number[group.units, group.align] for group in groups]
        self._taken = [[most_blocked(*by, *of) for by in shapes] for of in shapes]

    def taken(self, of: int) -> list[int]:
        """Return, by shape, the largest number of base positions of group `of` that a placed group can block."""
        return self._taken[self.shape[of]]

    def by_cardinality(self, problem: ColouringProblem) -> list[int]:
        """Return the groups in the order of a maximum cardinality search, which is made once.

        The next group is the one with most registers in neighbours before it; wider groups go first among equals.
        """
        if not self._by_cardinality:
            self._by_cardinality = self._search(problem.groups)
        return self._by_cardinality

    def _search(self, groups: list[NodeGroup]) -> list[int]:
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


def most_blocked(units: int, align: int, other_units: int, other_align: int) -> int:
    """Return how many bases of a group of `other_units` registers, multiples of `other_align`, have a register in
    common with a group of `units` registers: the most over all places of the latter, multiples of `align`."""
    starts = range(0, max(align, other_align), align)  # behind the last base of the other group in front of it or there
    return max((s + units - 1) // other_align - (s - other_units) // other_align for s in starts)


def positions(mask: int) -> NDArray[np.int64]:
    """Return the positions of the one bits of `mask`, ascending, as an index array."""
    raw = np.frombuffer(mask.to_bytes((mask.bit_length() + 7) // 8, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(raw, bitorder="little"))


def _clash(problem: ColouringProblem, group: NodeGroup) -> bool:
    """Return whether two members at one offset interfere."""
    at: dict[int, int] = {}
    for value, offset in group.members:
        if problem.adjacency[value] & at.get(offset, 0):
            return True
        at[offset] = at.get(offset, 0) | 1 << value
    return False


def _as_before(problem: ColouringProblem, graph: _GroupGraph) -> list[int]:
    """Put groups with a hint first: where all hints can be followed, no register changes."""
    movable = set(range(len(problem.groups))) - graph.fixed
    return sorted(movable, key=lambda g: (problem.groups[g].members[0][0] not in problem.hint, g))


def _simplify(problem: ColouringProblem, graph: _GroupGraph) -> list[int]:
    """Order the groups by Chaitin and Briggs.

    Groups that can surely be coloured are removed from the graph first, then the cheapest per neighbour. Groups are
    coloured in the opposite order.
    """
    groups = problem.groups
    capacity = [graph.positions[(g.units, g.align)].bit_count() for g in groups]
    shape = graph.shape
    squeeze = []
    for g in range(len(groups)):
        taken = graph.taken(g)
        squeeze.append(sum([taken[shape[n]] for n in graph.neighbours[g]]))
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
            squeeze[n] = before - graph.taken(n)[shape[pick]]
            if before >= capacity[n] > squeeze[n]:
                heapq.heappush(low, (groups[n].units, n))
    order.reverse()
    return order


def _cardinality(problem: ColouringProblem, graph: _GroupGraph) -> list[int]:
    """Order the groups by maximum cardinality search.

    Greedy colouring in this order is optimal on chordal graphs. The interference graphs of straight-line code are
    chordal.
    """
    return graph.by_cardinality(problem)


def _wide_first(problem: ColouringProblem, graph: _GroupGraph) -> list[int]:
    """Order as `_cardinality`, but wider groups first, against fragmentation."""
    return sorted(graph.by_cardinality(problem), key=lambda g: -problem.groups[g].units)


class _Assignment:
    """An assignment gives registers to some of the groups. A group without a free base may evict up to MOST_EVICTED
    neighbours to other registers.

    taken[v, r]: how many neighbours of value v hold register r.
    """

    MOST_EVICTED = 2  #: chosen by hand: a larger one finds a few more bases, and each base tried costs more time

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
        """Give the group a base, and return whether there was one."""
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
        """Put a group at `base`, which must be free for it, or release its registers (-1)."""
        group = self.problem.groups[g]
        assert base < 0 or self.graph.positions[(group.units, group.align)] >> base & 1, "not a place for the group"
        for value, offset in group.members:
            register = base + offset if base >= 0 else -1
            assert register < 0 or not self.problem.forbidden[value] >> register & 1, "a forbidden register"
            assert register < 0 or not self.taken[value, register], "a neighbour holds the register"
            self._give(value, register)

    def _free(self, g: int) -> int:
        """Return the bitset of bases at which `g` conflicts with no neighbour."""
        group = self.problem.groups[g]
        free = self.graph.positions[(group.units, group.align)]
        for value, offset in group.members:
            free &= ~(self._blocked(value) >> offset)
        return free

    def _blocked(self, value: int) -> int:
        """Return the bitset of registers that a value may not take now."""
        held = np.packbits(self.taken[value] != 0, bitorder="little")
        return int.from_bytes(held.tobytes(), "little") | self.problem.forbidden[value]

    def _choose(self, g: int, free: int) -> int:
        """Choose a base for group `g` from the bitset `free`.

        The base that saves most copies is taken. Otherwise a single value takes a register whose partner in the aligned
        pair is in use, so that wide groups find room. Among equals the lowest is taken, which keeps clobber sets small.
        """
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
        """Place `g` where at most MOST_EVICTED neighbours are in the way and all of them can take other registers."""
        group = self.problem.groups[g]
        for base in bits(self.graph.positions[(group.units, group.align)]):
            blockers = self._blockers(group, base)
            if blockers is not None and self._move(g, base, blockers):
                return True
        return False

    def _blockers(self, group: NodeGroup, base: int) -> list[int] | None:
        """Return the groups that must leave before `group` can lie at `base`; None where there are too many or one is
        precoloured."""
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
                for other in (g, *blockers):  # first all, as the places of a group may overlap
                    self._set(other, -1)
                for other, old in before:
                    self._set(other, old)
                return False
            self._set(b, self._choose(b, free))
        return True

    def _base(self, g: int) -> int:
        value, offset = self.problem.groups[g].members[0]
        return int(self.colour[value]) - offset


# the lower register of each aligned pair; numbers of registers end at PRED_BASE
_EVEN = sum(1 << k for k in range(0, PRED_BASE, 2))
_ODD = _EVEN << 1

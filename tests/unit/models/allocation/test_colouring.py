"""Graph colouring of registers: every colouring is valid, small cases are exact, failures are reported."""

from __future__ import annotations

import random

import pytest

from binalloc.bitset import bits
from binalloc.models.allocation.colouring import (
    MUST_STAY,
    ColouringProblem,
    NodeGroup,
    base_positions,
    colour,
    most_blocked,
)


def problem_of(edges, groups, registers, forbidden=None, fixed=None, affinity=None):
    count = sum(len(g.members) for g in groups)
    adjacency = [0] * count
    for a, b in edges:
        adjacency[a] |= 1 << b
        adjacency[b] |= 1 << a
    available = (1 << registers) - 1
    return ColouringProblem(adjacency, groups, available, forbidden or [0] * count, fixed or {}, affinity or {})


def singles(count, cost=1.0):
    return [NodeGroup(((v, 0),), cost=cost) for v in range(count)]


def assert_valid(problem, result):
    for g, group in enumerate(problem.groups):
        if g in result.failed:
            continue
        base = result.colour[group.members[0][0]] - group.members[0][1]
        fixed = any(v in problem.fixed for v, _ in group.members)
        assert base % group.align == 0 or fixed
        for value, offset in group.members:
            register = result.colour[value]
            assert register == base + offset
            assert problem.available >> register & 1 or fixed
            assert not problem.forbidden[value] >> register & 1 or fixed
            for other in bits(problem.adjacency[value]):
                assert result.colour[other] != register


def test_a_triangle_needs_three_registers():
    edges = [(0, 1), (1, 2), (0, 2)]
    assert colour(problem_of(edges, singles(3), 3)).failed == []
    assert len(colour(problem_of(edges, singles(3), 2)).failed) == 1


def test_the_cheapest_of_a_clique_fails():
    groups = [NodeGroup(((v, 0),), cost=c) for v, c in enumerate((5.0, 1.0, 7.0))]
    result = colour(problem_of([(0, 1), (1, 2), (0, 2)], groups, 2))
    assert result.failed == [1]


def test_optimistic_colouring_finds_the_diamond():
    """Chaitin's own counterexample: a 4-cycle is 2-colourable although every node has two neighbours."""
    result = colour(problem_of([(0, 1), (1, 2), (2, 3), (3, 0)], singles(4), 2))
    assert result.failed == []


def test_pairs_and_quads_are_aligned():
    groups = [
        NodeGroup(((0, 0), (1, 1)), 2, 2),
        NodeGroup(((2, 0), (3, 1), (4, 2), (5, 3)), 4, 4),
        NodeGroup(((6, 0),)),
    ]
    edges = [(a, b) for a in range(7) for b in range(a)]
    problem = problem_of(edges, groups, 7)
    result = colour(problem)
    assert result.failed == []
    assert_valid(problem, result)


def test_members_at_one_offset_share_a_register():
    groups = [NodeGroup(((0, 0), (1, 1), (2, 1)), 2, 2)]
    result = colour(problem_of([(0, 1), (0, 2)], groups, 2))
    assert result.colour == [0, 1, 1]


def test_fixed_and_forbidden_are_obeyed():
    problem = problem_of([(0, 1)], singles(3), 3, forbidden=[0, 0b001, 0b011], fixed={0: 1})
    result = colour(problem)
    assert result.colour == [1, 2, 2]


def test_affinity_saves_the_dearer_copy():
    problem = problem_of([(0, 1)], singles(3), 4, fixed={0: 3, 1: 2}, affinity={2: {0: 1.0, 1: 5.0}})
    assert colour(problem).colour[2] == 2


@pytest.mark.parametrize(
    ("units", "align", "expected"),
    [(1, 1, 0b1111), (2, 2, 0b0101), (4, 4, 0b0001), (3, 1, 0b0011), (3, 4, 0b0001), (2, 1, 0b0111), (1, 2, 0b0101)],
)
def test_base_positions(units, align, expected):
    assert base_positions(0b1111, units, align) == expected


SHAPES = ((1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 4), (4, 4), (5, 2), (8, 8))


def drawn(rng, shapes, registers, most):
    """Groups of these shapes over a random graph; values of one group always interfere."""
    groups, count = [], 0
    for _ in range(rng.randint(2, most)):
        units, align = rng.choice(shapes)
        groups.append(NodeGroup(tuple((count + k, k) for k in range(units)), units, align, rng.choice((1.0, 9.0))))
        count += units
    owner = [g for g, group in enumerate(groups) for _ in group.members]
    density = rng.random()
    edges = [(a, b) for a in range(count) for b in range(a) if owner[a] == owner[b] or rng.random() < density]
    forbidden = [rng.getrandbits(16) & rng.getrandbits(16) & rng.getrandbits(16) for _ in range(count)]
    return problem_of(edges, groups, registers, forbidden)


def colourable(problem):
    """Whether every group can have a place, by trying all."""
    at = {}

    def place(g):
        if g == len(problem.groups):
            return True
        group = problem.groups[g]
        for base in range(0, problem.available.bit_length() - group.units + 1, group.align):
            wanted = {v: base + offset for v, offset in group.members}
            if all(
                not problem.forbidden[v] >> r & 1 and all(at.get(n) != r for n in bits(problem.adjacency[v]))
                for v, r in wanted.items()
            ):
                at.update(wanted)
                if place(g + 1):
                    return True
                for v in wanted:
                    del at[v]
        return False

    return place(0)


def test_groups_of_any_width_and_alignment_find_a_place_where_there_is_one():
    """Never a place that is none; and of what has one, hardly any group is left without."""
    rng = random.Random(19)
    both = missed = none = 0
    for _ in range(400):
        problem = drawn(rng, SHAPES, rng.randint(5, 12), 6)
        result = colour(problem)
        assert_valid(problem, result)
        possible = colourable(problem)
        assert possible or result.failed
        both += possible and not result.failed
        missed += possible and bool(result.failed)
        none += not possible
    assert both > 120
    assert none > 60
    assert missed < 0.05 * both


def test_a_neighbour_blocks_as_many_bases_as_counting_finds():
    for units, align in SHAPES:
        for others, multiple in SHAPES:
            counted = max(
                sum(base < at + units and at < base + others for base in range(0, 64, multiple))
                for at in range(16, 32, align)
            )
            assert most_blocked(units, align, others, multiple) == counted


def test_random_problems_are_coloured_validly():
    rng = random.Random(7)
    failures = 0
    for _ in range(300):
        groups, count = [], 0
        for _ in range(rng.randint(1, 30)):
            units = rng.choice((1, 1, 1, 2, 4))
            groups.append(
                NodeGroup(tuple((count + k, k) for k in range(units)), units, units, rng.choice((1.0, 9.0, MUST_STAY)))
            )
            count += units
        owner = [g for g, group in enumerate(groups) for _ in group.members]
        density = rng.random()
        edges = [(a, b) for a in range(count) for b in range(a) if owner[a] != owner[b] and rng.random() < density]
        forbidden = [rng.getrandbits(24) & rng.getrandbits(24) & rng.getrandbits(24) for _ in range(count)]
        problem = problem_of(edges, groups, rng.randint(4, 24), forbidden)
        result = colour(problem)
        assert_valid(problem, result)
        failures += bool(result.failed)
    assert 0 < failures < 300


def test_what_costs_too_much_is_given_up_and_nothing_else():
    rng = random.Random(11)
    given_up = 0
    for _ in range(200):
        groups = [NodeGroup(((v, 0),), cost=rng.choice((1.0, 2.5, 9.0))) for v in range(rng.randint(8, 30))]
        edges = [(a, b) for a in range(len(groups)) for b in range(a) if rng.random() < 0.6]
        problem = problem_of(edges, groups, rng.randint(3, 8))
        found = colour(problem)
        lost = sum(groups[g].cost for g in found.failed)
        for most in (lost, lost + 1):
            assert colour(problem, most=most).colour == found.colour
        if lost:
            result = colour(problem, most=lost / 2)
            assert sum(groups[g].cost for g in range(len(groups)) if result.colour[g] < 0) > lost / 2
            given_up += result.colour.count(-1) > len(found.failed)
    assert given_up > 20


def test_a_known_assignment_is_kept():
    problem = problem_of([(0, 1), (1, 2)], singles(3), 8)
    problem.hint = {0: 5, 1: 2, 2: 7}
    assert colour(problem).colour == [5, 2, 7]

"""CP-SAT placement: limits, fallback to the heuristic, groups, temporaries, and what a validity check sees."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from binalloc.bitset import mask_from
from binalloc.models.allocation import cpsat
from binalloc.models.allocation.cpsat import full_size, realise, solve
from binalloc.models.allocation.placement import (
    Placement,
    PlacementGroup,
    PlacementProblem,
    cost_of,
    violations,
)
from tests.support.oracles.placement import exhaustive


def single(value: int, slot: float = 1.0, local: float = 10.0, spillable: bool = True) -> PlacementGroup:
    return PlacementGroup(((value, 0),), cost_slot=slot, cost_local=local, spillable=spillable)


def straight_line(values: int, registers: int, slots: int, seed: int) -> PlacementProblem:
    """Random intervals as singles and aligned pairs."""
    rng = random.Random(seed)
    groups: list[PlacementGroup] = []
    spans: list[tuple[int, int]] = []
    while len(spans) < values:
        first, cost = len(spans), float(rng.choice([2, 4, 8, 20, 40]))
        width = rng.choice([1, 1, 2])
        members = tuple((first + k, k) for k in range(width))
        groups.append(PlacementGroup(members, width, width, True, cost, 7 * cost))
        start = rng.randrange(40)
        spans += [(start, start + rng.randrange(2, 25))] * width
    live = [mask_from(v for v, (a, b) in enumerate(spans) if a <= t < b) for t in range(65)]
    accessed = [mask_from(v for v, span in enumerate(spans) if t in span) & live[t] for t in range(65)]
    count = len(spans)
    return PlacementProblem(
        groups, live, accessed, [registers] * 65, (1 << registers) - 1, [0] * count, slots
    )


def all_local(problem: PlacementProblem) -> Placement:
    return Placement(local=frozenset(range(len(problem.groups))))


def test_the_cheapest_value_leaves_for_a_slot() -> None:
    problem = PlacementProblem([single(0, 3), single(1, 2), single(2, 4)], [0b111], [0], [2], 0b11, [0, 0, 0], 1)
    solution = solve(problem)
    assert solution.placement is not None
    assert solution.placement.slot_of == {1: 0}
    assert (solution.value, solution.bound, solution.gap, solution.status) == (2, 2, 0, "optimal")


def test_an_accessed_memory_value_still_needs_a_temporary() -> None:
    """Both values are accessed at one point with one register: wherever they are, two registers are needed."""
    groups = [single(0), single(1)]
    assert solve(PlacementProblem(groups, [0b11], [0b01], [1], 0b1, [0, 0], 2)).value == 1
    assert solve(PlacementProblem(groups, [0b11], [0b11], [1], 0b1, [0, 0], 2)).status == "infeasible"


def test_a_pair_needs_an_aligned_base_and_two_slots() -> None:
    pair = PlacementGroup(((1, 0), (2, 1)), 2, 2, True, 5.0, 50.0)
    fixed = PlacementGroup(((0, 0),), fixed=1)
    three = PlacementProblem([fixed, pair], [0b111], [0], [3], 0b111, [0, 0, 0], 2)
    solution = solve(three)
    assert solution.placement is not None
    assert (solution.value, sorted(solution.placement.slot_of.values())) == (5, [0, 1])  # registers 0 and 2 are apart
    one_slot = PlacementProblem([fixed, pair], [0b111], [0], [3], 0b111, [0, 0, 0], 1)
    assert solve(one_slot).value == 50
    four = PlacementProblem([fixed, pair], [0b111], [0], [4], 0b1111, [0, 0, 0], 0)
    assert solve(four).placement == Placement({0: 1, 1: 2})


def test_what_may_not_be_spilled_keeps_its_register() -> None:
    groups = [single(0, 1, 1, spillable=False), single(1, 9, 99)]
    solution = solve(PlacementProblem(groups, [0b11], [0], [1], 0b1, [0, 0], 1))
    assert solution.placement == Placement({0: 0}, {1: 0})


def test_a_heuristic_without_cost_needs_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpsat, "_Model", None)
    start = Placement({0: 0})
    solution = solve(PlacementProblem([single(0)], [1], [1], [1], 1, [0], 0), start)
    assert (solution.placement, solution.status, solution.source) == (start, "optimal", "heuristic")


def test_a_limit_leaves_the_heuristic_marked_with_bound_and_gap() -> None:
    problem = straight_line(60, 8, 6, seed=3)
    start = all_local(problem)
    stopped = solve(problem, start, limit=1e-6)
    assert (stopped.status, stopped.source, stopped.placement) == ("feasible", "heuristic", start)
    assert stopped.value == cost_of(problem, start)
    assert 0 <= stopped.bound < stopped.value
    assert stopped.gap > 0
    assert stopped.text().startswith("feasible (heuristic): value ")
    nothing = solve(problem, limit=1e-6)
    assert (nothing.status, nothing.placement, nothing.gap) == ("unknown", None, 0)


def test_sixty_values_are_solved_better_than_the_heuristic_and_the_same_twice() -> None:
    problem = straight_line(60, 8, 6, seed=3)
    solution = solve(problem, all_local(problem))
    assert solution.placement is not None
    assert violations(problem, solution.placement) == []
    assert solution.bound <= solution.value < cost_of(problem, all_local(problem))
    assert solution == solve(problem, all_local(problem))


def odd_cycle() -> PlacementProblem:
    """Five values, any two neighbours live together: counted they fit two registers, but they have no 2-colouring."""
    cycle = [0b00011, 0b00110, 0b01100, 0b11000, 0b10001]
    return PlacementProblem([single(v) for v in range(5)], cycle, [0] * 5, [2] * 5, 0b11, [0] * 5, 1)


def test_what_counting_cannot_settle_is_settled_by_naming_places() -> None:
    solution = solve(odd_cycle())
    assert (solution.status, solution.value, solution.bound) == ("optimal", 1, 1)


def test_a_choice_that_cannot_be_coloured_is_repaired() -> None:
    assert cost_of(odd_cycle(), realise(odd_cycle(), {}) or Placement()) == 1
    stay = [single(v, spillable=False) for v in range(5)]
    assert realise(replace(odd_cycle(), groups=stay), {}) is None
    no_slots = realise(replace(odd_cycle(), slots=0), {})
    assert no_slots is not None
    assert len(no_slots.local) == 1


def test_too_large_a_model_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = odd_cycle()
    monkeypatch.setattr(cpsat, "MODEL_LIMIT", full_size(problem) - 1)
    kept = solve(problem, all_local(problem))
    assert (kept.status, kept.source, kept.value, kept.bound) == ("feasible", "relaxed", 1, 0)
    assert kept.gap == 1


def test_a_trusted_heuristic_cheaper_than_the_model_allows_is_kept() -> None:
    """A copy and its source may share a register, which points of liveness cannot express."""
    problem = PlacementProblem([single(0), single(1)], [0b11], [0], [1], 0b1, [0, 0], 0)
    shared = Placement({0: 0, 1: 0})
    assert solve(problem, shared).placement == shared
    impossible = PlacementProblem([single(0, spillable=False), single(1, spillable=False)], [3], [0], [1], 1, [0, 0], 0)
    assert solve(impossible).status == "infeasible"
    assert solve(impossible, shared).placement == shared


def test_empty_functions_are_placed() -> None:
    assert solve(PlacementProblem([], [], [], [], 0b1, [], 0)).placement == Placement()


def test_violations_name_every_kind_of_fault() -> None:
    pair = PlacementGroup(((2, 0), (3, 1)), 2, 2)
    problem = PlacementProblem(
        [single(0), single(1, spillable=False), pair], [0b1111], [0b1], [2], 0b1111, [0b1, 0, 0, 0], 2
    )

    def found(placement: Placement) -> str:
        return "; ".join(violations(problem, placement))

    assert "group 0 may not start at register 0" in found(Placement({0: 0}))
    assert "group 1 may not be in memory" in found(Placement(local=frozenset({1})))
    assert "group 2 may not start at register 1" in found(Placement({2: 1}))
    assert "group 2 has 1 places" in found(Placement(slot_of={2: 0}))
    assert "group 0 has 2 places" in found(Placement({0: 1}, local=frozenset({0})))
    assert "a register holds two values" in found(Placement({0: 1, 1: 1}))
    assert "a slot holds two values" in found(Placement(slot_of={0: 1, 2: 1, 3: 0}))
    assert "value 0 in slot 2 of 2" in found(Placement(slot_of={0: 2}))
    assert "2 values and 1 temporaries in 2 registers" in found(Placement({2: 2}, local=frozenset({0})))


def test_exhaustive_search_knows_infeasible_problems() -> None:
    groups = [single(0, spillable=False), single(1, spillable=False)]
    assert exhaustive(PlacementProblem(groups, [0b11], [0], [2], 0b1, [0, 0], 1)) is None

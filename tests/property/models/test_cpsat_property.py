"""CP-SAT's placement equals exhaustive search on small functions and is never worse than what it starts from."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from binalloc.bitset import mask_from
from binalloc.models.allocation.cpsat import _Model, canonical, solve
from binalloc.models.allocation.placement import (
    Placement,
    PlacementGroup,
    PlacementProblem,
    cost_of,
    violations,
)
from tests.support.oracles.placement import exhaustive


def random_problem(seed: int) -> PlacementProblem:
    """Up to seven groups (singles, pairs, half-used pairs) over a handful of points, at most 4 registers, 2 slots.

    Drawn with a plain generator: hypothesis' own sets are mostly empty, and then nothing has to leave the registers.
    """
    rng = random.Random(seed)
    registers = rng.randint(1, 4)
    groups: list[PlacementGroup] = []
    forbidden: list[int] = []
    for _ in range(rng.randint(3, 7)):
        first = len(forbidden)
        shape = rng.choice(["single", "single", "single", "pair", "half"])
        members = ((first, 0), (first + 1, 1)) if shape == "pair" else ((first, 1 if shape == "half" else 0),)
        units = 1 if shape == "single" else 2
        fixed = 0 if units == 1 and rng.random() < 0.05 else None
        slot = rng.choice([1.0, 2.0, 2.5])
        local = slot + rng.choice([0.0, 1.0, 8.0])
        groups.append(PlacementGroup(members, units, units, rng.random() > 0.1, slot, local, fixed))
        forbidden += [rng.choice([0, 0, 0, 0b1, 0b110]) for _ in members]
    values = range(len(forbidden))
    points = rng.randint(1, 5)
    live = [mask_from(rng.sample(values, rng.randint(1, min(6, len(values))))) for _ in range(points)]
    accessed = [mask_from(rng.sample(values, rng.choice([0, 0, 1, 2]))) for _ in range(points)]
    capacity = [rng.randint(max(1, registers - 1), registers) for _ in range(points)]
    slots = rng.randint(0, 2)
    return PlacementProblem(groups, live, accessed, capacity, (1 << registers) - 1, forbidden, slots)


def problems() -> st.SearchStrategy[PlacementProblem]:
    return st.integers(0, 2**32).map(random_problem)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(problems())
def test_cpsat_equals_exhaustive_search(problem: PlacementProblem) -> None:
    expected = exhaustive(problem)
    found = solve(problem)
    if expected is None:
        assert (found.status, found.placement) == ("infeasible", None)
        return
    assert found.placement is not None
    assert found.status == "optimal"
    assert violations(problem, found.placement) == []
    assert found.value == cost_of(problem, found.placement) == cost_of(problem, expected) == found.bound
    assert found.gap == 0


@settings(max_examples=120, deadline=None, derandomize=True)
@given(problems())
def test_the_full_model_alone_equals_exhaustive_search(problem: PlacementProblem) -> None:
    """`solve` seldom needs it on small functions, as the relaxed model and colouring mostly settle them."""
    expected = exhaustive(problem)
    model = _Model(problem, full=True)
    status, _ = model.run(5.0, 1, None, 0)
    assert status == ("infeasible" if expected is None else "optimal")
    if expected is not None:
        assert violations(problem, model.placement()) == []
        assert cost_of(problem, model.placement()) == cost_of(problem, expected) == model.bound


@settings(max_examples=40, deadline=None, derandomize=True)
@given(problems(), st.data())
def test_a_warm_start_is_never_lost(problem: PlacementProblem, data: st.DataObject) -> None:
    """Any valid start, however dear, is accepted; the answer is as good as without it, and equal when run again."""
    best = exhaustive(problem)
    if best is None:
        return
    start = best
    for number, group in enumerate(problem.groups):
        if group.spillable and group.fixed is None and data.draw(st.booleans()):
            worse = Placement(
                {g: b for g, b in start.base.items() if g != number},
                {v: s for v, s in start.slot_of.items() if v not in dict(group.members)},
                start.local | {number},
            )
            start = worse if not violations(problem, worse) else start
    found = solve(problem, start)
    assert found.value == cost_of(problem, best)
    assert found == solve(problem, start)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(problems())
def test_renaming_interchangeable_places_keeps_a_placement_valid(problem: PlacementProblem) -> None:
    best = exhaustive(problem)
    if best is not None:
        renamed = canonical(problem, best)
        assert violations(problem, renamed) == []
        assert cost_of(problem, renamed) == cost_of(problem, best)
        assert canonical(problem, renamed) == renamed

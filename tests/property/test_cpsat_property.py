"""CP-SAT's placement equals exhaustive search on small functions and is never worse than what it starts from."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from binalloc.models.bitset import mask_from
from binalloc.models.cpsat import _Model, canonical, solve
from binalloc.models.placement import (
    Placement,
    PlacementGroup,
    PlacementProblem,
    cost_of,
    exhaustive,
    violations,
)


@st.composite
def problems(draw: st.DrawFn) -> PlacementProblem:
    """Up to seven groups (singles, pairs, half-used pairs) over a handful of points, at most 4 registers, 2 slots."""
    registers = draw(st.integers(1, 4))
    groups: list[PlacementGroup] = []
    forbidden: list[int] = []
    for _ in range(draw(st.integers(1, 7))):
        first = len(forbidden)
        shape = draw(st.sampled_from(["single", "single", "single", "pair", "half"]))
        members = ((first, 0), (first + 1, 1)) if shape == "pair" else ((first, 1 if shape == "half" else 0),)
        units = 1 if shape == "single" else 2
        spillable = draw(st.integers(0, 5)) > 0
        fixed = 0 if units == 1 and draw(st.integers(0, 9)) == 0 else None
        slot = draw(st.sampled_from([1.0, 2.0, 2.5]))
        local = slot + draw(st.sampled_from([0.0, 1.0, 8.0]))
        groups.append(PlacementGroup(members, units, units, spillable, slot, local, fixed))
        forbidden += [draw(st.sampled_from([0, 0, 0, 0b1, 0b110])) for _ in members]
    values = list(range(len(forbidden)))
    points = draw(st.integers(1, 5))
    live = [mask_from(draw(st.lists(st.sampled_from(values), max_size=6))) for _ in range(points)]
    accessed = [mask_from(draw(st.lists(st.sampled_from(values), max_size=2))) for _ in range(points)]
    capacity = [draw(st.integers(max(1, registers - 1), registers)) for _ in range(points)]
    return PlacementProblem(
        groups, live, accessed, capacity, (1 << registers) - 1, forbidden, draw(st.integers(0, 2))
    )


@settings(max_examples=120, deadline=None)
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


@settings(max_examples=120, deadline=None)
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


@settings(max_examples=40, deadline=None)
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


@settings(max_examples=60, deadline=None)
@given(problems())
def test_renaming_interchangeable_places_keeps_a_placement_valid(problem: PlacementProblem) -> None:
    best = exhaustive(problem)
    if best is not None:
        renamed = canonical(problem, best)
        assert violations(problem, renamed) == []
        assert cost_of(problem, renamed) == cost_of(problem, best)
        assert canonical(problem, renamed) == renamed

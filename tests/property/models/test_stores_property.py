"""Where values are stored: the cheapest of all ways to have memory hold them, by trying each."""

from __future__ import annotations

from itertools import chain, combinations
from math import inf

from hypothesis import given, settings
from hypothesis import strategies as st

from binalloc.models.allocation.stores import DEFINED, Way, valid_regions

COSTS = (0.0, 1.0, 2.0, 4.0, 10.0)


@st.composite
def problems(draw: st.DrawFn, most_ways: int) -> tuple[dict[int, list[Way]], set[int], set[int]]:
    """Ways by region, regions that need memory, and spilled regions. Every source of a spilled region has to be able to
    hold it, so what needs memory comes from a definition somewhere."""
    count = draw(st.integers(1, 7))
    ways: dict[int, list[Way]] = {}
    for region in range(count):
        sources = st.integers(DEFINED, count - 1 if most_ways > 1 else region - 1)
        ways[region] = draw(st.lists(st.tuples(sources, st.sampled_from(COSTS)), max_size=most_ways))
    spilled = draw(st.sets(st.integers(0, count - 1)))
    needed = draw(st.sets(st.sampled_from(sorted(spilled)))) if spilled else set()
    return ways, needed, spilled


def _every_way(ways: dict[int, list[Way]], needed: set[int], spilled: set[int]) -> tuple[float, list[set[int]]]:
    """The least cost, and all sets of regions with that cost in which memory holds the value."""
    least, found = inf, []
    for valid in map(set, chain.from_iterable(combinations(ways, n) for n in range(len(ways) + 1))):
        if not needed <= valid:
            continue
        outside = [way for r in sorted(valid) for way in ways[r] if way[0] not in valid and way[0] != r]
        cost = sum(inf if source in spilled else price for source, price in outside)
        if cost < least:
            least, found = cost, []
        if cost == least:
            found.append(valid)
    return least, found


def _is_least(problem: tuple[dict[int, list[Way]], set[int], set[int]]) -> None:
    ways, needed, spilled = problem
    least, sets = _every_way(ways, needed, spilled)
    if least == inf:  # nobody asks: memory is needed where no definition can have stored
        return
    valid, cost = valid_regions(ways, needed, spilled)
    assert cost == least
    assert valid == set().union(*sets)  # wherever memory holds it for no more


@settings(max_examples=300)
@given(problems(1))
def test_in_forests_stores_cost_least(problem: tuple[dict[int, list[Way]], set[int], set[int]]) -> None:
    _is_least(problem)


@settings(max_examples=300)
@given(problems(3))
def test_where_ways_join_stores_cost_least(problem: tuple[dict[int, list[Way]], set[int], set[int]]) -> None:
    _is_least(problem)

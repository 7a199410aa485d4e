"""Exact colouring against brute force, and on graphs whose chromatic number is known by construction."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binalloc.bitset import bits
from binalloc.models.allocation.exact_colouring import ColourProof, ExactColouring, colour_exactly

Edges = set[tuple[int, int]]


def graph(vertices: int, edges: Edges) -> list[int]:
    adjacency = [0] * vertices
    for a, b in edges:
        adjacency[a] |= 1 << b
        adjacency[b] |= 1 << a
    return adjacency


def colourable(adjacency: list[int], count: int) -> bool:
    """Whether `count` colours do, by trying: vertex by vertex, a colour already used or the next one."""
    colours = [-1] * len(adjacency)

    def place(v: int, used: int) -> bool:
        if v == len(adjacency):
            return True
        taken = {colours[n] for n in bits(adjacency[v]) if n < v}
        for c in range(min(used + 1, count)):
            if c not in taken:
                colours[v] = c
                if place(v + 1, max(used, c + 1)):
                    return True
        return False

    return place(0, 0)


def require_proven(adjacency: list[int], found: ExactColouring) -> None:
    """What the answer says can be seen from it."""
    assert len(found.colours) == len(adjacency)
    assert all(c >= 0 for c in found.colours)
    assert all(found.colours[v] != found.colours[n] for v, mask in enumerate(adjacency) for n in bits(mask))
    assert all(adjacency[a] >> b & 1 for a, b in combinations(found.clique, 2))
    assert found.proof != ColourProof.NONE
    assert found.bound == found.count
    assert (found.proof == ColourProof.CLIQUE) == (len(found.clique) == found.count)


@given(st.integers(0, 10**9), st.integers(0, 10), st.floats(0.1, 0.9))
@settings(max_examples=150)
def test_as_many_colours_as_brute_force_needs(seed: int, vertices: int, density: float) -> None:
    rng = random.Random(seed)
    adjacency = graph(vertices, {e for e in combinations(range(vertices), 2) if rng.random() < density})
    found = colour_exactly(adjacency)
    require_proven(adjacency, found)
    assert colourable(adjacency, found.count)
    assert not found.count or not colourable(adjacency, found.count - 1)


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(1, 60)), max_size=120))
@settings(max_examples=60)
def test_intervals_take_as_many_colours_as_overlap_anywhere(intervals: list[tuple[int, int]]) -> None:
    spans = [(start, start + length) for start, length in intervals]
    pairs = combinations(enumerate(spans), 2)
    adjacency = graph(len(spans), {(a, b) for (a, x), (b, y) in pairs if x[0] < y[1] and y[0] < x[1]})
    found = colour_exactly(adjacency)
    require_proven(adjacency, found)
    assert found.proof == ColourProof.CLIQUE
    assert found.count == max((sum(s <= point < e for s, e in spans) for point, _ in spans), default=0)


def mycielskian(vertices: int, edges: Edges) -> tuple[int, Edges]:
    """A graph without larger cliques that needs a colour more (Mycielski 1955)."""
    shadow = {(a, b + vertices) for a, b in edges} | {(b, a + vertices) for a, b in edges}
    return 2 * vertices + 1, edges | shadow | {(v + vertices, 2 * vertices) for v in range(vertices)}


@pytest.mark.parametrize("times", [1, 2, 3])
def test_where_no_clique_is_large_enough_the_solver_proves(times: int) -> None:
    vertices, edges = 2, {(0, 1)}
    for _ in range(times):
        vertices, edges = mycielskian(vertices, edges)
    adjacency = graph(vertices, edges)
    found = colour_exactly(adjacency)
    require_proven(adjacency, found)
    assert (found.count, len(found.clique), found.proof) == (2 + times, 2, ColourProof.SOLVER)


def test_a_limit_leaves_a_colouring_without_proof() -> None:
    vertices, edges = 2, {(0, 1)}
    for _ in range(3):
        vertices, edges = mycielskian(vertices, edges)
    adjacency = graph(vertices, edges)
    found = colour_exactly(adjacency, limit=0.0)
    assert (found.proof, found.bound) == (ColourProof.NONE, 2)
    assert found.count >= 5
    assert all(found.colours[a] != found.colours[b] for a, b in edges)


def test_the_solver_finds_what_heuristics_miss() -> None:
    """Of random graphs of this kind DSATUR leaves one colour too many in some."""
    better = 0
    for seed in range(40):
        rng = random.Random(seed)
        adjacency = graph(14, {e for e in combinations(range(14), 2) if rng.random() < 0.4})
        found = colour_exactly(adjacency)
        require_proven(adjacency, found)
        unproven = colour_exactly(adjacency, limit=0.0)
        assert unproven.count >= found.count >= unproven.bound
        better += unproven.count > found.count
    assert better


def test_deterministic() -> None:
    rng = random.Random(3)
    adjacency = graph(30, {e for e in combinations(range(30), 2) if rng.random() < 0.5})
    assert colour_exactly(adjacency) == colour_exactly(adjacency)


@pytest.mark.parametrize("adjacency", [[1], [2, 0], [4, 0]])
def test_what_is_no_graph_is_refused(adjacency: list[int]) -> None:
    with pytest.raises(ValueError, match="not the neighbours"):
        colour_exactly(adjacency)

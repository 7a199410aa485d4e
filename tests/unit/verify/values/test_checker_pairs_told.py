"""The names by which operations on pairs are told: there are too many ways of naming four words each by itself."""

from __future__ import annotations

from itertools import product

from binalloc.verify.reading.names import Names
from binalloc.verify.remade import made_by_rows, made_of_values
from binalloc.verify.values.lattice import State

SUM = ("DADD",)
NAMED = 4
"""Names of a pair: by its two values, and as what several operations make."""


def _pair(state: State, place: int) -> tuple[tuple[int, int], list[tuple[int, int]]]:
    """A pair of the original and all its names: it is what other operations make of values of their own, too."""
    names = state.names
    pair = names.web(place), names.web(place + 1)
    alike = [pair]
    for other in range(1, NAMED):
        leaves = names.web(place + 40 + 2 * other), names.web(place + 41 + 2 * other)
        tokens = [names.computed((f"DMUL{other}",), unit, leaves) for unit in (0, 1)]
        assert tokens[0] is not None
        assert tokens[1] is not None
        for x, token in zip(pair, tokens, strict=True):
            state.equate(x, token)
        alike.append((tokens[0], tokens[1]))
    return pair, alike


def test_all_ways_of_naming_two_pairs_are_told() -> None:
    state = State(Names())
    one, of_one = _pair(state, 0)
    other, of_other = _pair(state, 20)
    result = state.names.web(10), state.names.web(11)
    made_of_values(state, SUM, (*one, *other), result)
    missing = []
    for first, second in product(of_one, of_other):
        told = state.names.recorded_ways(SUM, [[x] for x in (*first, *second)])
        if not told:
            missing.append((first, second))
    assert missing == []


def test_halves_of_different_results_are_not_taken_for_a_pair() -> None:
    """A row that holds one pair's first word beside another's second holds neither sum."""
    state = State(Names())
    one, of_one = _pair(state, 0)
    other, of_other = _pair(state, 20)
    result = state.names.web(10), state.names.web(11)
    for x, token in made_of_values(state, SUM, (*one, *other), result):
        state.equate(x, token)
    rows = [100 << 10, 101 << 10, 102 << 10, 103 << 10]
    held = (of_one[1][0], of_other[1][1], of_other[1][0], of_one[1][1])
    for row, token in zip(rows, held, strict=True):
        state.put(row, frozenset((token,)))
    for tokens in made_by_rows(state, SUM, rows, 2):
        assert not any(state.equals(t) for t in tokens)

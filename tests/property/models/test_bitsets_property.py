"""Sets of numbers as bits, and what is worked out over them, against the plain way."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from binalloc import bitset
from binalloc.bitset import bits, long_mask, mask_from, rows_of_bits
from binalloc.models.allocation.stack.procedures import Procedure
from binalloc.models.allocation.stack.slot_colouring import search_order


def _numbers(rng: random.Random, most: int) -> set[int]:
    return {rng.randrange(most) for _ in range(rng.randrange(40))}


@pytest.mark.parametrize("most", [1, 8, 70, 9000])
def test_rows_of_bits_and_long_masks_are_the_sets_that_went_in(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(most)
    monkeypatch.setattr(bitset, "_BYTES", 4000)  # several parts
    sets = [_numbers(rng, most) for _ in range(30)] + [set(), {most - 1}]
    masks = [mask_from(found) for found in sets]
    assert [long_mask(found) for found in sets] == masks
    assert [bits(mask) for mask in masks] == [sorted(found) for found in sets]
    assert rows_of_bits(masks) == [sorted(found) for found in sets]
    assert rows_of_bits([]) == []


@pytest.mark.parametrize("seed", range(20))
def test_search_order_takes_whoever_has_most_neighbours_visited(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randrange(1, 30)
    edges = [(a, b) for a in range(count) for b in range(a) if rng.random() < 0.3]
    adjacency = [mask_from([b for a, b in edges if a == v] + [a for a, b in edges if b == v]) for v in range(count)]
    wanted = mask_from(v for v in range(count) if rng.random() < 0.8)
    left, visited, order = set(bits(wanted)), 0, []
    while left:
        pick = min(left, key=lambda v: (-(adjacency[v] & visited).bit_count(), v))
        left.discard(pick)
        visited |= 1 << pick
        order.append(pick)
    assert search_order(adjacency, wanted) == order


def test_live_sets_count_what_counting_all_of_them_counts() -> None:
    rng = random.Random(1)
    for _ in range(50):
        exits = [rng.choice((0, 1, 5, 1 << 70)) for _ in range(rng.randrange(12))]
        found = Procedure("k", 71, exits, [0] * 71).live_sets()
        assert found == Counter(exits)
        assert list(found) == list(dict.fromkeys(exits))

"""The formula of batches for patterns of accesses with a known answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import numpy as np
import pytest

from binalloc.models.batches.fit import ALL_GLOBAL, ALONE, FOUND, NO_PAGES, SCATTERED, fit
from binalloc.models.batches.touches import PageTouches

PAGE = 4096


def formula(blocks: int, pages: Callable[[int], Iterable[int]], width: int = 0) -> tuple[str, str]:
    pairs = np.array([(page, block) for block in range(blocks) for page in pages(block)], np.int64).reshape(-1, 2)
    found = fit(PageTouches.of(blocks, pairs[:, 0], pairs[:, 1]), width or blocks)
    return str(found.formula), found.reason


def of_bytes(size: int, halo: int = 0) -> Callable[[int], Iterable[int]]:
    """The pages of blocks that have `size` bytes each, one behind the other, and `halo` more on both sides."""
    return lambda b: range(max(b * size - halo, 0) // PAGE, ((b + 1) * size + halo - 1) // PAGE + 1)


def test_figures_of_the_paper() -> None:
    """Figs. 4c, 4e and 6c, in a grid of 2 x 2: a row a page, two rows a page, and two blocks on two pages."""
    assert formula(4, lambda b: [b], 2) == ("stride:1", ALONE)
    assert formula(4, lambda b: [b // 2], 2) == ("stride:2", FOUND)
    assert formula(4, lambda b: [b // 2 * 2, b // 2 * 2 + 1], 2) == ("stride:2", FOUND)


def test_a_modulus_that_is_the_width_of_the_grid() -> None:
    assert formula(64, lambda b: [b % 16], 16) == ("mod:16", FOUND)
    assert formula(62, lambda b: [b % 31], 31) == ("mod:31", FOUND)


@pytest.mark.parametrize(("blocks", "expected"), [(97, "stride:4"), (102, "stride:4"), (1, "stride:1")])
def test_remainders_and_primes_change_nothing(blocks: int, expected: str) -> None:
    assert formula(blocks, of_bytes(1024))[0] == expected


def test_bytes_that_do_not_divide_a_page() -> None:
    """Four times 3 KB are three pages. 3,000 bytes fit 512 blocks later: three blocks in a row are enough."""
    assert formula(200, of_bytes(3072)) == ("stride:4", FOUND)
    assert formula(5000, of_bytes(3000)) == ("stride:3", FOUND)


def test_neighbours_that_share_their_edges_stay_small() -> None:
    """One page of five is the neighbour's, then all three are, then rows of tiles share two of four pages."""
    assert formula(200, lambda b: range(4 * b, 4 * b + 5)) == ("stride:1", ALONE)
    assert formula(200, lambda b: range(b, b + 3)) == ("stride:4", FOUND)
    assert formula(256, lambda b: range(b // 16 * 4, b // 16 * 4 + 6), 16) == ("stride:16", FOUND)
    assert formula(400, of_bytes(4096, 4))[0] == "stride:4"


def test_few_shared_pages_show_the_rows_of_tiles() -> None:
    """Four of five pages belong to a block, and 16 blocks share each other one: a quarter at most is shared."""
    assert formula(256, lambda b: [4 * b, 4 * b + 1, 4 * b + 2, 4 * b + 3, 5000 + b]) == ("stride:1", ALONE)
    assert formula(256, lambda b: [4 * b, 4 * b + 1, 4 * b + 2, 4 * b + 3, 5000 + b // 16]) == ("stride:16", FOUND)


def test_tables_of_all_blocks_spoil_nothing() -> None:
    table = range(1000, 1100)
    assert formula(16, lambda b: [b, *table]) == ("stride:1", ALONE)
    assert formula(64, lambda b: [b // 4, *table]) == ("stride:4", FOUND)
    assert formula(64, lambda b: [b % 8, *(table if b % 5 else ())], 8) == ("mod:8", FOUND)


def test_rows_for_a_batch_and_columns_for_all() -> None:
    """A transpose reads rows and writes columns; the columns of a wide product belong to a quarter of each row."""
    assert formula(1024, lambda b: [b // 32, 500 + b % 32], 32) == ("stride:32", FOUND)
    assert formula(2048, lambda b: [b // 256, 500 + b % 256 // 64], 256) == ("stride:256", FOUND)


def test_no_formula() -> None:
    rng = np.random.default_rng(1)
    assert formula(10, lambda b: []) == ("none", NO_PAGES)
    assert formula(10, lambda b: range(5)) == ("none", ALL_GLOBAL)
    assert formula(2, lambda b: [0]) == ("none", ALL_GLOBAL)
    for pages in (60, 300, 3000):
        assert formula(500, lambda b, n=pages: rng.integers(0, n, 4).tolist(), 20) == ("none", SCATTERED)  # type: ignore[misc]


@pytest.mark.parametrize("kind", ["tiles", "random", "pairs", "modulus"])
def test_large_grids_take_about_a_second(kind: str) -> None:
    rng = np.random.default_rng(1)
    blocks = 100_000
    numbers = np.repeat(np.arange(blocks), 10)
    piece = np.tile(np.arange(10), blocks)
    pages = {
        "tiles": numbers // 16 * 10 + piece, "random": rng.integers(0, 50_000, len(numbers)),
        "pairs": rng.integers(0, 500_000, len(numbers)), "modulus": numbers % 1000 * 10 + piece,
    }[kind]  # fmt: skip
    touches = PageTouches.of(blocks, pages, numbers)
    begin = time.process_time()
    found = fit(touches, 250)
    assert time.process_time() - begin < 5  # 0.3 s where nothing else runs
    assert str(found.formula) == {"tiles": "stride:16", "modulus": "mod:1000"}.get(kind, "none")

"""The formula of batches, and what is counted beside it, against sets of Python on random pages."""

from __future__ import annotations

import random

import numpy as np
import pytest

from binalloc.models.batches.crossings import Crossings
from binalloc.models.batches.fit import Sharing, fit
from binalloc.models.batches.formula import MODULUS, NONE, STRIDE, BatchFormula
from binalloc.models.batches.resident import Windows
from binalloc.models.batches.touches import PageTouches
from tests.support.oracles.batches import Pages, batch_of, batches_of, formula_of, is_global


def random_pages(rng: random.Random) -> tuple[Pages, int, int]:
    """Pages of blocks in groups, by stride, modulus or at random, with edges, private pages and global ones."""
    width, height = rng.randint(1, 12), rng.randint(1, 12)
    blocks = width * height
    pages: Pages = {}

    def touch(page: int, block: int) -> None:
        pages.setdefault(page, set()).add(block)

    for part in range(rng.randint(1, 3)):
        group = rng.choice((width, height, rng.randint(1, blocks)))
        kind = rng.choice(("stride", "modulus", "random", "alone"))
        halo, each = rng.choice((0, 0, 1, 2)), rng.randint(1, 3)
        for block in range(blocks):
            home = {"stride": block // group, "modulus": block % group, "alone": block}.get(kind, 0)
            for k in range(each + halo if kind != "random" else each):
                at = rng.randrange(group + 1) if kind == "random" else home * each + k
                if rng.random() < 0.97:
                    touch(1000 * part + at, block)
    for page in range(rng.choice((0, 0, 1, 4))):
        for block in range(blocks):
            if rng.random() < 0.95:
                touch(9000 + page, block)
    return pages, blocks, width


def touches_of(pages: Pages, blocks: int) -> PageTouches:
    pairs = [(page, block) for page, touching in pages.items() for block in touching]
    random.Random(1).shuffle(pairs)
    both = np.array(pairs, np.int64).reshape(-1, 2)
    return PageTouches.of(blocks, both[:, 0], both[:, 1])


@pytest.mark.parametrize("seed", range(40))
def test_the_formula_is_that_of_the_rule(seed: int) -> None:
    rng = random.Random(seed)
    kinds = set()
    for _ in range(20):
        pages, blocks, width = random_pages(rng)
        found = fit(touches_of(pages, blocks), width).formula
        assert (found.kind, found.value) == formula_of(pages, blocks, width), (pages, blocks, width)
        kinds.add(found.kind)
    assert len(kinds) > 1


@pytest.mark.parametrize("seed", range(10))
def test_sharing_is_counted_exactly_for_every_stride_and_modulus(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(5):
        pages, blocks, _ = random_pages(rng)
        touches = touches_of(pages, blocks)
        if not pages:
            continue
        left = [touching for touching in pages.values() if not is_global(touching, blocks)]
        sharing = Sharing(touches)
        for value in range(1, blocks + 1):
            for kind in (STRIDE, MODULUS):
                formula = BatchFormula(kind, value)
                expected = sum(batches_of(touching, (kind, value)) > 1 for touching in left)
                assert sharing.of(formula) == expected, (kind, value)
                far = [max(map(batch_of((kind, value)), t)) - min(map(batch_of((kind, value)), t))
                       for _, t in sorted(pages.items())]  # fmt: skip
                assert touches.distances(formula).tolist() == far
        assert sharing.of(BatchFormula(NONE)) == sum(len(touching) > 1 for touching in left)


def test_crossings_of_many_strides_at_once() -> None:
    rng = np.random.default_rng(3)
    low = rng.integers(0, 500, 300)
    high = np.minimum(low + rng.integers(0, 400, 300), 499)
    strides = np.arange(1, 500)
    expected = [int((low // s != high // s).sum()) for s in strides]
    assert Crossings(500, low, high).shared(strides).tolist() == expected


@pytest.mark.parametrize("seed", range(10))
def test_pages_of_resident_blocks(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(10):
        pages, blocks, _ = random_pages(rng)
        if not pages:
            continue
        sms, resident = rng.randint(1, 9), rng.randint(1, 9)
        counts = []
        for sm in range(min(sms, blocks)):
            own = list(range(sm, blocks, sms))
            for start in range(max(len(own) - resident, 0) + 1):
                window = set(own[start : start + resident])
                counts.append(sum(bool(touching & window) for touching in pages.values()))
        touches = touches_of(pages, blocks)
        found = Windows(touches, sms, resident).pages()
        assert found.most == max(counts)
        assert found.mean == pytest.approx(sum(counts) / len(counts))
        none = Windows(touches, sms, resident).pages(np.zeros(len(touches.pages), bool))
        assert (none.most, none.mean) == (0, 0)


@pytest.mark.parametrize("seed", range(5))
def test_larger_pages_are_those_of_their_parts(seed: int) -> None:
    pages, blocks, _ = random_pages(random.Random(seed))
    larger: Pages = {}
    for page, touching in pages.items():
        larger.setdefault(page // 4, set()).update(touching)
    found = touches_of(pages, blocks).coarser(4)
    expected = touches_of(larger, blocks)
    assert found.pages.tolist() == expected.pages.tolist()
    assert found.numbers.tolist() == expected.numbers.tolist()

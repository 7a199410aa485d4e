"""Long blocks, in which order and spill code have much to choose from: every rewrite is proven."""

from __future__ import annotations

import pytest

from binalloc.transform.rewrite.rewrite import rewrite
from binalloc.verify.checker import check
from tests.support.generator.programs import random_program


@pytest.mark.parametrize(("size", "registers"), [(150, 10), (300, 12), (400, 16)])
@pytest.mark.parametrize("seed", [0, 2, 11])
def test_straight_lines_with_local_words_are_proven(seed: int, size: int, registers: int) -> None:
    module, _ = random_program(seed, size=size, registers=24, callees=0, depth=0)
    assert check(module, rewrite(module, "kernel", registers, 4), "kernel").errors == []

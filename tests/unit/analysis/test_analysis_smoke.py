"""The analysis runs over random whole programs and its parts agree where they say the same thing twice."""

from __future__ import annotations

import random

from binalloc.analysis.program import analyse
from tests.support.generator.graphs import random_function
from tests.support.programs.lines import module


def test_block_summaries_agree_with_the_walk_through_each_block() -> None:
    for seed in range(150):
        rng = random.Random(seed)
        kernel = random_function(rng, "k", rng.randrange(1, 9), 8, ("f", "g"))
        middle = random_function(rng, "f", rng.randrange(1, 6), 8, ("g",), "func")
        leaf = random_function(rng, "g", rng.randrange(1, 6), 8, (), "func")
        program = analyse(module(kernel, middle, leaf), "k")
        for f in program.functions.values():
            for b in f.cfg.rpo:
                assert f.live.before[f.cfg.blocks[b].start] == f.live.live_in[b]

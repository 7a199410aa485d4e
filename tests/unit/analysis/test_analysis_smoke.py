"""The analysis runs over random whole programs and its parts agree where they say the same thing twice."""

from __future__ import annotations

import random

import pytest

from binalloc.analysis.program import analyse
from binalloc.errors import Refused
from tests.support.generator.analysis.graphs import random_function
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


def test_functions_that_call_themselves_are_gone_through_until_nothing_changes() -> None:
    again = 0
    for seed in range(60):
        rng = random.Random(seed)
        kernel = random_function(rng, "k", rng.randrange(2, 9), 8, ("f", "g"))
        one = random_function(rng, "f", rng.randrange(2, 6), 8, ("g", "f"), "func")
        other = random_function(rng, "g", rng.randrange(2, 6), 8, ("f",), "func")
        made = module(kernel, one, other)
        program = analyse(made, "k", recursive=True)
        if program.graph.cycles:
            again += 1
            with pytest.raises(Refused, match="recursion"):
                analyse(made, "k")
        for name, f in program.functions.items():
            for b in f.cfg.rpo:
                assert f.live.before[f.cfg.blocks[b].start] == f.live.live_in[b]
            for site in program.graph.sites[name]:
                callee, i = program[site.callee].summary, site.index
                assert not callee.must_def & ~callee.may_def
                assert not callee.may_def & ~f.summary.may_def
                assert not callee.reads & ~f.live.before[i]
                assert not f.live.after[i] & ~callee.must_def & ~f.live.before[i]
                assert not f.live.after[i] & callee.may_def & ~callee.results
                assert (name == "k") or not f.summary.must_def & ~f.summary.may_def
    assert again > 20

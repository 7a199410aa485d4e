"""Random kernels whose blocks are merged are proven, and wrong ones are not: whatever is proven runs like its
original, block by block."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache

import pytest

from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.launch.types import Launch
from binalloc.transform.multiplex.merged import PIPED, TURNS, Merged, merge_blocks
from binalloc.verify.multiplex.merged.check import check_merged
from tests.property.verify.multiplex.test_public_proofs import PREFIX, left, same
from tests.support.generator.transform.exchanges import exchanging
from tests.support.pairs.multiplex.merged_mutants import KINDS
from tests.support.pairs.multiplex.public_mutants import in_both, items, put
from tests.support.programs.builder import program

SEEDS = 60
MUTATED = (5, 8, 9, 13, 33, 68)
LINKED = {"other_link", "shorter_region"}
"""Kinds of changes to a branch back to another turn: a pipe has none."""
SOME = 2  # mutants of a kind, of one kernel


@cache
def kernel(seed: int, count: int, order: str = TURNS) -> tuple[Module, Launch, Merged] | None:
    """Return a kernel, its launch, and `count` blocks of it merged; None where that is refused."""
    text, launch = exchanging(seed // 2, aligned=seed % 2 == 1)
    module = program(text)
    try:
        return module, launch, merge_blocks(module, "k", launch.block, count, order=order)
    except Refused:
        return None


def proven(original: Module, made: Module, given: tuple[Module, Launch, Merged]) -> bool:
    merge = given[2].merge
    report = check_merged(original, made, "k", merge.block, merge.count, merge.axis)
    assert not any(error.kind in ("internal", "limit") for error in report.errors), report
    return report.ok


def test_random_merged_kernels_are_proven() -> None:
    tried = 0
    for seed in range(2 * SEEDS):
        for count, order in ((2, TURNS), (3, TURNS), (2, PIPED)):
            given = kernel(seed, count, order)
            if given is not None:
                tried += 1
                assert proven(given[0], given[2].module, given), (seed, count, order)
    assert tried > SEEDS // 3


@pytest.mark.parametrize("order", [TURNS, PIPED])
def test_mutants_of_merged_kernels_are_rejected_or_run_alike(order: str) -> None:
    rejected: Counter[str] = Counter()
    for seed in MUTATED:
        given = kernel(seed, 2 + (order == TURNS and seed % 2), order)
        assert given is not None
        module, launch, made = given
        words, rng = items(made.module.function("k")), random.Random(seed)
        expected, merged = left(module, launch), made.merge.launch(launch)
        for kind, change in KINDS.items():
            mutants = list(change(words, module.function("k")))
            for mutant in rng.sample(mutants, min(SOME, len(mutants))):
                wrong = put(made.module, "k", mutant)
                if not proven(module, wrong, given):
                    rejected[kind] += 1
                    continue
                assert same(expected, left(wrong, merged)), (seed, kind)
                assert same(expected, left(wrong, merged, scheduler="lrr", sms=3)), (seed, kind)
    assert set(rejected) == set(KINDS) - (LINKED if order == PIPED else set())


@pytest.mark.parametrize("seed", MUTATED)
def test_what_is_proven_of_other_merged_originals_runs_alike(seed: int) -> None:
    """One change of both kernels makes another original, whose threads may part or whose contents may be older."""
    given = kernel(seed, 2)
    assert given is not None
    module, launch, made = given
    pairs = list(in_both(module, made.module, "k", PREFIX))
    for original, other in random.Random(seed).sample(pairs, 20):
        if proven(original, other, given) and (expected := left(original, launch)) is not None:
            assert same(expected, left(other, made.merge.launch(launch)))

"""Random kernels whose blocks are merged are proven, and wrong ones are not: whatever is proven runs like its
original, block by block."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import pytest

from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.launch.types import Launch
from binalloc.transform.multiplex.late_exits import with_late_exits
from binalloc.transform.multiplex.merged import HANDED, PIPED, TURNS, Merged, merge_blocks
from binalloc.transform.shorten.shorten import shortened
from binalloc.verify.multiplex.merged import beside, course
from binalloc.verify.multiplex.merged.check import check_merged
from binalloc.verify.shorten.exits import check_late_exits
from tests.property.transform.multiplex.test_cuts import cut
from tests.property.verify.multiplex.test_public_proofs import PREFIX, left, same
from tests.support.generator.transform.exchanges import exchanging
from tests.support.kits.suite import rotation
from tests.support.pairs.multiplex.lines import kinds
from tests.support.pairs.multiplex.merged_mutants import HANDED_KINDS, KINDS, VOTED_KINDS
from tests.support.pairs.multiplex.padded_mutants import PADDED_KINDS
from tests.support.pairs.multiplex.public_mutants import Change, in_both, items, put, raw_address
from tests.support.programs.builder import program

SEEDS = 60
MUTATED = (5, 8, 9, 13, 33, 68)
LINKED = {"other_link", "shorter_region"}
"""Kinds of changes to a branch back to another turn: a pipe has none."""
HANDED_MUTATED = (1, 5, 12, 35, 68, 83)
COPIED = (5, 7, 21)
PADDED = {TURNS: (2, 13, 47, 53), PIPED: (13, 33, 53), HANDED: (13, 47, 8)}
"""Kernels whose blocks are not of whole warps, by order."""
VOTED = (2, 28, 29, 59, 87, 103)
"""Kernels with loops in regions, with barriers in them: of all rounds alike, and of as many as the block says."""
SOME = 2  # mutants of a kind, of one kernel


@cache
def kernel(
    seed: int, count: int, order: str = TURNS, copies: bool = False, partial: bool = False
) -> tuple[Module, Launch, Merged] | None:
    """Return a kernel, its launch, and `count` blocks of it merged; None where that is refused. copies: each virtual
    block has a copy of some bytes. partial: blocks are not of whole warps."""
    text, launch = exchanging(seed, partial=True) if partial else exchanging(seed // 2, aligned=seed % 2 == 1)
    module = program(text)
    private = 0
    if copies or (order == TURNS and seed >= SEEDS):
        given = module
        module = with_late_exits(given, "k", launch.block)
        assert module is given or check_late_exits(given, module, "k", launch.block).ok
    if copies:
        private = cut(random.Random(f"copies {seed}"), module.function("k").info.shared_bytes)
    try:
        made = merge_blocks(module, "k", launch.block, count, private=private, order=order)
    except Refused:
        return None
    return (module, launch, made) if bool(made.copies.private) == copies else None


def proven(original: Module, made: Module, given: tuple[Module, Launch, Merged]) -> bool:
    merge = given[2].merge
    report = check_merged(original, made, "k", merge.block, merge.count, merge.axis)
    assert "internal" not in {error.kind for error in report.errors}, report
    return report.ok


def padded(given: tuple[Module, Launch, Merged]) -> bool:
    """Whether virtual blocks are not of whole warps."""
    return given[2].merge.threads % 32 > 0


def test_random_merged_kernels_are_proven() -> None:
    """Not all large ones of blocks that are padded; the next but one counts these."""
    tried, seeds = 0, rotation.sample(range(2 * SEEDS), "merged kernels", rotation.EIGHTH)
    for seed in seeds:
        for count, order in ((2, TURNS), (3, TURNS), (2, PIPED), (2, HANDED), (3, HANDED)):
            given = kernel(seed, count, order)
            if given is not None:
                tried += 1
                assert proven(given[0], given[2].module, given) or padded(given), (seed, count, order)
    assert tried > len(seeds) // 6


def test_random_merged_kernels_with_copies_are_proven() -> None:
    """Where no late exit is possible, no barrier orders the accesses of threads that end."""
    found: Counter[bool] = Counter()
    for seed in range(1, 2 * SEEDS, 2):
        given = kernel(seed, 2 + seed // 2 % 2, copies=True)
        if given is not None:
            ok = proven(given[0], given[2].module, given)
            found[ok] += 1
            assert ok or late_kinds(given) == {"ended"}, seed
    assert found[True] > SEEDS // 4
    assert found[True] > 8 * found[False]


def test_random_padded_kernels_are_proven() -> None:
    """As above; and there are limits to the branches that virtual blocks may come to between two turns, and to the ways
    in which they meet. Loops with votes in them are not always told from loops that wait for others."""
    found: Counter[bool] = Counter()
    ways = ((2, TURNS), (5, TURNS), (2, PIPED), (3, HANDED))
    cases = [*product(ways, range(2 * SEEDS + 1))]
    for (count, order), seed in rotation.sample(cases, "padded kernels", rotation.EIGHTH):
        given = kernel(seed, count, order, partial=True)
        if given is not None:
            ok = proven(given[0], given[2].module, given)
            found[ok] += 1
            assert ok or order == TURNS or late_kinds(given) <= {"ended", "turn"}, (seed, count, order)
    assert found[True] > 5
    assert found[True] > 8 * found[False]


@pytest.mark.sampled
@pytest.mark.parametrize("order", PADDED)
def test_mutants_of_padded_kernels_are_rejected_or_run_alike(order: str) -> None:
    rejected: Counter[str] = Counter()
    for seed in rotation.sample(PADDED[order], order, rotation.EIGHTH):
        given = kernel(seed, 2 + (order != PIPED and seed % 2), order, partial=True)
        assert given is not None
        expected = left(given[0], given[1])
        for kind, change in PADDED_KINDS.items():
            for mutant in change(items(given[2].module.function("k")), given[0].function("k")):
                wrong = put(given[2].module, "k", mutant)
                if proven(given[0], wrong, given):
                    assert same(expected, left(wrong, given[2].merge.launch(given[1]))), (seed, kind)
                else:
                    rejected[kind] += 1
    assert rejected
    assert set(rejected) == set(PADDED_KINDS) or rotation.part() is not None


def late_kinds(given: tuple[Module, Launch, Merged]) -> set[str]:
    merge = given[2].merge
    return kinds(check_merged(given[0], given[2].module, "k", merge.block, merge.count, merge.axis))


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("order", "seeds", "changes"),
    [
        (TURNS, MUTATED, KINDS), (PIPED, MUTATED, KINDS), (HANDED, HANDED_MUTATED, HANDED_KINDS),
        (TURNS, VOTED, VOTED_KINDS), (TURNS, COPIED, KINDS | {"raw_address": raw_address}),
    ],
)  # fmt: skip
def test_mutants_of_merged_kernels_are_rejected_or_run_alike(
    order: str, seeds: tuple[int, ...], changes: dict[str, Change]
) -> None:
    rejected: Counter[str] = Counter()
    copies = "raw_address" in changes
    for seed in rotation.sample(seeds, order, rotation.EIGHTH):
        given = kernel(seed, 2 + (order != PIPED and seed % 2), order, copies)
        assert given is not None
        module, launch, made = given
        words, rng = items(made.module.function("k")), random.Random(seed)
        expected, merged = left(module, launch), made.merge.launch(launch)
        for kind, change in changes.items():
            mutants = list(change(words, module.function("k")))
            for mutant in rng.sample(mutants, min(SOME, len(mutants))):
                wrong = put(made.module, "k", mutant)
                if not proven(module, wrong, given):
                    rejected[kind] += 1
                    continue
                assert same(expected, left(wrong, merged)), (seed, kind)
                assert same(expected, left(wrong, merged, scheduler="lrr", sms=3)), (seed, kind)
    assert rejected
    assert set(rejected) == set(changes) - (LINKED if order == PIPED else set()) or rotation.part() is not None


@pytest.mark.parametrize(
    ("seed", "copies"), [*((n, False) for n in (*MUTATED, *VOTED)), *((n, True) for n in COPIED)]
)  # fmt: skip
def test_what_is_proven_of_other_merged_originals_runs_alike(seed: int, copies: bool) -> None:
    """One change of both kernels makes another original, whose threads may part or whose contents may be older."""
    given = kernel(seed, 2 + copies * (seed % 2), copies=copies)
    assert given is not None
    module, launch, made = given
    pairs = list(in_both(module, made.module, "k", PREFIX))
    for original, other in random.Random(seed).sample(pairs, 20):
        if proven(original, other, given) and (expected := left(original, launch)) is not None:
            assert same(expected, left(other, made.merge.launch(launch)))


def test_many_virtual_blocks_meet_in_few_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is assumed of two virtual blocks, ways to meet with assumptions are not followed: there were 76,000
    for each two of these seven, and the answer took minutes. (It is no: of their votes too little is known.)"""
    text, launch = exchanging(1176, aligned=True)
    *_, step = shortened(program(text), "k", launch.block)
    module = with_late_exits(step.module, "k", launch.block)
    made = merge_blocks(module, "k", launch.block, 7)
    found = []

    def counted(*given: Any) -> Iterator[beside.Moment]:
        found.append(list(beside.moments(*given)))
        return iter(found[-1])

    monkeypatch.setattr(course, "moments", counted)
    check_merged(module, made.module, "k", launch.block, 7, made.merge.axis)
    assert len(found) == sum(n * (n - 1) // 2 for n in range(2, 8))
    for each in found:
        assert len(each) < 1000
        assert len({moment.where for moment in each}) == len(each)

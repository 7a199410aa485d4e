"""The checker rejects defects: every mutant of the hand-made pairs, and samples of mutants of random rewrites.

A mutant that is accepted must be equivalent: a run on hashed values, which shares nothing with the checker, leaves the
same trace of effects for every seed. Kinds in `ALWAYS_WRONG` are never accepted.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from binalloc.isa.instruction import Module
from binalloc.verify.checker import check
from tests.support.kits.suite import rotation
from tests.support.oracles.verify.hash_machine import same_memory, same_traces
from tests.support.pairs.hand_made import PAIRS, pair
from tests.support.pairs.hand_made_order import ORDER
from tests.support.pairs.mutants import ALWAYS_WRONG, MOVED_ACCESSES, Mutant, mutants
from tests.support.pairs.random_pairs import random_original, random_rewrite
from tests.support.programs.builder import identity

SEEDS = range(12)
PLENTIFUL = ("clobbered register", "clobbered slot", "killed predicate", "wrong register definition")


def judge(original: Module, mutant: Mutant, moved: bool = False) -> str:
    """ "" if the checker's answer is right, else what is wrong with it. moved: accesses are in another order."""
    report = check(original, mutant.module, "k")
    if any(e.kind == "internal" for e in report.errors):
        return f"{mutant.kind} at {mutant.place}: {report}"
    if not report.ok or report.notes:
        return ""
    same = same_memory if moved or mutant.kind == MOVED_ACCESSES else same_traces
    if mutant.kind in ALWAYS_WRONG or not same(original, mutant.module, "k", SEEDS):
        return f"{mutant.kind} at {mutant.place} was accepted"
    return ""


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_every_mutant_of_a_hand_made_pair(name: str) -> None:
    original, rewritten = pair(name)
    moved = name in ORDER
    assert (same_memory if moved else same_traces)(original, rewritten, "k", SEEDS)
    rng = random.Random(name)
    by_kind: dict[str, list[Mutant]] = {}
    for m in mutants(rewritten, "k"):
        if m.kind not in PLENTIFUL or rng.random() < 0.1:
            by_kind.setdefault(m.kind, []).append(m)
    assert sum(map(len, by_kind.values())) > 100
    wrong = [judge(original, m, moved) for kind, ms in by_kind.items() for m in rotation.sample(ms, f"{name} {kind}")]
    assert not any(wrong), "\n".join(filter(None, wrong))


def test_mutation_library_reaches_its_kinds() -> None:
    kinds = Counter(m.kind for name in PAIRS for m in mutants(pair(name)[1], "k"))
    assert len(kinds) >= 50
    assert ALWAYS_WRONG - set(kinds) == {"constants changed", "variables changed"}  # no pair has either


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(16))
def test_random_programs(seed: int) -> None:
    original = random_original(seed)
    assert check(original, identity(original), "k").ok
    rewritten = random_rewrite(original, seed)
    report = check(original, rewritten, "k")
    assert report.ok, str(report)
    assert not report.notes
    assert same_traces(original, rewritten, "k", range(2))


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(100, 104))
def test_sampled_mutants_of_random_rewrites(seed: int) -> None:
    original = random_original(seed, size=5)
    rewritten = random_rewrite(original, seed)
    everything = list(mutants(rewritten, "k"))
    by_kind: dict[str, list[Mutant]] = {}
    for m in everything:
        by_kind.setdefault(m.kind, []).append(m)
    rng = random.Random(seed)
    wrong = [judge(original, rng.choice(ms)) for _, ms in sorted(by_kind.items())]
    assert not any(wrong), "\n".join(filter(None, wrong))


def test_changed_constant_bank_is_rejected_and_an_appended_one_is_not() -> None:
    original, rewritten = pair("renamed")
    original.constants = {3: b"abcd"}
    rewritten.constants = {3: b"abcdefgh", 4: b"new"}
    assert check(original, rewritten, "k").ok
    rewritten.constants = {3: b"abce"}
    assert not check(original, rewritten, "k").ok

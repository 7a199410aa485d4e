"""The checker on programs in another order: what a plain scrambler makes is accepted, mutants of it are not.

Whether a pair does the same a run on hashed values and real memory tells, which knows nothing of the checker.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from binalloc.isa.instruction import Module
from binalloc.verify.checker import check
from tests.support.oracles.verify.hash_machine import same_memory
from tests.support.pairs.mutants import Mutant, mutants
from tests.support.pairs.random_pairs import random_original
from tests.support.pairs.scrambled import scramble


def scrambled(seed: int, size: int = 12) -> tuple[Module, Module]:
    original = random_original(seed, size=size)
    return original, scramble(original, seed)


@pytest.mark.parametrize("seed", range(30))
def test_what_is_scrambled_right_is_accepted(seed: int) -> None:
    original, rewritten = scrambled(seed)
    assert same_memory(original, rewritten, "k", range(3))
    report = check(original, rewritten, "k")
    assert report.ok, str(report)
    assert not report.notes


def test_the_scrambler_does_all_that_it_says() -> None:
    done: Counter[str] = Counter()
    for seed in range(10):
        original, rewritten = scrambled(seed)
        for fn in rewritten.functions:
            assert fn.origin is not None
            index = fn.origin.index
            kept = [k for k in index if k != -1]
            done["order"] += kept != sorted(kept)
            done["again"] += len(kept) != len(set(kept))
            done["exchange"] += sum(fn.instrs[n].name == "LOP3" for n, k in enumerate(index) if k == -1) >= 6
        done["more"] += sum(map(len, rewritten)) > sum(map(len, original))
    assert min(done[kind] for kind in ("order", "again", "exchange", "more")) >= 5


@pytest.mark.parametrize("seed", range(200, 203))
def test_sampled_mutants_of_what_is_scrambled(seed: int) -> None:
    original, rewritten = scrambled(seed, size=6)
    by_kind: dict[str, list[Mutant]] = {}
    for m in mutants(rewritten, "k"):
        by_kind.setdefault(m.kind, []).append(m)
    rng = random.Random(seed)
    wrong = []
    for kind, ms in sorted(by_kind.items()):
        for mutant in rng.sample(ms, min(3, len(ms))):
            report = check(original, mutant.module, "k")
            assert not any(e.kind in ("internal", "limit") for e in report.errors), str(report)
            if report.ok and not same_memory(original, mutant.module, "k", range(12)):
                wrong.append(f"{kind} at {mutant.place}")
    assert not wrong

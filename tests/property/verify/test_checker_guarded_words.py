"""The checker against an oracle on values that nobody wrote: what it accepts is right.

Small random originals read registers, predicates and words of local memory that are written on some ways only, or on
none. Random changes make rewrites of them, right and wrong ones; which they are `right_rewrite.py` says, by symbolic
runs in every case of what the predicates are.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from binalloc.verify.checker import check
from tests.support.generator.verify.guarded import Shape, guarded_program
from tests.support.oracles.verify.right_rewrite import is_right
from tests.support.oracles.verify.symbolic_thread import Program
from tests.support.pairs.guarded_mutants import CHANGES, rewrite
from tests.support.programs.guarded import (
    KERNEL,
    identically,
    original_module,
    original_text,
    rewritten_module,
    rewritten_text,
)

SHAPES = {
    "guards alone": Shape(),
    "calls": Shape(calls=True),
    "branches and loops": Shape(flow=True),
    "local words": Shape(memory=True),
    "unwritten guards": Shape(late=True),
    "all": Shape(calls=True, flow=True, memory=True, late=True),
}
SEEDS, MORE = range(250, 310), range(1000, 1600)
"""The former have wrong rewrites that the checker accepts once it forgets, where a guard splits the threads, what is
free from there on (`touched`), takes what is known at a call for its opposite, or an exchange for one across blocks."""
REWRITES = 12
RIGHT, WRONG = 250, 100
"""So many rewrites of each shape that are right must be accepted, so many wrong ones must be tried."""
EACH = 5
"""So many rewrites by each kind of change must be accepted, and as many refused."""


def judged(shape: str, seeds: range) -> tuple[Counter[str], Counter[tuple[str, bool]]]:
    """Rewrites by what they are and what the checker says, kinds of changes by that. No wrong one is accepted."""
    counts, kinds = Counter[str](), Counter[tuple[str, bool]]()
    wrong = []
    for seed in seeds:
        functions = guarded_program(seed, SHAPES[shape])
        original = original_module(functions)
        program = Program(original, KERNEL)
        same = rewritten_module({name: identically(words) for name, words in functions.items()})
        report = check(original, same, KERNEL)
        assert report.ok, f"{seed}: {report}"
        assert is_right(program, Program(same, KERNEL)), seed
        rng = random.Random(f"rewrites {seed}")
        for _ in range(REWRITES):
            changed, done = rewrite(rng, functions)
            rewritten = rewritten_module(changed)
            right = is_right(program, Program(rewritten, KERNEL))
            report = check(original, rewritten, KERNEL)
            assert not any(e.kind in ("internal", "limit") for e in report.errors), f"{seed}: {report}"
            counts[f"{'right' if right else 'wrong'}, {'accepted' if report.ok else 'refused'}"] += 1
            kinds.update((kind, report.ok) for kind in done)
            if report.ok and not right:
                wrong.append(f"{seed}, {sorted(done)}\n{original_text(functions)}\n{rewritten_text(changed)}")
    assert not wrong, f"{len(wrong)} wrong rewrites accepted, the shortest:\n{min(wrong, key=len)}"
    return counts, kinds


@pytest.mark.parametrize("shape", SHAPES)
def test_no_wrong_rewrite_of_guarded_words_is_accepted(shape: str) -> None:
    counts, kinds = judged(shape, SEEDS)
    assert counts["right, accepted"] >= RIGHT, counts
    assert counts["wrong, refused"] >= WRONG, counts
    wanted = set(CHANGES) - (set() if SHAPES[shape].memory else {"lifted"})
    assert {(kind, ok) for kind in wanted for ok in (True, False) if kinds[kind, ok] < EACH} == set(), kinds


@pytest.mark.full
@pytest.mark.parametrize("shape", SHAPES)
def test_no_wrong_rewrite_of_more_guarded_words_is_accepted(shape: str) -> None:
    judged(shape, MORE)

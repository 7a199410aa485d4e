"""Random kernels whose blocks get shared memory as they run are proven, and wrong ones are not: whatever is proven runs
like its original, with other blocks in the memory in between."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache

import numpy as np
import pytest

from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import run_launch
from binalloc.errors import BinallocError
from binalloc.isa.instruction import Module
from binalloc.launch.types import Launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.multiplex.public import Multiplexed, get_as_they_run
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.multiplex.check import check_public
from binalloc.verify.multiplex.division import Division
from tests.support.generator.transform.exchanges import exchanging
from tests.support.kits.suite import rotation
from tests.support.pairs.multiplex.public_mutants import KINDS, in_both, items, put
from tests.support.programs.builder import program

MACHINE = load_machine("t4")
SEEDS = 60
MUTATED = range(8)
SOME = 3 if rotation.part() is None else 1  # mutants of a kind, of one kernel
PREFIX = 15  # words of the generator's kernels that compute where the output goes: blocks may not share it


@cache
def kernel(seed: int) -> tuple[Module, Launch, Multiplexed]:
    text, launch = exchanging(seed)
    module = program(text)
    return module, launch, get_as_they_run(module, "k", launch.block)


def proven(original: Module, made: Module, seed: int) -> bool:
    parts, launch = kernel(seed)[2].parts, kernel(seed)[1]
    division = Division(parts.low, parts.first, parts.high, parts.moved)
    report = check_public(original, made, "k", launch.block, division)
    assert not any(error.kind in ("internal", "limit") for error in report.errors), report
    return report.ok


def left(module: Module, launch: Launch, **options: object) -> dict[str, np.ndarray] | None:
    """What a launch leaves; None where it stops with a fault, a race, or a read of words that were not written."""
    given = RunOptions(machine=MACHINE, check=True, race=True, max_cycles=1_000_000, **{"sms": 1, **options})  # type: ignore[arg-type]
    try:
        return dict(run_launch(schedule(module, MACHINE), "k", launch, given).buffers)
    except BinallocError:
        return None


def same(one: dict[str, np.ndarray] | None, other: dict[str, np.ndarray] | None) -> bool:
    return one is not None and other is not None and all(np.array_equal(one[k], other[k]) for k in one)


def test_random_kernels_are_proven() -> None:
    seeds = rotation.sample(range(SEEDS), "public kernels")
    assert [seed for seed in seeds if not proven(kernel(seed)[0], kernel(seed)[2].module, seed)] == []


def test_mutants_are_rejected_or_run_alike() -> None:
    rejected: Counter[str] = Counter()
    for seed in MUTATED:
        module, launch, made = kernel(seed)
        words, rng = items(made.module.function("k")), random.Random(seed)
        expected = left(module, launch)
        for kind, change in KINDS.items():
            mutants = list(change(words, module.function("k")))
            for mutant in rng.sample(mutants, min(SOME, len(mutants))):
                wrong = put(made.module, "k", mutant)
                if not proven(module, wrong, seed):
                    rejected[kind] += 1
                    continue
                assert same(expected, left(wrong, launch)), (seed, kind)
                assert same(expected, left(wrong, launch, over=1)), (seed, kind)
    assert set(rejected) == set(KINDS)


@pytest.mark.parametrize("seed", range(100, 106))
def test_what_is_proven_of_other_originals_runs_alike(seed: int) -> None:
    """One change of both kernels makes another original, whose threads may part or whose contents may be older."""
    module, launch, made = kernel(seed)
    pairs = list(in_both(module, made.module, "k", PREFIX))
    for original, other in random.Random(seed).sample(pairs, 20):
        if proven(original, other, seed) and (expected := left(original, launch)) is not None:
            assert same(expected, left(other, launch, over=1))

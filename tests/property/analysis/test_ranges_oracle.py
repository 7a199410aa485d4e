"""Ranges against runs: what is said of every value, fact, round and thread holds in every thread that comes there."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

import pytest

from binalloc.analysis.program import ProgramAnalysis, analyse
from binalloc.analysis.ranges.ranges import ranges
from binalloc.analysis.ranges.threads import Threads
from binalloc.emulator.runs.run import run
from binalloc.isa.text.assembler import assemble
from binalloc.launch.types import Argument, Launch
from binalloc.transform.schedule.schedule import schedule
from tests.support.generator.analysis.counting import counting_program
from tests.support.generator.launches import random_words
from tests.support.kits.analysis import wide_program
from tests.support.kits.transform.rewrite_judge import MACHINE
from tests.support.oracles.analysis.evaluated import Evaluated, evaluated

SEEDS = 120


def judge(program: ProgramAnalysis, launch: Launch, patch: pytest.MonkeyPatch, how: str = "sized") -> Evaluated:
    """Compare the ranges of a program with a run.

    how: the analysis knows the size of blocks ("sized"), or does not ("any"), or speaks of first threads ("first").
    """
    size = launch.block if how == "sized" else None
    threads = Threads(program.isa.limits, size, launch.threads_per_block, first=how == "first")
    with evaluated(ranges(program, threads), patch) as seen:
        run(schedule(program.module, MACHINE), launch.kernel, launch, MACHINE, engine="python", max_cycles=50_000)
    assert not seen.failures, "\n".join(seen.failures)
    return seen


def counting(seed: int) -> tuple[ProgramAnalysis, Launch]:
    """Return a random program that counts, and its launch."""
    text, shape = counting_program(seed)
    scalars = [
        Argument(name, "scalar", "u32", value=(seed * 2654435761 + k * 40503) % (1 << (5, 32)[(seed + k) % 2]))
        for k, name in enumerate("nm")
    ]
    words = random_words("x", 64, (32, 5)[seed % 2], seed)
    return analyse(assemble(text), "k"), Launch("k", (2 if seed % 5 == 0 else 1, 1, 1), shape, 0, (*scalars, words))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_counting_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert judge(*counting(seed), monkeypatch, {0: "any", 3: "first"}.get(seed % 6, "sized")).counts.evaluated


def test_everything_that_the_oracle_compares_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [judge(*counting(seed), monkeypatch).counts for seed in range(8)]
    total = Counter[str]()
    for each in found:
        total.update(asdict(each))
    assert all(total.values()), total
    assert any(each.lasts for each in found)


@pytest.mark.parametrize("seed", range(30))
def test_wide_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = wide_program(seed)
    if found is not None:
        judge(*found, monkeypatch)

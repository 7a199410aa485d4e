"""Scopes of values against runs: threads of a group that read a value at one place and in one round read the same."""

from __future__ import annotations

from collections import defaultdict

import pytest

from binalloc.analysis.program import ProgramAnalysis, analyse
from binalloc.analysis.shared.barriers import Arrival, barrier_sites
from binalloc.analysis.shared.uniformity import Scope, Uniformity, uniformity
from binalloc.emulator.runs.run import run
from binalloc.launch.types import Argument, Launch
from binalloc.transform.schedule.schedule import schedule
from tests.support.generator.analysis.uniform import uniform_program
from tests.support.kits.analysis import wide_program
from tests.support.kits.transform.rewrite_judge import MACHINE
from tests.support.oracles.analysis.watched import Thread, Watched, watched
from tests.support.programs.builder import program

SEEDS = 90


def group(scope: Scope, thread: Thread) -> tuple[int, ...]:
    """Return the thread's group of that size."""
    return {Scope.GRID: (), Scope.BLOCK: thread[:1], Scope.WARP: thread[:2], Scope.THREAD: thread}[scope]


def agree(found: Uniformity, seen: Watched) -> None:
    """Assert that what the analysis says of values and of control flow held in the run."""
    for (name, word, ref, unit, around), read in seen.values.items():
        web = found.program[name].webs.web_of_use[word, ref, unit]
        scope = found.functions[name].webs[web]
        values = defaultdict(set)
        for thread, value in read.items():
            values[group(scope, thread)].add(value)
        assert all(len(each) == 1 for each in values.values()), (name, word, ref, unit, around, scope)
    sites = {site.place: site.arrival for site in barrier_sites(found)}
    ends = any(
        seen_.control == "exit" and f.cfg.reachable(i) and found.executed(name, i) < Scope.BLOCK
        for name, f in found.program.functions.items()
        for i, seen_ in enumerate(f.cfg.views)
    )
    for (name, word, around), came in seen.came.items():
        scope = found.executed(name, word)
        arrival = sites.get((name, word))
        if ends and arrival is not Arrival.ALL:
            continue
        if arrival is Arrival.ALL:
            scope = max(scope, Scope.BLOCK)
        groups = {group(scope, thread) for thread in came}
        missing = {thread for thread in seen.threads if group(scope, thread) in groups} - came
        assert not missing, (name, word, around, scope)


def judge(found: ProgramAnalysis, launch: Launch, patch: pytest.MonkeyPatch) -> Watched:
    with watched(found, patch) as seen:
        run(schedule(found.module, MACHINE), launch.kernel, launch, MACHINE, engine="python", max_cycles=400_000)
    agree(uniformity(found), seen)
    return seen


@pytest.mark.parametrize("seed", range(SEEDS))
def test_uniform_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = Launch("k", (2, 1, 1), (64, 1, 1), 0, (Argument("x", "scalar", "u64", value=7),))
    assert judge(analyse(program(uniform_program(seed)), "k"), launch, monkeypatch).values


@pytest.mark.parametrize("seed", range(30))
def test_wide_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = wide_program(seed)
    if found is not None:
        judge(*found, monkeypatch)

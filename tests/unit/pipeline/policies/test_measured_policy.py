"""Policy `measured`: it runs few levels, those that the model expects most of, and takes nothing that is slower."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from binalloc.isa.sets.files import load
from binalloc.launch.file import load_launch
from binalloc.models.machines.budget import Budget
from binalloc.pipeline.pipeline import Outcome, rewrite_kernel
from binalloc.pipeline.policies import measured
from binalloc.pipeline.policies.levels import Levels
from binalloc.pipeline.request import Preparations, Request
from binalloc.pipeline.steps.version import Tried
from tests.support.paths import sample_file


def outcome(name: str, policy: str) -> Outcome:
    launch = load_launch(sample_file(f"{name}.toml"), "test")
    return rewrite_kernel(load(sample_file(f"{name}.loom")), Request(machine="gtx680", launch=launch, policy=policy))


@cache
def kept(name: str, policy: str) -> Outcome:
    """The outcome with nothing changed in between, once for all tests."""
    return outcome(name, policy)


def ran(found: Outcome) -> dict[int, int]:
    """Cycles by the number of blocks of the levels that were run by allocator `best`, as all are but `exhaustive`'s
    further ones; the original's other order not among them."""
    tried = [(t.budget.blocks, t.version) for t in found.tried if t.version is not None]
    by_best = {b: v for b, v in tried if v is not found.original and v.allocator == "best"}
    return {blocks: version.cycles for blocks, version in by_best.items() if version.cycles}


@pytest.mark.rotates
@pytest.mark.parametrize("name", ["nbody", "stencil3d", "matmul", "callchain"])
def test_a_third_of_the_levels_is_run_and_the_fastest_of_those_taken(name: str) -> None:
    every, few = kept(name, "exhaustive"), kept(name, "measured")
    assert few.original.cycles == every.original.cycles
    all_levels, some = ran(every), ran(few)
    assert 1 <= len(some) <= max(1, len(all_levels) // 3)
    assert some.items() <= all_levels.items()
    assert few.rewritten.cycles is not None
    assert few.original.cycles is not None
    assert few.rewritten.cycles <= few.original.cycles
    if few.kept_original or few.by_order_alone:
        assert min(some.values()) >= few.original.cycles
        assert "none beats the original" in few.reason
    else:
        assert few.rewritten.cycles <= min(some.values())


def test_all_levels_are_run_where_the_share_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is `exhaustive`, and of levels that are one program one stands for all."""
    monkeypatch.setattr(measured, "SHARE", 1)
    every, few = kept("stencil3d", "exhaustive"), outcome("stencil3d", "measured")
    own = every.given.blocks_per_sm
    above = {cycles for blocks, cycles in ran(every).items() if blocks > own}
    assert above <= set(ran(few).values()) <= set(ran(every).values()), "below it only what is expected to gain"
    assert few.rewritten.cycles == every.rewritten.cycles


def level(expected: float, blocks: int = 0, local_bytes: int = 0) -> tuple[Tried, float]:
    version: Any = SimpleNamespace(blocks_per_sm=blocks, local_bytes=local_bytes)
    return Tried(Budget(blocks, 32, 0), version), expected


def test_of_what_the_model_cannot_tell_apart_least_spilled_and_most_blocks_first() -> None:
    order = measured._in_order
    assert order([level(1.0), level(1.2), level(1.1)]) == [1, 2, 0]
    assert order([level(1.195, 3, 4), level(1.2, 4, 8), level(1.1, 5)]) == [0, 1, 2]
    assert order([level(1.195, 3), level(1.2, 4), level(1.19, 5)]) == [2, 1, 0]
    assert order([level(1.16), level(1.2), level(0.0), level(1.3)]) == [3, 1, 0]
    assert order([level(0.0)]) == order([]) == []


def test_no_level_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Levels, "all_others", [])
    found = outcome("nbody", "measured")
    assert found.by_order_alone
    assert found.speedup == 1
    assert found.reason == "there is no level but the original's, which is taken in another order"


@pytest.mark.rotates("long")
def test_other_allocators_have_their_turn_at_the_level_that_is_taken() -> None:
    launch = load_launch(sample_file("nbody.toml"), "test")
    module = load(sample_file("nbody.loom"))
    asked = Request(machine="gtx680", launch=launch, policy="measured")
    ran = [t for t in kept("nbody", "measured").tried if t.version and t.version.cycles]
    by_best, (other,) = ([t for t in ran if t.version and t.version.allocator == name] for name in ("best", "unified"))
    assert other.budget == min(by_best, key=cycles).budget
    alone = rewrite_kernel(module, replace(asked, allocator="ptxas-smem", prepared=Preparations())).tried
    assert {t.version.allocator for t in alone if t.version} <= {"ptxas-smem", "local"}


def cycles(tried: Tried) -> int:
    assert tried.version
    return tried.version.cycles or 0

"""Allocators and policies: found by name, and the rules of the exhaustive one."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from binalloc.errors import UsageError
from binalloc.isa.instruction import Module
from binalloc.models.allocation.stack.slots import PRIORITIES
from binalloc.models.machines.budget import Budget
from binalloc.pipeline.policies import exhaustive
from binalloc.pipeline.policies.table import POLICIES, find_policy
from binalloc.transform.allocators.heuristic import Heuristic
from binalloc.transform.allocators.table import ALLOCATORS, find_allocator
from tests.support.paths import ROOT


def test_tables_name_what_exists() -> None:
    assert list(ALLOCATORS)[:6] == ["local", "unified", "ptxas-smem", "regdem", "best", "cpsat"]
    assert list(POLICIES)[:3] == ["exhaustive", "unified", "model"]
    assert {a.priority for a in ALLOCATORS.values() if isinstance(a, Heuristic)} <= set(PRIORITIES)
    assert [POLICIES[name].measures for name in ("exhaustive", "unified", "model")] == [True, False, False]
    with pytest.raises(UsageError, match="expected local, unified, ptxas-smem, regdem, best or cpsat"):
        find_allocator("bset")
    with pytest.raises(UsageError, match="no such policy"):
        find_policy("auto")


def test_the_pages_tell_every_row() -> None:
    fields, questions = (ROOT / "binalloc/report/JSON.md").read_text(), ROOT / "docs/questions"
    allocators = (questions / "allocators.md").read_text().split("| allocator | what it does |")[1]
    rows = re.findall(r"^\| `([\w-]+)` \|", allocators, re.MULTILINE)
    assert rows[: len(ALLOCATORS)] == [*ALLOCATORS]
    blocks = (questions / "how_many_blocks.md").read_text()
    assert [name for name in POLICIES if f"`--policy {name}`" not in blocks] == []
    row = re.findall(r"^\| `allocator` \| (.*) \|$", fields, re.MULTILINE)[0]
    assert re.findall(r"`([\w-]+)`", row) == [*ALLOCATORS]


@pytest.mark.parametrize(
    ("blocks", "original", "best"),
    [((1, 2, 3, 4, 5), 200, 2), ((1, 2, 4), 71, 2), ((1, 2, 4), 70, None), ((3,), 200, None), ((), 200, None)],
)
def test_the_exhaustive_policy_prefers_the_original_then_fewer_blocks(
    monkeypatch: pytest.MonkeyPatch, blocks: tuple[int, ...], original: int, best: int | None
) -> None:
    cycles = {1: 90, 2: 70, 3: None, 4: 70, 5: 80}

    def at(_: Any, budget: Budget, *__: Any) -> Any:
        found = cycles[budget.blocks]
        version = None if found is None else SimpleNamespace(cycles=found, blocks=budget.blocks, module=budget)
        return [SimpleNamespace(budget=budget, version=version, reason="" if found else "infeasible")]

    budgets = [Budget(b, 40 - b, 0) for b in blocks]
    monkeypatch.setattr(exhaustive, "Levels", lambda *_: SimpleNamespace(all_others=budgets))
    monkeypatch.setattr(exhaustive, "_at", at)
    request: Any = SimpleNamespace(kernel="k", progress=lambda _: None, allocator="best")
    first: Any = SimpleNamespace(base=SimpleNamespace(cycles=original))
    choice = exhaustive.Exhaustive().search(Module(), request, first)
    assert (choice.best.blocks if choice.best else None) == best  # type: ignore[attr-defined]
    assert [t.budget.blocks for t in choice.tried] == list(blocks)

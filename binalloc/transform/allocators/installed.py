"""This module calls allocators of other installed packages as our own, and checks that they return a valid plan."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from math import inf
from types import UnionType
from typing import Any

from binalloc.errors import Refused
from binalloc.plugins.entries import PluginEntry
from binalloc.plugins.fault import PluginFault, blaming
from binalloc.transform.allocators.allocator import Allocator, Plan, Problem


@dataclass(frozen=True)
class InstalledAllocator:
    """An installed allocator is found through an entry point."""

    #: names an object with `allocate(problem)`, or a class that takes no arguments; without `is_feasible`, allocating
    #: finds that out
    entry: PluginEntry

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def summary(self) -> str:
        return self.entry.summary

    def allocate(self, problem: Problem) -> Plan:
        found = _loaded(self.entry)
        with blaming(self.entry.place):
            plan = found.allocate(problem)
        wrong = _wrong(plan, problem)
        if wrong:
            raise PluginFault("gave no plan", self.entry.place, f"{type(found).__name__}.allocate", wrong)
        return plan  # type: ignore[no-any-return]  # `_wrong` has looked

    def is_feasible(self, problem: Problem) -> bool:
        found = _loaded(self.entry)
        if not hasattr(found, "is_feasible"):
            try:
                self.allocate(problem)
            except Refused:
                return False
            return True
        with blaming(self.entry.place):
            return bool(found.is_feasible(problem))


def blamed_for(allocator: Allocator) -> AbstractContextManager[None]:
    """Return a context for the rest of a rewrite with an allocator's plan. If the allocator is an installed one,
    failures in it are blamed on its plan."""
    if isinstance(allocator, InstalledAllocator):
        return blaming(allocator.entry.place, "gave a plan that cannot be carried out")
    return nullcontext()


@cache
def _loaded(entry: PluginEntry) -> Any:
    found = entry.load()
    if isinstance(found, type):
        with blaming(entry.place):
            found = found()
    if not callable(getattr(found, "allocate", None)):
        what = f"{type(found).__name__}, which has no method `allocate`"
        raise PluginFault("is no allocator", entry.place, "", what)
    return found


def _wrong(plan: object, problem: Problem) -> str:
    """Say why this is no plan for the problem; "" if it is one."""
    from binalloc.models.allocation.stack.slot_plan import SlotPlan
    from binalloc.transform.allocate.attempt import Attempt

    if not isinstance(plan, Plan):
        return f"{type(plan).__name__}, not a Plan"
    parts: tuple[tuple[str, type | UnionType], ...] = (
        ("attempt", Attempt), ("memory", SlotPlan), ("solver", list), ("bound", float | int | None),
    )  # fmt: skip
    for name, kind in parts:
        part = getattr(plan, name)
        if not isinstance(part, kind):
            return f"a Plan whose `{name}` is {type(part).__name__}"
    if plan.bound is not None and not 0 <= plan.bound < inf:
        return f"a Plan whose `bound` is {plan.bound}"
    if plan.attempt.program is not problem.program:
        return "a plan for another program than the problem's"
    missing = sorted(set(problem.program.functions) - plan.attempt.allocations.keys())
    return f"a plan without registers for {missing[0]}" if missing else ""

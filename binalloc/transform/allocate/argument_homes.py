"""Where arguments that travel in memory arrive: what callers store to, and how often their code does.

Needs finished allocations, with a place for each of their memory values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from binalloc.analysis.locations import Location
from binalloc.models.allocation.stack.slot_plan import ProcedurePlan
from binalloc.transform.allocate.functions.registers import RegisterAllocation
from binalloc.transform.virtual.code import PASS, Item


@dataclass(frozen=True)
class ArgumentHome:
    """at: the slot, from the function's own first one, or the word of the spill area."""

    in_slot: bool
    at: int


def argument_homes(allocation: RegisterAllocation, plan: ProcedurePlan) -> dict[Location, ArgumentHome]:
    """Of the arguments that the function reads there in the end: by the place that callers know."""
    number = {v: k for k, v in enumerate(allocation.memory)}
    homes = {}
    for location, v in allocation.code.arrives.items():
        k = number.get(v, -1)
        if k in plan.slot_of:
            homes[location] = ArgumentHome(True, plan.slot_of[k])
        elif k in plan.local_of:
            homes[location] = ArgumentHome(False, plan.local_offset + plan.local_of[k])
    return homes


def passes(allocation: RegisterAllocation) -> Iterator[tuple[str, list[Item]]]:
    """The function's calls, in order: the callee, and the stores of its arguments in front of the call."""
    stored: list[Item] = []
    for item in allocation.code.items():
        if item.kind == PASS:
            stored.append(item)
        elif item.callee:
            yield item.callee, stored
            stored = []


def count_passes(
    allocations: Mapping[str, RegisterAllocation], runs: Mapping[str, float]
) -> dict[str, dict[Location, tuple[int, float]]]:
    """By function and argument, how many places in the code of its callers store it, and how often those run per run of
    the kernel. runs: of each function, likewise."""
    found: dict[str, dict[Location, tuple[int, float]]] = {}
    for name, allocation in allocations.items():
        for callee, stored in passes(allocation):
            mine = found.setdefault(callee, {})
            for item in stored:
                number, weight = mine.get(item.passes, (0, 0.0))
                mine[item.passes] = number + 1, weight + runs[name] * item.weight
    return found

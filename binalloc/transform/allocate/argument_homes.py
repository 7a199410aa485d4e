"""This module finds the homes of arguments passed in memory: the places that callers store to, and how often they do.

It needs finished allocations, with a place for each of their memory values.
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
    """An argument's home is the place in memory at which a function finds it."""

    in_slot: bool  #: in a slot, else in local memory
    at: int  #: the slot, from the function's own first one; or the word of the spill area


def argument_homes(allocation: RegisterAllocation, plan: ProcedurePlan) -> dict[Location, ArgumentHome]:
    """Return the homes of the arguments that the function reads from memory in the end, by the place known to
    callers."""
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
    """Yield the function's calls in order: the callee, and the stores of its arguments in front of the call."""
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
    """Count, by function and argument, the stores of it in the code of callers, and how often they run per run of the
    kernel. runs: of each function, likewise."""
    found: dict[str, dict[Location, tuple[int, float]]] = {}
    for name, allocation in allocations.items():
        for callee, stored in passes(allocation):
            mine = found.setdefault(callee, {})
            for item in stored:
                number, weight = mine.get(item.passes, (0, 0.0))
                mine[item.passes] = number + 1, weight + runs[name] * item.weight
    return found

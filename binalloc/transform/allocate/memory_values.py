"""Slots or local words for the values that spill code keeps in memory, over the whole call graph."""

from __future__ import annotations

from binalloc.bitset import bits, long_mask
from binalloc.models.allocation.slots import Procedure, ProcedureCall, SlotPlan, plan_slots
from binalloc.models.allocation.terms import Value
from binalloc.transform.allocate.attempt import Attempt
from binalloc.transform.allocate.frequencies import frequencies
from binalloc.transform.virtual.code import RELOAD, STORE
from binalloc.transform.virtual.flat import Flat, flatten
from binalloc.transform.virtual.live_ranges import LiveRanges
from binalloc.transform.virtual.memory_ranges import memory_ranges


def plan_memory(attempt: Attempt, kernel: str, slots: int, priority: str, *, only_kernel: bool = False) -> SlotPlan:
    """Slots or local words for the memory values of the whole call graph. only_kernel: those of functions that it calls
    get no slots."""
    return plan_slots(memory_procedures(attempt), kernel, slots, priority, only_kernel=only_kernel)


def memory_procedures(attempt: Attempt) -> dict[str, Procedure]:
    """The memory values of every function, callers first; numbered as in `RegisterAllocation.memory`."""
    frequency = frequencies(attempt.program)
    return {name: _procedure(attempt, name, frequency[name]) for name in attempt.program.graph.top_down}


def _procedure(attempt: Attempt, name: str, frequency: float) -> Procedure:
    allocation = attempt.allocations[name]
    number: dict[int, int] = {value: k for k, value in enumerate(allocation.memory)}
    flat = flatten(allocation.code)
    exits = _live_after(flat, memory_ranges(flat, len(allocation.code.names)), allocation.memory)
    beside: list[set[int]] = [set() for _ in number]
    cost = [0.0] * len(number)
    calls = []
    scratch = iter(attempt.scratch[name])
    known = 0
    others: list[int] = []
    for item, after in zip(flat.items, exits, strict=True):
        if item.kind in (RELOAD, STORE):
            cost[number[item.memory]] += item.weight
        if item.kind == STORE:
            v = number[item.memory]
            if after != known:
                known, others = after, bits(after)
            beside[v].update(others)
            for n in others:
                beside[n].add(v)
        if item.callee:
            before, behind = next(scratch)
            calls.append(ProcedureCall(item.callee, after, before >= 0 and behind >= 0, item.weight))
    adjacency = [long_mask(found - {v}) for v, found in enumerate(beside)]
    return Procedure(name, len(number), exits, adjacency, calls, cost, frequency)


def _live_after(flat: Flat, live: LiveRanges, memory: list[Value]) -> list[int]:
    """Per item the memory values live after it, as bits over their places in `memory`."""
    begin: dict[int, int] = {}
    end: dict[int, int] = {}
    for k, v in enumerate(memory):
        for start, stop in live.intervals[v]:
            # the point behind a store that nothing reads is no life
            first, last = start // 2, (stop - 1) // 2
            begin[first] = begin.get(first, 0) | 1 << k
            if stop & 1:
                last -= 1
            end[last + 1] = end.get(last + 1, 0) | 1 << k
    out = []
    now = 0
    for k in range(len(flat.items)):
        if k in begin or k in end:  # elsewhere one number stands for all lines
            now = now & ~end.get(k, 0) | begin.get(k, 0)
        out.append(now)
    return out

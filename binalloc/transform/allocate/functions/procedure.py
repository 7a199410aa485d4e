"""This module describes the memory values of one function's spill code to the planning of slots, and computes their
cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from binalloc.bitset import bits, long_mask
from binalloc.models.allocation.stack.procedures import Event, Procedure, ProcedureCall
from binalloc.models.allocation.stack.slots import plan_slots
from binalloc.models.allocation.terms import Value
from binalloc.transform.allocate.functions.registers import RegisterAllocation
from binalloc.transform.spill.prices import SLOT_COST, Prices
from binalloc.transform.virtual.code import ARRIVE, PASS, RELOAD, STORE
from binalloc.transform.virtual.flat import Flat, flatten
from binalloc.transform.virtual.live_ranges import LiveRanges
from binalloc.transform.virtual.memory_ranges import memory_ranges


def cost_alone(allocation: RegisterAllocation, slots: int, prices: Prices) -> float:
    """Return the loop-weighted cost of a function's spill code, with slots as if it called nobody. slots: 0 where
    memory has the cost of `prices`."""
    if not slots:
        return allocation.spill_cost(prices)
    name = allocation.code.function.name
    nowhere = [(-1, -1) for item in allocation.code.items() if item.callee]
    procedure = replace(procedure_of(allocation, nowhere, 1.0), calls=(), stretches=())
    local = plan_slots({name: procedure}, name, slots, "cost").procedures[name].local_of
    far = frozenset(allocation.memory[v] for v in local)
    return allocation.spill_cost(Prices(SLOT_COST, far, prices.far))


def procedure_of(
    allocation: RegisterAllocation, scratch_registers: Sequence[tuple[int, int]], frequency: float
) -> Procedure:
    """Return the memory values of one function, numbered as in `RegisterAllocation.memory`. Two values interfere if one
    is stored, or arrives, while the other lives on. They also interfere if both live across a call (values that nobody
    stored may do so, too). A call begins with the first argument that is passed to it in memory: from there on nothing
    moves. scratch_registers: as in `Attempt`. frequency: runs of the function per run of the kernel."""
    number: dict[int, int] = {value: k for k, value in enumerate(allocation.memory)}
    flat = flatten(allocation.code)
    exits = _live_after(flat, memory_ranges(flat, len(allocation.code.names)), allocation.memory)
    stretches = _stretches(flat, exits, number)
    beside: list[set[int]] = [set() for _ in number]
    across = [0] * len(number)
    cost = [0.0] * len(number)
    calls = []
    scratch = iter(scratch_registers)
    known = counted = 0  # the last sets of live values whose bits were listed, and that were added to `across`
    others: list[int] = []
    passing = 0  # values live at some point since the first argument was passed, and a mark
    mark = 1 << len(number)
    for item, after in zip(flat.items, exits, strict=True):
        if item.memory in number:
            cost[number[item.memory]] += item.weight
        if item.kind == PASS or passing:
            passing |= after | mark
        if item.kind in (STORE, ARRIVE) and item.memory in number:
            v = number[item.memory]
            if after != known:
                known, others = after, bits(after)
            beside[v].update(others)
            for n in others:
                beside[n].add(v)
        if item.callee:
            before, behind = next(scratch)
            movable = before >= 0 and behind >= 0 and not passing
            after |= passing & ~mark
            passing = 0
            if after != counted:
                counted = after
                for v in bits(after):
                    across[v] |= after
            calls.append(ProcedureCall(item.callee, after, movable, item.weight))
    adjacency = [(long_mask(found) | across[v]) & ~(1 << v) for v, found in enumerate(beside)]
    return Procedure(allocation.code.function.name, len(number), exits, adjacency, calls, cost, frequency, stretches)


def _stretches(flat: Flat, exits: list[int], number: dict[int, int]) -> list[list[Event]]:
    """List straight-line code that has calls and accesses of memory values, as these events: a block, and the blocks
    behind it as long as there is one way on and no other way there. exits: live memory values after each item. number:
    by memory value, its place."""
    if not any(item.callee for item in flat.items):
        return []
    behind = {b: s[0] for b, s in enumerate(flat.succs) if len(s) == 1 and len(flat.preds[s[0]]) == 1}
    firsts = set(flat.blocks()).difference(behind.values())
    events = _events(flat, exits, number)
    out = []
    for b in sorted(firsts):
        found = list(events[b])
        while b in behind:
            b = behind[b]
            found += events[b]
        if any(e.variable < 0 for e in found):
            out.append(found)
    return out


def _events(flat: Flat, exits: list[int], number: dict[int, int]) -> list[list[Event]]:
    """List the events by block."""
    out: list[list[Event]] = []
    accesses = calls = 0
    for b in flat.blocks():
        found = []
        start = flat.starts[b]
        for k in range(start, flat.starts[b + 1]):
            item = flat.items[k]
            if item.kind in (RELOAD, STORE):
                v = number[item.memory]
                fresh = item.kind == STORE and k > start and not exits[k - 1] >> v & 1
                found.append(Event(v, accesses, exits[k], fresh))
                accesses += 1
            elif item.callee:
                found.append(Event(-1, calls, exits[k]))
                calls += 1
        out.append(found)
    return out


def _live_after(flat: Flat, live: LiveRanges, memory: list[Value]) -> list[int]:
    """Return, per item, the memory values live after it, as bits over their places in `memory`."""
    begin: dict[int, int] = {}
    end: dict[int, int] = {}
    for k, v in enumerate(memory):
        for start, stop in live.intervals[v]:
            # the point behind a store that nothing reads does not count
            first, last = start // 2, (stop - 1) // 2
            begin[first] = begin.get(first, 0) | 1 << k
            if stop & 1:
                last -= 1
            end[last + 1] = end.get(last + 1, 0) | 1 << k
    out = []
    now = 0
    for k in range(len(flat.items)):
        if k in begin or k in end:  # elsewhere all lines share one number
            now = now & ~end.get(k, 0) | begin.get(k, 0)
        out.append(now)
    return out

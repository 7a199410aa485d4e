"""Registers for one function: spill to pressure, colour, spill what does not fit, until everything has a register.

Needs: virtual code whose calls carry their callees' contracts. Leaves: a register for every value still in registers,
reloads and stores for the rest, and the function's own contract: where callers put arguments, where they find results,
which registers it overwrites.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from binalloc.bitset import bits, mask_from
from binalloc.errors import Refused
from binalloc.models.allocation.colouring import MUST_STAY, Colouring, ColouringProblem, Group, colour
from binalloc.models.allocation.pressure import choose_spills, to_bits
from binalloc.models.allocation.terms import Register, Value
from binalloc.transform.allocate.deadspill import drop_dead_spill_code
from binalloc.transform.allocate.overlap import overlap
from binalloc.transform.allocate.program_points import access_cost, live_points, point_masks, spill_candidates
from binalloc.transform.allocate.spill import Room, Spiller
from binalloc.transform.virtual.code import COPY, ENTRY, VCode, VOperand, mask_of
from binalloc.transform.virtual.contract import Contract
from binalloc.transform.virtual.live_values import LiveValues, live_values

MAX_ROUNDS = 400
CAREFUL = 2000
"""Items up to which one failed group is relieved at a time. A round costs little there, and the next colouring often
places others unasked; in longer code a round for each would take time quadratic in its length."""
SLACKS = (0, 1, 2, 4)
"""Registers to leave free where reloads travel, tried in order: colouring needs some against fragmentation."""


@dataclass
class RegisterAllocation:
    """A coloured function: code (with spill code), colour per value, contract, and the memory values in use."""

    code: VCode
    colour: list[Register]
    contract: Contract
    memory: list[Value]


class Infeasible(Refused):
    """The register budget cannot hold one instruction's operands, or a call's arguments."""


class NeedsMemory(Exception):
    """Not everything fits the registers, and the caller wanted to know that before any spill code is made."""


def allocate_registers(
    code: VCode,
    available: int,
    contracts: Mapping[str, Contract],
    spill_first: frozenset[int] = frozenset(),
    *,
    may_spill: bool = True,
) -> RegisterAllocation:
    """Allocate `code` to the registers in the bitset `available`.

    spill_first: groups to put into memory before anything else (an exact model's choice). Raises Infeasible, naming
    function and instruction, and NeedsMemory where it would have to spill but may not.
    """
    careful = len(code.items()) <= CAREFUL
    if spill_first:
        Spiller(code, set(spill_first)).run()
    else:
        _spill_to_pressure(code, available, contracts, may_spill)
    for _ in range(MAX_ROUNDS):
        drop_dead_spill_code(code)
        live = live_values(code)
        problem = build_problem(code, live, available, contracts)
        result = colour(problem)
        if not result.failed:
            return _finish(*_overlapped(code, result, available, contracts), contracts)
        if not may_spill:
            raise NeedsMemory
        _require_room(code, live, available, contracts)
        failed = result.failed[:1] if careful else result.failed
        chosen = _relieve(code, live, failed, available, contracts) or _more_spills(code, problem, result, available)
        Spiller(code, chosen).run()
    raise Infeasible(
        f"no allocation to {available.bit_count()} registers was found in {MAX_ROUNDS} rounds of spilling",
        place=_place_of(code, result.failed[0]),
        found=f"{available.bit_count()} registers available",
        remedy="allow more registers per thread",
    )


def _require_room(code: VCode, live: LiveValues, available: int, contracts: Mapping[str, Contract]) -> None:
    """Infeasible where values that cannot go to memory exceed the registers: no more spilling will help."""
    spillable = code.values.spillable
    stay = mask_of(tuple(VOperand("", (Value(v),)) for v, g in enumerate(code.values.group_of) if not spillable[g]))
    points, capacity = point_masks(code, live, available, contracts)
    for mask, room in zip(points, capacity.tolist(), strict=True):
        over = mask & stay
        if over.bit_count() > room:
            raise Infeasible(
                f"{room} registers cannot hold the operands that are needed at once",
                place=_place_of(code, code.values.group_of[bits(over)[-1]]),
                found=f"{room} registers available, {over.bit_count()} needed",
                remedy="allow more registers per thread",
            )


def _spill_to_pressure(code: VCode, available: int, contracts: Mapping[str, Contract], may_spill: bool) -> None:
    live = live_values(code)
    points, capacity = point_masks(code, live, available, contracts)
    pressure = np.array([m.bit_count() for m in points], np.int64)
    if not np.any(pressure > capacity):
        return
    if not may_spill:
        raise NeedsMemory
    candidates = spill_candidates(code, points, capacity < pressure)
    chosen, left = choose_spills(pressure, capacity, candidates)
    count = 2 * len(live.live_before)
    Spiller(code, set(chosen), Room(left[:count], capacity[:count])).run()


def build_problem(code: VCode, live: LiveValues, available: int, contracts: Mapping[str, Contract]) -> ColouringProblem:
    """The interference graph: a definition conflicts with all that is live after it (a copy not with its source)."""
    values = code.values
    adjacency = [0] * len(values)
    forbidden = [0] * len(values)
    affinity: dict[int, dict[int, float]] = {}
    cost = [0.0] * len(values.members)
    for item, after in zip(code.items(), live.live_after, strict=True):
        defined = mask_of(item.defs)
        around = after | defined
        if item.kind == COPY and item.guard is None:
            target, source = item.defs[0].values[0], item.uses[0].values[0]
            around &= ~(1 << source)
            affinity.setdefault(target, {})[source] = affinity.get(target, {}).get(source, 0.0) + item.weight
            affinity.setdefault(source, {})[target] = affinity.get(source, {}).get(target, 0.0) + item.weight
        for v in bits(defined):
            adjacency[v] |= around & ~(1 << v)
        if item.callee:
            clobbered = contracts[item.callee].clobbers
            for v in bits(after & ~defined):
                forbidden[v] |= clobbered
        for operand in (*item.defs, *item.uses):
            for v in operand.values:
                cost[values.group_of[v]] += item.weight * access_cost(code, v, operand in item.defs)
    for v, mask in enumerate(adjacency):
        for n in bits(mask):
            adjacency[n] |= 1 << v
    groups = [
        Group(tuple(members), values.units[g], values.align[g], cost[g] if values.spillable[g] else MUST_STAY)
        for g, members in enumerate(values.members)
    ]
    hint = code.before if all(available >> r & 1 for r in code.before.values()) else {}
    return ColouringProblem(adjacency, groups, available, forbidden, dict(values.fixed), affinity, hint)


def _overlapped(
    code: VCode, result: Colouring, available: int, contracts: Mapping[str, Contract]
) -> tuple[VCode, Colouring]:
    """The code with its reloads and stores moved apart as far as that still colours; unchanged where nothing does."""
    if not any(item.memory >= 0 for item in code.items()):
        return code, result
    for slack in SLACKS:
        moved = overlap(code, available, contracts, slack)
        attempt = colour(build_problem(moved, live_values(moved), available, contracts), whole=True)
        if not attempt.failed:
            return moved, attempt
    return code, result


def _relieve(
    code: VCode, live: LiveValues, failed: list[int], available: int, contracts: Mapping[str, Contract]
) -> set[int]:
    """Groups to spill so that the points of highest pressure at which a failed group is live get one register more.

    Fragmentation by pairs and quads, or live ranges around loops, can make colouring fail at points where the count
    alone fits; one register less there is the cheapest remedy, and not always the failed group's own spilling. All
    failed groups are served, first failure first, but for those that are live where an earlier one's remedy left a
    register free: that may do for both, as the next colouring shows.
    """
    points, capacity = point_masks(code, live, available, contracts)
    pressure = np.array([m.bit_count() for m in points], np.int64)
    live_at = live_points(points, [v for g in failed for v, _ in code.values.members[g]])
    eased = np.zeros(len(points), np.bool_)
    spills: set[int] = set()
    for g in failed:
        where = np.zeros(len(points), np.bool_)
        for v, _ in code.values.members[g]:
            where |= to_bits(live_at[v], len(points)) != 0
        if not np.any(where) or np.any(where & eased):
            continue
        slack = np.where(where, capacity - pressure, np.iinfo(np.int64).max)
        tight = where & (slack == slack.min())
        wanted = np.where(tight, pressure - 1, capacity)
        chosen, left = choose_spills(pressure, wanted, spill_candidates(code, points, wanted < pressure))
        spills.update(chosen)
        eased |= left < pressure
    return spills


def _more_spills(code: VCode, problem: ColouringProblem, result: Colouring, available: int) -> set[int]:
    """Groups to spill after a failed colouring: the failed ones that may go, else their cheapest neighbour."""
    groups = problem.groups
    spillable = code.values.spillable
    ready = [g for g in result.failed if spillable[g]]
    if ready:
        best = min(ready, key=lambda g: (groups[g].cost / (1 + len(result.neighbours[g])), g))
        return {best}
    failed = result.failed[0]
    around = sorted(n for n in result.neighbours[failed] if spillable[n])
    if not around:
        raise Infeasible(
            f"{available.bit_count()} registers cannot hold the operands that are needed at once",
            place=_place_of(code, failed),
            found=f"{available.bit_count()} registers available",
            remedy="allow more registers per thread",
        )
    return {min(around, key=lambda g: (groups[g].cost / (1 + len(result.neighbours[g])), g))}


def _place_of(code: VCode, group: int) -> str:
    values = {v for v, _ in code.values.members[group]}
    last = -1
    for item in code.items():
        last = item.origin if item.origin >= 0 else last
        if any(values & set(o.values) for o in (*item.defs, *item.uses)):
            return f"{code.function.name}+{max(last, 0)}"
    return code.function.name


def _finish(code: VCode, result: Colouring, contracts: Mapping[str, Contract]) -> RegisterAllocation:
    clobbers = 0
    memory: set[Value] = set()
    for item in code.items():
        if item.kind != ENTRY:
            clobbers |= mask_from(result.colour[v] for v in bits(mask_of(item.defs)))
        if item.callee:
            clobbers |= contracts[item.callee].clobbers
        if item.memory >= 0:
            memory.add(item.memory)
    contract = Contract(
        {r: result.colour[v] for r, v in sorted(code.arguments.items())},
        {r: result.colour[v] for r, v in sorted(code.results.items())},
        clobbers,
    )
    return RegisterAllocation(code, result.colour, contract, sorted(memory))

"""Moves at calls against every choice of slots and starts, on call graphs small enough for that."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import permutations, product

from binalloc.bitset import bits
from binalloc.models.allocation.stack.procedures import Procedure, ProcedureCall
from binalloc.models.allocation.stack.slots import SlotPlan, plan_slots

GRAPHS = 300


def graph(rng: random.Random) -> dict[str, Procedure]:
    """A kernel that calls one or two procedures with some of its values live, each all interfering with the others."""
    leaves = {name: rng.randrange(1, 4) for name in ("f", "g")}
    result = {
        name: Procedure(name, count, [(1 << count) - 1], [(1 << count) - 1 & ~(1 << v) for v in range(count)])
        for name, count in leaves.items()
    }
    count = rng.randrange(2, 6)
    calls = [
        ProcedureCall(rng.choice(("f", "g")), rng.randrange(1 << count), True, rng.choice((1.0, 10.0)))
        for _ in range(rng.randrange(1, 4))
    ]
    full = (1 << count) - 1
    adjacency = [full & ~(1 << v) for v in range(count)]
    return {"kernel": Procedure("kernel", count, [full], adjacency, calls), **result}


def cost(procedures: Mapping[str, Procedure], plan: SlotPlan) -> float:
    sites = zip(procedures["kernel"].calls, plan.procedures["kernel"].sites, strict=True)
    return sum(site.weight * len(planned.moves) for site, planned in sites)


def every_cost(procedures: Mapping[str, Procedure], slots: int) -> Iterator[float]:
    """Of every permutation of the kernel's values and every start at each of its calls that the slots allow."""
    kernel = procedures["kernel"]
    starts = [
        range(site.live_across.bit_count(), slots - procedures[site.callee].variables + 1) for site in kernel.calls
    ]
    for where in permutations(range(kernel.variables)):
        for chosen in product(*starts):
            yield sum(
                site.weight * sum(where[v] >= start for v in bits(site.live_across))
                for site, start in zip(kernel.calls, chosen, strict=True)
            )


def test_no_choice_of_slots_and_starts_needs_fewer_moves() -> None:
    moved = 0
    for seed in range(GRAPHS):
        rng = random.Random(seed)
        procedures = graph(rng)
        kernel = procedures["kernel"]
        deepest = max(site.live_across.bit_count() + procedures[site.callee].variables for site in kernel.calls)
        slots = max(kernel.variables, deepest) + rng.randrange(2)
        plan = plan_slots(procedures, "kernel", slots, "cost")
        assert not plan.procedures["kernel"].local
        assert cost(procedures, plan) == min(every_cost(procedures, slots)), seed
        moved += cost(procedures, plan) > 0
    assert moved >= 20

"""The exact model's cost is that of the code: no choice of regions, and no allocator, emits code that costs less."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from binalloc.analysis.program import analyse
from binalloc.errors import Refused
from binalloc.models.allocation.cpsat import solve
from binalloc.models.allocation.spills import Spills
from binalloc.transform.allocate.functions.registers import emitted_cost
from binalloc.transform.allocators.allocator import Plan, Problem
from binalloc.transform.allocators.table import ALLOCATORS
from binalloc.transform.spill.insert import insert_spills
from binalloc.transform.spill.list_spills import list_spills
from binalloc.transform.spill.price_regions import PriceList
from binalloc.transform.spill.prices import LOCAL_COST, SLOT_COST, Prices
from binalloc.transform.virtual.analysed import analysed
from tests.support.generator.programs import random_program
from tests.support.generator.transform.virtual import Drawn, Shape, random_virtual, virtual_functions
from tests.support.kits.suite import rotation
from tests.support.kits.transform.regions import regions_of
from tests.support.oracles.transform.assignment import numbered

SHAPES = (
    Shape(places=16, blocks=8, items=10),
    Shape(blocks=14, items=5, places=12, values=3, wide=0.0, guards=0.5),
    Shape(blocks=12, items=3, places=16, values=1, guards=0.6, calls=0.15),
)


def drawn_code(seed: int) -> Iterator[Drawn]:
    yield random_virtual(seed, SHAPES[seed % len(SHAPES)])
    module, _ = random_program(seed, size=60, registers=24, callees=1)
    yield from virtual_functions(module, module.kernels()[0].name, random.Random(seed))


def least(spills: Spills, spilled: Sequence[int]) -> float:
    """What the model says that code costs in which at least these regions are spilled."""
    last = max((end for pieces in spills.points for _, end in pieces), default=0)
    points = [[*pieces, (last + r, last + r + 1)] for r, pieces in enumerate(spills.points)]
    pressure = np.zeros(last + len(points), np.int32)
    pressure[[last + r for r in spilled]] = 1
    found = solve(replace(spills, points=points, needless=_without_points(spills)), pressure, pressure * 0)
    assert found.status == "optimal"
    return found.bound


def _without_points(spills: Spills) -> list:  # type: ignore[type-arg]
    return [item._replace(points=()) for item in spills.needless]


@pytest.mark.parametrize("price", [SLOT_COST, LOCAL_COST])
def test_no_code_costs_less_than_the_model_says(price: float) -> None:
    rng, cheaper, same, cases = random.Random(7), [], 0, 0
    for seed in range(6):
        for number, one in enumerate(drawn_code(seed)):
            given = analysed(numbered(one.code))
            for share in (0.1, 0.5, 0.9):
                code, found, comebacks = regions_of(one, given, Prices(price))
                spilled = [r for r in range(len(found.value)) if rng.random() < share]
                spills = list_spills(given.flat, found, comebacks, {}, near=price, far=price, slots=0)
                model = least(spills, spilled)
                regions = PriceList(given.flat, found).at(comebacks)
                insert_spills(code, given.flat, found, regions, spilled, comebacks)
                emitted = emitted_cost(code, Prices(price))
                cases += 1
                same += abs(emitted - model) < 0.1
                if emitted < model - 1e-6:
                    cheaper.append((seed, number, share, emitted, model))
    assert not cheaper
    assert same > cases // 3


def in_order(plan: Plan) -> list[object]:
    """The orders of all functions."""
    return [allocation.given.order for _, allocation in sorted(plan.attempt.allocations.items())]


@pytest.mark.rotates("long")
def test_no_allocator_emits_what_costs_less_than_the_bound() -> None:
    """None that takes the same order."""
    compared, tight = zip(*(against_the_bound(seed, 0) for seed in range(2, 5)), strict=True)
    assert sum(compared) > 10
    assert sum(tight)


def test_no_allocator_emits_what_costs_less_than_the_bound_over_calls() -> None:
    """`make test` takes one of the programs."""
    seeds = rotation.sample(range(6), "calls", rotation.EIGHTH)
    compared, tight = zip(*(against_the_bound(seed, 1 + seed % 3) for seed in seeds), strict=True)
    assert sum(compared) > 10
    assert sum(tight)


def against_the_bound(seed: int, callees: int) -> tuple[int, int]:
    """How many plans were compared, and how often `cpsat` had one that costs what the bound says."""
    module, _ = random_program(seed, size=80 - 15 * callees, registers=24, callees=callees)
    kernel = module.kernels()[0].name
    program = analyse(module, kernel, lift=True)
    compared = tight = 0
    for registers in (10, 12) if not callees else (12, 16, 20):
        for slots in (0, 4):
            problem = Problem(program, kernel, registers, slots, 4.0)
            plans = {}
            for name, allocator in ALLOCATORS.items():
                try:
                    plans[name] = allocator.allocate(problem)
                except Refused:
                    continue
            exact = plans.pop("cpsat", None)
            if exact is None or exact.bound is None:
                continue
            tight += 0 < exact.cost.cost <= exact.bound + 0.1
            for name, plan in plans.items():
                if in_order(plan) == in_order(exact):
                    compared += 1
                    assert exact.bound <= plan.cost.cost + 1e-6, (name, registers, slots)
            assert exact.bound <= exact.cost.cost + 1e-6
    return compared, tight

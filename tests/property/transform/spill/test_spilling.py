"""Spilling to room: what is left fits, and the code reads and does what it did, on drawn code and drawn programs."""

from __future__ import annotations

import random
import re
from contextlib import suppress

import numpy as np
import pytest

from binalloc.transform.allocate.functions.registers import (
    Cheapest,
    TooDear,
    allocate_cheapest,
    allocate_registers,
    emitted_cost,
)
from binalloc.transform.allocate.functions.whole import whole_cost, whole_cost_at_least
from binalloc.transform.order.arrange import for_pressure
from binalloc.transform.spill.insert import insert_spills
from binalloc.transform.spill.price_regions import PriceList
from binalloc.transform.spill.prices import Prices
from binalloc.transform.spill.spill import Infeasible, SpillOptions, spill_to_room
from binalloc.transform.virtual.analysed import Analysed, analysed
from binalloc.transform.virtual.code import AGAIN, RELOAD, STORE, VCode
from binalloc.transform.virtual.room import call_sites, room
from tests.support.generator.programs import generate, random_program
from tests.support.generator.transform.pure_chains import chained
from tests.support.generator.transform.virtual import (
    ALL_SORTS,
    Contracts,
    Drawn,
    Shape,
    random_virtual,
    virtual_functions,
)
from tests.support.kits.transform.regions import regions_of
from tests.support.oracles.transform.assignment import numbered
from tests.support.oracles.transform.virtual_liveness import dense_liveness
from tests.support.oracles.transform.virtual_machine import NOTHING, Trace, execute

SHAPES = (
    Shape(wide=0.0, calls=0.0, places=12),
    Shape(places=16, blocks=8, items=10),
    Shape(blocks=14, items=5, places=12, values=3, wide=0.0, guards=0.5),
    Shape(blocks=4, items=20, places=32, wide=0.2, calls=0.1),
    Shape(blocks=12, items=3, places=16, values=1, guards=0.6, calls=0.15),
    Shape(blocks=3, items=14, places=8, values=12, wide=0.1, guards=0.1, calls=0.0),
    Shape(blocks=6, items=8, places=24, wide=0.4, groups=ALL_SORTS),
)
SEEDS = 60
PATHS = 6


def unfit(given: Analysed, available: int, contracts: Contracts) -> int:
    """Points at which more is needed than there is."""
    there = room(given.flat, given.live, call_sites(given.flat, given.live, contracts), available)
    return int(np.count_nonzero(there.pressure > there.capacity))


def most(given: Analysed, contracts: Contracts) -> int:
    """The highest pressure."""
    sites = call_sites(given.flat, given.live, contracts)
    return int(room(given.flat, given.live, sites, 1).pressure.max())


def _fixed(given: Analysed) -> int:
    """Registers that callees have fixed places in."""
    return max((o.fixed + 1 for item in given.flat.items for o in (*item.defs, *item.uses)), default=0)


def difference(before: VCode, after: VCode, one: Trace, other: Trace) -> str:
    """Where the code after read something else. Items that it has no more are left out: they must be pure."""
    left = {item.origin for item in after.items()}
    wanted = [(origin, read) for origin, read in one.read if origin in left]
    for k, (a, b) in enumerate(zip(wanted, other.read, strict=False)):
        if NOTHING in a[1]:
            return ""  # from here on anything may come about
        if a != b:
            return f"item {a[0]} read {b}, not {a}, as {k}th"
    if one.ended and (not other.ended or len(wanted) != len(other.read)):
        return "the paths part"
    return ""


def followed(before: VCode, after: VCode, contracts: Contracts, register: list[int] | None = None) -> list[str]:
    """Differences on a few paths."""
    wrong = []
    for path in range(PATHS):
        one = execute(before, path, contracts=contracts)
        other = execute(after, path, register, contracts, steps=len(one.read))
        found = difference(before, after, one, other)
        if found:
            wrong.append(f"path {path}: {found}")
    return wrong


def spilled(one: Drawn, share: float, slack: int = 0) -> tuple[Analysed, Analysed, int] | None:
    """Before, after, registers available: so much of the pressure, or as little as can be."""
    given = analysed(numbered(one.code))
    top = most(given, one.contracts)
    for count in range(max(1, _fixed(given), int(top * share)), 255):
        try:
            return given, spill_to_room(given, (1 << count) - 1, one.contracts, SpillOptions(slack=slack)), count
        except Infeasible:
            continue
    return None


def mistakes(one: Drawn, share: float, seen: dict[str, int]) -> list[str]:
    found = spilled(one, share)
    assert found is not None
    given, after, count = found
    wrong = followed(given.code, after.code, one.contracts)
    if unfit(after, (1 << count) - 1, one.contracts):
        wrong.append("does not fit")
    for item in after.code.items():
        for kind in (RELOAD, STORE, AGAIN):
            seen[kind] = seen.get(kind, 0) + (item.kind == kind)
    return wrong


@pytest.mark.parametrize("shape", range(len(SHAPES)))
def test_drawn_code_fits_and_does_what_it_did(shape: int) -> None:
    wrong = {}
    seen: dict[str, int] = {}
    for seed in range(SEEDS):
        found = mistakes(random_virtual(seed, SHAPES[shape]), (0.3, 0.6, 0.8)[seed % 3], seen)
        if found:
            wrong[seed] = found
    assert not wrong
    assert [kind for kind in (RELOAD, STORE) if seen[kind] < SEEDS] == []


def with_regions_spilled(one: Drawn, rng: random.Random) -> tuple[VCode, VCode]:
    """The code, and the code with random regions spilled. Most often all that can be is recomputed."""
    given = analysed(numbered(one.code))
    code, found, comebacks = regions_of(one, given, Prices())
    regions = PriceList(given.flat, found).at(comebacks)
    comebacks.chosen = rng.choice((None, frozenset(), frozenset()))
    share = rng.choice((0.1, 0.4, 0.7, 0.9))
    chosen = [r for r in range(len(found.value)) if rng.random() < share]
    insert_spills(code, given.flat, found, regions, chosen, comebacks)
    return given.code, code


@pytest.mark.parametrize("seed", range(60))
def test_whatever_regions_are_away_the_code_does_what_it_did(seed: int) -> None:
    rng = random.Random(f"regions away {seed}")
    drawn = [random_virtual(seed, shape) for shape in SHAPES]
    chains = virtual_functions(chained(seed), "k", rng)
    pairs = virtual_functions(chained(seed, pairs=True), "k", rng)
    for one in [*drawn, *functions(seed), *chains, *chains, *chains, *pairs, *pairs, *pairs]:
        for _ in range(3):
            before, after = with_regions_spilled(one, rng)
            assert followed(before, after, one.contracts) == []


@pytest.mark.parametrize("slack", [1, 3])
def test_registers_are_left_free_where_values_live(slack: int) -> None:
    """As with so many registers fewer, but for operands that are needed at once."""
    less = 0
    for seed in range(SEEDS):
        one = random_virtual(seed, SHAPES[0])
        given = analysed(numbered(one.code))
        count = most(given, one.contracts) - 1
        if refusal(given, count, one.contracts):
            continue
        after = spill_to_room(given, (1 << count) - 1, one.contracts, SpillOptions(slack=slack))
        assert followed(given.code, after.code, one.contracts) == []
        assert not unfit(after, (1 << count) - 1, one.contracts)
        less += not unfit(after, (1 << count - slack) - 1, one.contracts)
    assert less > SEEDS * 3 // 4


@pytest.mark.parametrize("shape", [0, 1, 3])
def test_a_refusal_names_what_is_missing(shape: int) -> None:
    """Refused are the budgets below some least one, which operands of the item need that is named."""
    refused, wrong = 0, []
    for seed in range(0, SEEDS, 3):
        one = random_virtual(seed, SHAPES[shape])
        given = analysed(numbered(one.code))
        low = max(1, _fixed(given))
        fits = []
        for count in range(low, most(given, one.contracts) + 1):
            error = refusal(given, count, one.contracts)
            fits.append(error is None)
            if error is not None:
                refused += 1
                wrong += refusal_mistakes(given, error)
        if fits != sorted(fits):
            wrong.append(f"seed {seed}: what fits from {low} registers up: {fits}")
    assert not wrong
    assert refused


def refusal(given: Analysed, count: int, contracts: Contracts) -> Infeasible | None:
    try:
        spill_to_room(given, (1 << count) - 1, contracts)
    except Infeasible as error:
        return error
    return None


def refusal_mistakes(given: Analysed, error: Infeasible) -> list[str]:
    """The item that is named needs so many registers for its operands or its results alone."""
    found = re.fullmatch(r"(\d+) registers available, (\d+) needed", error.found)
    assert found is not None
    k = int(error.place.partition("+")[2])
    item = given.flat.items[k]
    if any(i.callee for i in given.flat.items):
        return []
    uses = {v for o in item.uses for v in o.values}
    defs = {v for o in item.defs for v in o.values}
    kept = dense_liveness(given.code).kept.get(k, set())
    extra = room(given.flat, given.live, [], 1).pressure - given.live.pressure(given.flat.points)
    needed = int(found[2])
    before, behind = (int(extra[point]) for point in (2 * k, 2 * k + 1))
    figures = {len(uses), len(uses | kept) + before, len(defs), len(defs) + behind}
    return [] if int(found[1]) < needed and needed in figures else [f"{error}: {figures}"]


def functions(seed: int) -> list[Drawn]:
    rng = random.Random(f"spilling {seed}")
    if seed % 3 == 0:
        return virtual_functions(random_program(seed)[0], "kernel", rng)
    preset, kernel = ("wide", "kernel") if seed % 3 == 1 else ("unstructured", "k")
    return virtual_functions(generate(preset, seed)[0], kernel, rng)


@pytest.mark.parametrize("seed", range(45))
def test_functions_of_programs_fit_and_do_what_they_did(seed: int) -> None:
    for one in functions(seed):
        for share in (0.4, 0.75):
            assert mistakes(one, share, {}) == [], (one.code.function.name, share)


def test_programs_have_something_to_recompute() -> None:
    seen: dict[str, int] = {}
    for seed in range(0, 45, 3):
        for one in functions(seed):
            mistakes(one, 0.4, seen)
    assert seen[AGAIN] > 100


@pytest.mark.parametrize("seed", range(45))
def test_functions_with_registers_do_what_they_did(seed: int) -> None:
    """Spilled, moved apart and assigned."""
    for one in functions(seed):
        given = analysed(numbered(one.code))
        for share in (0.3, 0.5, 0.75, 1.0):
            count = max(1, _fixed(given), int(most(given, one.contracts) * share))
            try:
                out = allocate_registers(given, (1 << count) - 1, one.contracts)
            except Infeasible:
                continue
            wrong = followed(given.code, out.code, one.contracts, [int(r) for r in out.colour])
            wrong += followed(given.code, out.code, {})  # and by names, which liveness goes by
            assert wrong == [], (one.code.function.name, share)


@pytest.mark.parametrize("seed", range(12))
def test_of_several_orders_the_cheapest_is_taken(seed: int) -> None:
    """Without allocating them all: as if each had been by itself."""
    for one in functions(seed):
        given = analysed(numbered(one.code))
        for share in (0.4, 0.6):
            count = max(1, _fixed(given), int(most(given, one.contracts) * share))
            available, orders = (1 << count) - 1, (given, for_pressure(given, count))
            costs = []
            for order in orders:
                with suppress(Infeasible):
                    costs.append(emitted_cost(allocate_registers(order, available, one.contracts).code, Prices()))
            if not costs:
                continue
            least = min(costs)
            found = allocate_cheapest(orders, available, one.contracts, below=least + 0.25)
            assert emitted_cost(found.code, Prices()) == least, (one.code.function.name, share)
            with pytest.raises(TooDear):
                allocate_cheapest(orders, available, one.contracts, below=least)
            again = Cheapest(orders, available, one.contracts, SpillOptions())
            for below in (least, least / 2, least + 0.25, least):  # goes on where it was, and back
                with suppress(TooDear):
                    assert again.found(below).code.dump() == found.code.dump()
                    assert below > least


def test_whole_values_cost_no_less_than_said_before() -> None:
    close = 0
    for seed in range(40):
        for one in functions(seed):
            given = analysed(numbered(one.code))
            for share in (0.3, 0.5, 0.7, 0.9):
                available = (1 << max(1, int(most(given, one.contracts) * share))) - 1
                least = whole_cost_at_least(given, available, one.contracts)
                cost = whole_cost(given, available, one.contracts)
                assert least <= cost, (seed, one.code.function.name, share)
                close += least > cost / 2
    assert close > 20

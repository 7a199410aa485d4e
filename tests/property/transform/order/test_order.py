"""Reordered code does what it did: every item reads what it read, nothing leaves its stretch, no order is invented."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Container, Iterator
from contextlib import suppress
from typing import Any

import pytest

from binalloc.isa.sets.table import view
from binalloc.models.machines.reader import load_machine
from binalloc.transform.order.across import across_blocks
from binalloc.transform.order.arrange import for_latency, for_pressure, never_fits, stretch_of
from binalloc.transform.order.clock import LatencyClock
from binalloc.transform.order.dependences import Dag, is_wall, stretches
from binalloc.transform.order.latency import by_latency, ends_at
from binalloc.transform.order.pressure import Stretch, measure, orders
from binalloc.transform.spill.spill import Infeasible, SpillOptions, spill_to_room
from binalloc.transform.virtual.analysed import Analysed, analysed
from binalloc.transform.virtual.code import VCode
from tests.support.generator.programs import generate, random_program
from tests.support.generator.transform.virtual import Contracts, Drawn, Shape, random_virtual, virtual_functions
from tests.support.oracles.transform.assignment import numbered
from tests.support.oracles.transform.virtual_machine import NOTHING, Trace, execute

SHAPES = (
    Shape(wide=0.0, calls=0.0, places=12, items=14),
    Shape(places=16, blocks=6, items=16, values=4),
    Shape(blocks=3, items=40, places=32, wide=0.2, calls=0.05),
    Shape(blocks=4, items=24, places=16, values=6, guards=0.5, calls=0.02),
    Shape(blocks=2, items=60, places=24, values=8, wide=0.1, guards=0.1, calls=0.0),
)
PROGRAMS = (("wide", "kernel"), ("unstructured", "k"))
CLOCK = LatencyClock(load_machine("gtx680"))
SEEDS = 40
PATHS = 4
MOST = 256


def by_item(trace: Trace, told: Container[int] | None = None) -> dict[int, list[Any]]:
    """What each item read, each time."""
    found: dict[int, list[Any]] = defaultdict(list)
    for origin, read in trace.read:
        if told is None or origin in told:
            found[origin].append(read)
    return found


def differences(
    before: VCode, after: VCode, contracts: Contracts, told: Container[int] | None = None
) -> list[str]:
    """Paths on which an item reads something else. told: the items that count, if not all do."""
    wrong = []
    for path in range(PATHS):
        one = execute(before, path, contracts=contracts)
        if any(NOTHING in read for _, read in one.read) or not one.ended:
            continue  # from there on anything may come about; and half a block is not comparable
        steps = len(one.read) + 1 if told is None else 2 * len(one.read) + 1000
        other = execute(after, path, contracts=contracts, steps=steps)
        if by_item(one, told) != by_item(other, told):
            wrong.append(f"path {path}")
    return wrong


def kept_together(before: Analysed, after: Analysed) -> bool:
    """Do walls stand where they stood, and the rest between the same ones?"""

    def parts(given: Analysed) -> list[set[int]]:
        out: list[set[int]] = [set()]
        for b in given.flat.blocks():
            out.append(set())
            for k in range(given.flat.starts[b], given.flat.starts[b + 1]):
                item = given.flat.items[k]
                out += [{item.origin}, set()] if is_wall(item) else []
                if not is_wall(item):
                    out[-1].add(item.origin)
        return out

    return parts(before) == parts(after)


@pytest.mark.parametrize("shape", SHAPES, ids=range(len(SHAPES)))
def test_drawn_code_reads_what_it_read(shape: Shape) -> None:
    moved = 0
    for seed in range(SEEDS):
        drawn = random_virtual(seed, shape)
        given = analysed(numbered(drawn.code))
        top = max(given.live.pressure(given.flat.points))
        after = for_pressure(given, top // 2)
        assert kept_together(given, after), seed
        assert not differences(given.code, after.code, drawn.contracts), seed
        assert max(after.live.pressure(after.flat.points)) <= top, seed
        moved += after is not given
    assert moved > SEEDS // 4


@pytest.mark.parametrize("shape", SHAPES, ids=range(len(SHAPES)))
def test_loads_of_drawn_code_come_early_and_read_what_they_read(shape: Shape) -> None:
    moved = 0
    for seed in range(SEEDS):
        drawn = random_virtual(seed, shape)
        given = analysed(numbered(drawn.code))
        top = max(given.live.pressure(given.flat.points))
        after = for_latency(given, top + seed % 3, CLOCK)
        assert kept_together(given, after), seed
        assert not differences(given.code, after.code, drawn.contracts), seed
        assert max(after.live.pressure(after.flat.points)) <= top + seed % 3, seed
        assert waited(given, after) <= waited(given, given), seed
        moved += after is not given
    assert moved > SEEDS // 4


def spilled(drawn: Drawn) -> tuple[Analysed, int]:
    """The code with what two thirds of its registers ask for in memory, and how many those are."""
    given = analysed(numbered(drawn.code))
    for count in range(2 * max(given.live.pressure(given.flat.points)) // 3, MOST):
        with suppress(Infeasible):
            return spill_to_room(given, (1 << count) - 1, drawn.contracts, SpillOptions()), count
    raise AssertionError


@pytest.mark.parametrize("shape", SHAPES, ids=range(len(SHAPES)))
def test_spilled_code_in_another_order_reads_what_it_read(shape: Shape) -> None:
    moved = passed = 0
    for seed in range(SEEDS):
        drawn = random_virtual(seed, shape)
        given, count = spilled(drawn)
        after = for_latency(given, count, CLOCK, spilled=True)
        told = {item.origin for item in given.flat.items if item.origin >= 0}
        assert not differences(given.code, after.code, drawn.contracts, told), seed
        assert _accesses(given) == _accesses(after), seed
        moved += after is not given
        passed += [i.memory for i in given.flat.items] != [i.memory for i in after.flat.items]
    assert moved > SEEDS // 4
    assert passed > SEEDS // 8, "spill code too"


def _accesses(given: Analysed) -> dict[int, list[str]]:
    """By memory value, the kinds of what touches it, block by block."""
    found: dict[int, list[str]] = defaultdict(list)
    for item in given.flat.items:
        if item.memory >= 0:
            found[item.memory].append(item.kind)
    return found


@pytest.mark.parametrize("shape", SHAPES, ids=range(len(SHAPES)))
def test_no_order_fits_where_that_is_said(shape: Shape) -> None:
    said = 0
    for seed in range(SEEDS):
        given = analysed(numbered(random_virtual(seed, shape).code))
        top = max(given.live.pressure(given.flat.points))
        for count in range(top // 2, top):
            if never_fits(given, count):
                said += 1
                for after in (given, for_latency(given, count, CLOCK), for_pressure(given, count)):
                    assert max(after.live.pressure(after.flat.points)) > count, (seed, count)
    assert said > SEEDS // 4


def waited(given: Analysed, after: Analysed) -> int:
    """When a warp alone has issued each stretch of the code in its order after, in all."""
    total = 0
    for b in _reached(given):
        for first, end in stretches(given.flat, b):
            place = {given.flat.items[k].origin: k - first for k in range(first, end)}
            order = [place[item.origin] for item in after.flat.items[first:end]]
            takes = [CLOCK.takes(item) for item in given.flat.items[first:end]]
            total += ends_at(stretch_of(given, b, first, end), order, takes, CLOCK.every)
    return total


def test_what_goes_to_other_blocks_is_read_as_before() -> None:
    moved = 0
    for seed in range(SEEDS):
        for one in _functions(seed):
            given = analysed(numbered(one.code))
            after = across_blocks(given, max(given.live.pressure(given.flat.points)) // 2)
            moved += after is not given
            impure = {i.origin for i in given.flat.items if i.instr is None or not view(i.instr).pure}
            assert not differences(given.code, after.code, one.contracts, impure), seed
            assert max(after.live.pressure(after.flat.points)) <= max(given.live.pressure(given.flat.points)), seed
    assert moved > SEEDS // 4


@pytest.mark.parametrize("seed", range(12))
def test_drawn_programs_read_what_they_read(seed: int) -> None:
    for one in _functions(seed):
        given = analysed(numbered(one.code))
        top = max(given.live.pressure(given.flat.points))
        for after in (for_pressure(given, top // 2), for_latency(given, top, CLOCK)):
            assert kept_together(given, after)
            assert not differences(given.code, after.code, one.contracts)
            assert max(after.live.pressure(after.flat.points)) <= top


def _functions(seed: int) -> list[Drawn]:
    rng = random.Random(f"order {seed}")
    if seed % 2:
        return virtual_functions(random_program(seed)[0], "kernel", rng)
    preset, kernel = PROGRAMS[seed // 2 % len(PROGRAMS)]
    return virtual_functions(generate(preset, seed)[0], kernel, rng)


def _every_order(dag: Dag) -> Iterator[list[int]]:
    """All orders that the dependences allow."""

    def extend(order: list[int], left: list[int]) -> Iterator[list[int]]:
        if len(order) == len(dag):
            yield list(order)
        for k in range(len(dag)):
            if left[k] == 0:
                left[k] = -1
                for s in dag.after[k]:
                    left[s] -= 1
                yield from extend([*order, k], left)
                for s in dag.after[k]:
                    left[s] += 1
                left[k] = 0

    return extend([], [len(found) for found in dag.before])


def _drawn_stretch(rng: random.Random) -> Stretch:
    """Up to seven items, each value written once."""
    count = rng.randrange(2, 8)
    defs = [[k] if rng.random() < 0.8 else [] for k in range(count)]
    uses = [sorted(rng.sample([-1, -2, *range(k)], min(rng.randrange(3), k + 2))) for k in range(count)]
    uses = [[v for v in row if v < 0 or defs[v]] for row in uses]
    feeds = [sorted(v for v in row if v >= 0) for row in uses]
    before = [list(row) for row in feeds]
    for k in range(1, count):
        if rng.random() < 0.15:
            before[k] = sorted({*before[k], rng.randrange(k)})
    after: list[list[int]] = [[] for _ in range(count)]
    for k, found in enumerate(before):
        for p in found:
            after[p].append(k)
    behind = [v for v in (-1, -2, *range(count)) if rng.random() < 0.25 and (v < 0 or defs[v])]
    return Stretch(Dag(0, before, after, feeds), defs, uses, frozenset(behind))


def test_small_stretches_beside_all_their_orders() -> None:
    """Never an order that is none, never better than the best, and most often as good."""
    optimal = better = total = 0
    for seed in range(400):
        stretch = _drawn_stretch(random.Random(f"stretch {seed}"))
        every = {tuple(order): measure(stretch, order, 2) for order in _every_order(stretch.dag)}
        tried = [tuple(order) for order in orders(stretch)]
        assert all(order in every for order in tried), seed
        rng = random.Random(f"takes {seed}")
        takes = [rng.choice((1, 9, 100)) for _ in stretch.defs]
        assert tuple(by_latency(stretch, takes, 4, seed % 4, patient=seed % 2 == 0)) in every, seed
        least = min(every.values())
        total += 1
        optimal += min(min(every[o] for o in tried), every[tuple(range(len(stretch)))]) == least
        better += least < every[tuple(range(len(stretch)))]
    assert better > total // 4
    assert optimal > 0.9 * total


def test_measure_is_the_pressure_of_the_code() -> None:
    """Where no guard lets two values share a register, what the rules count is what liveness says."""
    for seed in range(SEEDS):
        given = analysed(random_virtual(seed, Shape(guards=0.0, wide=0.2, items=20, places=16)).code)
        pressure = given.live.pressure(given.flat.points)
        for b in _reached(given):
            for first, end in stretches(given.flat, b):
                found = measure(stretch_of(given, b, first, end), range(end - first), 0)
                assert found.peak == max(pressure[2 * first : 2 * end]), (seed, b)


def _reached(given: Analysed) -> list[int]:
    """Blocks that something leads to: elsewhere nothing is live that nobody has written."""
    seen, work = {0}, [0]
    while work:
        for s in given.flat.succs[work.pop()]:
            if s not in seen:
                seen.add(s)
                work.append(s)
    return sorted(seen)

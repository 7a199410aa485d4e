"""Live ranges and room of virtual code against slow definitions, on drawn code and on drawn programs."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from binalloc.bitset import bits
from binalloc.models.allocation.terms import Value
from binalloc.transform.virtual.code import INSTR, MOVED, RELOAD, STORE, Item, VCode, VOperand
from binalloc.transform.virtual.flat import flatten
from binalloc.transform.virtual.holes import holes_before, holes_behind
from binalloc.transform.virtual.live_ranges import LiveRanges, live_ranges
from binalloc.transform.virtual.memory_ranges import memory_ranges
from binalloc.transform.virtual.room import call_sites, room
from tests.support.generator.programs import generate, random_program
from tests.support.generator.transform.virtual import Drawn, Shape, random_virtual, virtual_functions
from tests.support.oracles.transform.virtual_liveness import Dense, dense_liveness

SHAPES = (
    Shape(),
    Shape(blocks=1, items=30, places=4, guards=0.6),
    Shape(blocks=12, items=4, places=16, values=3, wide=0.6),
    Shape(blocks=25, items=2, guards=0.5, calls=0.2),
    Shape(blocks=5, items=12, places=4, values=1, guards=0.8, wide=0.0),
)
SEEDS = 60


def drawn(part: int) -> list[Drawn]:
    return [random_virtual(seed, SHAPES[part % len(SHAPES)], defined=seed % 2 == 0) for seed in range(SEEDS)]


def programs(seed: int) -> list[Drawn]:
    """Functions of a program: structured, wide or unstructured."""
    rng = random.Random(f"virtual functions {seed}")
    if seed % 3 == 0:
        return virtual_functions(random_program(seed)[0], "kernel", rng)
    preset, kernel = ("wide", "kernel") if seed % 3 == 1 else ("unstructured", "k")
    return virtual_functions(generate(preset, seed)[0], kernel, rng)


def differences(live: LiveRanges, dense: Dense) -> list[str]:
    """Where live ranges say something else than one set per point does."""
    out = []
    points: list[set[int]] = [set() for _ in dense.points]
    for v, pieces in enumerate(live.intervals):
        if sorted(pieces) != pieces or any(start >= end for start, end in pieces):
            out.append(f"value {v}: {pieces}")
        if any(one[1] > other[0] for one, other in pairwise(pieces)):
            out.append(f"value {v} twice at a point: {pieces}")
        for start, end in pieces:
            for point in range(start, end):
                points[point].add(v)
    out += [f"point {p}: {a ^ b}" for p, (a, b) in enumerate(zip(points, dense.points, strict=True)) if a != b]
    for name, got, wanted in (("in", live.live_in, dense.live_in), ("out", live.live_out, dense.live_out)):
        if got != [sorted(values) for values in wanted]:
            out.append(f"live {name}: {got} {wanted}")
    if {k: set(kept) for k, kept in live.kept.items()} != dense.kept:
        out.append(f"kept: {live.kept} {dense.kept}")
    return out


def compared(code: VCode) -> list[str]:
    return differences(live_ranges(flatten(code), len(code.names)), dense_liveness(code))


@pytest.mark.parametrize("part", range(len(SHAPES)))
def test_live_ranges_of_drawn_code_are_those_of_one_set_per_point(part: int) -> None:
    wrong = {seed: compared(one.code)[:2] for seed, one in enumerate(drawn(part))}
    assert not {seed: found for seed, found in wrong.items() if found}


@pytest.mark.parametrize("seed", range(36))
def test_live_ranges_of_programs_are_those_of_one_set_per_point(seed: int) -> None:
    for one in programs(seed):
        assert compared(one.code) == []


@pytest.mark.parametrize("part", range(len(SHAPES)))
def test_memory_ranges_go_from_stores_to_reloads(part: int) -> None:
    rng = random.Random(f"memory {part}")
    for one in drawn(part):
        for block in one.code.blocks:
            block.items = [x for item in block.items for x in (*_accesses(rng, len(one.code.names)), item)]
        flat = flatten(one.code)
        assert differences(memory_ranges(flat, len(one.code.names)), dense_liveness(one.code, memory=True)) == []


def _accesses(rng: random.Random, values: int) -> list[Item]:
    out = []
    while rng.random() < 0.4:
        moved = (VOperand(MOVED, (Value(rng.randrange(values)),)),)
        guard = (rng.randrange(2), rng.random() < 0.5) if rng.random() < 0.3 else None
        memory = Value(rng.randrange(min(values, 6)))
        if rng.random() < 0.5:
            out.append(Item(STORE, uses=moved, memory=memory, guard=guard))
        else:
            out.append(Item(RELOAD, defs=moved, memory=memory, guard=guard))
    return out


# -- room


def room_differences(one: Drawn, available: int) -> list[str]:
    """Pressure, capacity and call sites, counted from one set per point."""
    code = one.code
    flat = flatten(code)
    live = live_ranges(flat, len(code.names))
    dense = dense_liveness(code)
    sites = call_sites(flat, live, one.contracts)
    there = room(flat, live, sites, available)
    out = []
    pressure = [len(values) for values in dense.points]
    capacity = [available.bit_count()] * len(pressure)
    calls = [k for k, item in enumerate(flat.items) if item.callee]
    assert [site.item for site in sites] == calls
    for site in sites:
        item = flat.items[site.item]
        clobbers = one.contracts[item.callee].clobbers
        arguments = {o.fixed: o.values[0] for o in item.uses}
        results = {o.fixed for o in item.defs if o.fixed >= 0}
        defined = {o.values[0] for o in item.defs}
        survivors = sorted((dense.points[2 * site.item] & dense.points[2 * site.item + 1]) - defined)
        blocked = set(bits(clobbers)) | set(arguments) | results
        stays: dict[int, int] = {}
        for register, v in sorted(arguments.items()):
            if v in survivors and register not in results and not clobbers >> register & 1:
                stays.setdefault(v, register)
        if (site.survivors, site.kept, set(bits(site.blocked))) != (survivors, stays, blocked):
            out.append(f"call {site}: {survivors} {stays} {blocked}")
        # just before the call: every argument register, and every survivor that does not stay in one
        before = dense.points[2 * site.item]
        moved = [v for v in survivors if v in arguments.values() and v not in stays]
        alone = len(before - set(arguments.values())) + len(moved)
        pressure[2 * site.item] = alone + len(arguments)
        pressure.append(len(survivors) - len(stays))
        capacity.append(len(set(bits(available)) - blocked))
    if there.capacity.tolist() != capacity:
        out.append("capacity")
    for k, holes in holes_before(flat, live):
        pressure[2 * k] += holes
    for k, holes in holes_behind(flat, live):
        pressure[2 * k + 1] += holes
    for point, (got, wanted) in enumerate(zip(there.pressure.tolist(), pressure, strict=True)):
        if got != wanted:
            out.append(f"point {point}: {got} instead of {wanted}")
    return out


@pytest.mark.parametrize("part", range(len(SHAPES)))
def test_room_of_drawn_code_is_what_counting_gives(part: int) -> None:
    wrong = {seed: room_differences(one, (1 << 12) - 1)[:2] for seed, one in enumerate(drawn(part))}
    assert not {seed: found for seed, found in wrong.items() if found}


@pytest.mark.parametrize("seed", range(12))
def test_room_of_programs_is_what_counting_gives(seed: int) -> None:
    for one in programs(seed):
        assert room_differences(one, (1 << 20) - 1) == []


def test_drawn_code_reaches_what_this_is_about() -> None:
    """Guards that keep old values, values live through calls, arguments that stay, quads defined in part."""
    seen = {"kept": 0, "survivors": 0, "stays": 0, "extra": 0, "quad in part": 0, "never": 0, "holes": 0}
    for part in range(len(SHAPES)):
        for one in drawn(part):
            flat = flatten(one.code)
            live = live_ranges(flat, len(one.code.names))
            sites = call_sites(flat, live, one.contracts)
            seen["kept"] += len(live.kept)
            seen["survivors"] += sum(bool(site.survivors) for site in sites)
            seen["stays"] += sum(bool(site.kept) for site in sites)
            seen["extra"] += sum(site.extra > 0 for site in sites)
            seen["never"] += sum(item.guard == (7, True) for item in flat.items if item.kind == INSTR)
            for k, kept in live.kept.items():
                wide = {v for o in flat.items[k].defs if len(o.values) > 1 for v in o.values}
                seen["quad in part"] += bool(wide & set(kept)) and not wide <= set(kept)
            there = room(flat, live, sites, 0xFF)
            seen["holes"] += int((there.pressure[: flat.points] != live.pressure(flat.points)).sum())
    assert [name for name, count in seen.items() if count < 20] == []

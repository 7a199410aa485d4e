"""Registers for values that fit: a judge that follows contents looks at drawn code, drawn programs and nasty cases."""

from __future__ import annotations

import random

import numpy as np
import pytest

from binalloc.transform.assign.assign import assign
from binalloc.transform.assign.placed import NoPlace, Placed
from binalloc.transform.virtual.analysed import Analysed, analysed
from binalloc.transform.virtual.code import COPY, EXCHANGE
from binalloc.transform.virtual.room import call_sites, room
from tests.support.generator.programs import generate, random_program
from tests.support.generator.transform.virtual import (
    ALL_SORTS,
    Contracts,
    Drawn,
    Shape,
    random_virtual,
    virtual_functions,
)
from tests.support.oracles.transform.assignment import assignment_mistakes, numbered

SINGLE = (
    Shape(wide=0.0, calls=0.0),
    Shape(wide=0.0, calls=0.25, values=1),
    Shape(blocks=14, items=4, places=6, values=3, wide=0.0, guards=0.5),
    Shape(blocks=3, items=20, places=30, wide=0.0),
    Shape(blocks=20, items=2, places=5, values=1, wide=0.0, guards=0.7, calls=0.15),
)
WIDE = (
    Shape(),
    Shape(blocks=10, items=6, places=8, values=2, wide=0.6, guards=0.5),
    Shape(blocks=4, items=15, places=16, values=3, wide=0.5, calls=0.1),
    Shape(blocks=16, items=3, places=12, values=1, wide=0.4, calls=0.2),
)
GROUPS = (
    Shape(blocks=5, items=6, places=16, groups=ALL_SORTS),
    Shape(blocks=10, items=6, places=12, values=2, wide=0.6, guards=0.5, groups=((3, 1), (3, 4), (2, 1))),
    Shape(blocks=4, items=12, places=24, values=3, wide=0.5, calls=0.1, groups=ALL_SORTS),
    Shape(blocks=12, items=3, places=16, values=1, wide=0.5, calls=0.2, groups=((8, 8), (3, 4), (5, 1), (1, 4))),
)
SEEDS = 80
MOST = 255


def least(given: Analysed, contracts: Contracts) -> int:
    """The fewest registers in which the code has room; 0 where none will do."""
    sites = call_sites(given.flat, given.live, contracts)
    for count in range(1, MOST + 1):
        there = room(given.flat, given.live, sites, (1 << count) - 1)
        fixed = [o.fixed for item in given.flat.items for o in (*item.defs, *item.uses)]
        if max(fixed, default=-1) < count and not np.any(there.pressure > there.capacity):
            return count
    return 0


def mistakes(given: Analysed, placed: Placed, available: int, contracts: Contracts) -> list[str]:
    """What the judge says, and whether moves were counted. (By the liveness of the code after, names may meet in one
    register where a move takes along what only some lanes need.)"""
    wrong = assignment_mistakes(given.code, placed, available, contracts)
    added = [item for item in placed.code.items() if item.origin < 0 and item.kind in (COPY, EXCHANGE)]
    if len(added) != placed.moves:
        wrong.append(f"{len(added)} moves, {placed.moves} counted")
    return wrong


def assigned(one: Drawn, more: int = 0) -> list[str] | None:
    """Mistakes at the least budget and so many registers more; None where there is no place for groups."""
    given = analysed(numbered(one.code))
    count = least(given, one.contracts)
    if not count:
        return []
    available = (1 << min(count + more, MOST)) - 1
    try:
        placed = assign(given, available, one.contracts)
    except NoPlace:
        return None
    return mistakes(given, placed, available, one.contracts)


@pytest.mark.parametrize("shape", range(len(SINGLE)))
def test_values_without_partners_always_find_a_register(shape: int) -> None:
    wrong = {}
    for seed in range(SEEDS):
        found = assigned(random_virtual(seed, SINGLE[shape], defined=seed % 2 == 0), seed % 3)
        if found is None or found:
            wrong[seed] = found
    assert not wrong


@pytest.mark.parametrize("shape", range(len(WIDE)))
def test_pairs_and_quads_stand_side_by_side(shape: int) -> None:
    """At the least budget there may be no place for them; with eight registers more there is."""
    wrong = {}
    for seed in range(SEEDS):
        one = random_virtual(seed, WIDE[shape], defined=seed % 2 == 0)
        found = assigned(one, seed % 5)
        if found is None:
            found = assigned(one, 8)
        if found is None or found:
            wrong[seed] = found
    assert not wrong


@pytest.mark.parametrize("shape", range(len(GROUPS)))
def test_groups_of_any_width_and_alignment_stand_side_by_side(shape: int) -> None:
    """With eight registers more than the least budget most find a place, with twice as many all do."""
    wrong = {}
    short = 0
    for seed in range(SEEDS):
        one = random_virtual(seed, GROUPS[shape], defined=seed % 2 == 0)
        found = assigned(one, seed % 5)
        for more in (8, 32):
            if found is None:
                short += more == 32
                found = assigned(one, more)
        if found is None or found:
            wrong[seed] = found
    assert not wrong
    assert short < SEEDS // 4


@pytest.mark.parametrize("seed", range(45))
def test_functions_of_programs_find_their_registers(seed: int) -> None:
    rng = random.Random(f"assignment {seed}")
    if seed % 3 == 0:
        functions = virtual_functions(random_program(seed)[0], "kernel", rng)
    else:
        preset, kernel = ("wide", "kernel") if seed % 3 == 1 else ("unstructured", "k")
        functions = virtual_functions(generate(preset, seed)[0], kernel, rng)
    for one in functions:
        for more in (0, 2):
            found = assigned(one, more)
            assert not found, (one.code.function.name, more, found)

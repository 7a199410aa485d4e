"""Passes of shared-memory accesses: random ones against the definition, and strides in closed form against the rest."""

from __future__ import annotations

import random

import pytest

from binalloc.emulator.memory.banks import grouped, groups_in_use, shared_passes, strided
from binalloc.emulator.state.layout import FULL, LANES
from binalloc.emulator.state.records import Gpu, Sm
from tests.support.oracles.emulator.banks import FERMI, KEPLER_4, KEPLER_8, TESLA, Banks

SHAPES = (FERMI, KEPLER_4, KEPLER_8, TESLA, Banks(8, 8, 4), Banks(2, 8, 8), Banks(1, 4, 4))
NAMES = [f"{shape.banks} banks of {shape.bank_bytes}, mode {shape.mode_bytes}" for shape in SHAPES]


def records(shape: Banks) -> tuple[Gpu, Sm]:
    g = Gpu()
    g.lanes, g.shared_banks = LANES, shape.banks
    g.shared_bank_shift = (shape.mode_bytes // 4).bit_length() - 1
    g.shared_row_shift = (shape.banks * shape.bank_bytes // 4).bit_length() - 1
    return g, Sm()


def put(s: Sm, addresses: list[int], mask: int = FULL) -> None:
    """The addresses, and what an instruction of the lanes in `mask` finds out about them."""
    s.addr = addresses  # type: ignore[assignment]
    lanes = [lane for lane in range(LANES) if mask >> lane & 1]
    steps = [addresses[lanes[1]] - addresses[lanes[0]]] if len(lanes) > 1 else []
    for s.step in (*steps, 0, 4):
        s.origin = addresses[lanes[0]] - s.step * lanes[0]
        s.even = int(all(addresses[lane] == s.origin + s.step * lane for lane in lanes))
        if s.even:
            return


def random_addresses(rng: random.Random, size: int) -> list[int]:
    """Anywhere, in a few rows, in one bank mostly, at a stride, or on few places."""
    kind = rng.randrange(5)
    if kind == 0:
        return [rng.randrange(49152 // size) * size for _ in range(LANES)]
    if kind == 1:
        return [rng.randrange(512 // size) * size for _ in range(LANES)]
    if kind == 2:
        return [rng.randrange(64) * rng.choice((128, 128, 256)) + rng.choice((0, 0, size)) for _ in range(LANES)]
    if kind == 3:
        first, step = rng.randrange(64), rng.choice((0, 1, 2, rng.randrange(70)))
        return [(first + lane * step) * size for lane in range(LANES)]
    places = [rng.randrange(49152 // size) * size for _ in range(3)]
    return [rng.choice(places) for _ in range(LANES)]


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
def test_passes_are_those_of_the_definition(shape: Banks) -> None:
    rng = random.Random(NAMES[SHAPES.index(shape)])
    g, s = records(shape)
    for _ in range(1500):
        size = rng.choice((1, 2, 4, 8, 16))
        mask = rng.choice((FULL, FULL, rng.getrandbits(LANES), rng.getrandbits(LANES) & rng.getrandbits(LANES)))
        addresses = random_addresses(rng, size)
        lanes = {lane: addresses[lane] for lane in range(LANES) if mask >> lane & 1}
        if not lanes:
            continue
        put(s, list(addresses), mask)
        units = max(size // 4, 1)
        expected = shape.passes(lanes, size)
        assert shared_passes(g, s, mask, units) == expected, (size, bin(mask), addresses)
        least = shape.passes(dict.fromkeys(lanes, 0), size)
        row = shape.banks * shape.bank_bytes
        assert groups_in_use(g, mask, units) == (least if size <= row else len(lanes))


@pytest.mark.parametrize("shape", [FERMI, KEPLER_4, KEPLER_8], ids=NAMES[:3])
@pytest.mark.parametrize("units", [1, 2, 4])
def test_strides_in_closed_form_are_as_many_passes_as_lane_by_lane(shape: Banks, units: int) -> None:
    """Strides of either sign from every place of two rows; a stride's passes depend on nothing further off."""
    rng = random.Random(units)
    g, s = records(shape)
    size = 4 * units
    for step in range(-140, 141):
        for first in {*rng.sample(range(128), 12), 0, 1, 31, 32, 33, 63}:
            base = first + max(0, -step * (LANES - 1))
            put(s, [(base + lane * step) * size for lane in range(LANES)])
            assert strided(g, s, units) == grouped(g, s, FULL, units), (first, step)

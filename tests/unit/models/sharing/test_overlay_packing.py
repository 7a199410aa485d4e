"""Addresses of units of which some may lie over one another, beside the fewest bytes that any addresses give."""

from __future__ import annotations

import random
from itertools import product

import pytest

from binalloc.models.sharing import overlay
from binalloc.models.sharing.layout import Unit
from binalloc.models.sharing.overlay import overlaid


def drawn(seed: int, count: int, most: int, aligns: tuple[int, ...]) -> tuple[list[Unit], list[int]]:
    """Random units, and which of them meet."""
    rng = random.Random(f"packing {seed} {count}")
    units = []
    for _ in range(count):
        align = rng.choice(aligns)
        units.append(Unit(rng.randrange(1, most), align, None, rng.randrange(align) if rng.random() < 0.2 else 0))
    meets = [0] * count
    for k in range(count):
        for j in range(k):
            if rng.random() < 0.6:
                meets[k] |= 1 << j
                meets[j] |= 1 << k
    return units, meets


def allowed(units: list[Unit], meets: list[int], places: tuple[int, ...]) -> bool:
    """Whether addresses are aligned, and no units share a byte that meet."""
    for k, (unit, at) in enumerate(zip(units, places, strict=True)):
        if at < 0 or (at - unit.phase) % unit.align or unit.stays not in (None, at):
            return False
        for j in range(k):
            apart = at + unit.size <= places[j] or places[j] + units[j].size <= at
            if meets[k] >> j & 1 and not apart:
                return False
    return True


def ends(units: list[Unit], places: tuple[int, ...]) -> int:
    return max(at + unit.size for at, unit in zip(places, units, strict=True))


def of_all(units: list[Unit], meets: list[int], most: int) -> int:
    """The fewest bytes among all addresses up to `most`."""
    found = (places for places in product(range(most), repeat=len(units)) if allowed(units, meets, places))
    return min(ends(units, places) for places in found)


@pytest.mark.parametrize("seed", range(60))
def test_no_addresses_take_fewer_bytes(seed: int) -> None:
    units, meets = drawn(seed, 1 + seed % 4, 5, (1, 2, 4))
    rng = random.Random(seed)
    if seed % 3 == 0:
        k = rng.randrange(len(units))
        units[k] = units[k]._replace(stays=units[k].place(rng.randrange(6)))
    found = overlaid(units, meets)
    assert allowed(units, meets, found.places)
    assert found.bytes == ends(units, found.places) == of_all(units, meets, 15)
    assert found.exact


@pytest.mark.parametrize("seed", range(20))
def test_the_solver_finds_as_few(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    units, meets = drawn(seed, 7, 60, (4, 8, 16))
    tried = overlaid(units, meets)
    monkeypatch.setattr(overlay, "MOST_TRIED", 0)
    solved = overlaid(units, meets)
    assert allowed(units, meets, solved.places)
    assert (solved.bytes, solved.exact) == (tried.bytes, True)


def test_many_units_are_placed_alike_each_time() -> None:
    units, meets = drawn(3, 24, 900, (4, 16))
    found = overlaid(units, meets)
    assert allowed(units, meets, found.places)
    assert found == overlaid(units, meets)
    assert overlay.least_bytes(units, meets) <= found.bytes < sum(unit.size for unit in units)


def test_five_in_a_ring_need_more_than_any_two_that_meet() -> None:
    """Of five units in a ring two may lie over one another, but not all at once."""
    units = [Unit(4)] * 5
    ring = [1 << (k + 1) % 5 | 1 << (k - 1) % 5 for k in range(5)]
    assert overlay.least_bytes(units, ring) == 8
    assert overlaid(units, ring).bytes == 12


def test_what_stays_keeps_its_address() -> None:
    units = [Unit(16, 4, 32), Unit(8), Unit(40)]
    found = overlaid(units, [0b110, 0b001, 0b001])
    assert (found.places, found.bytes) == ((32, 0, 48), 88)
    apart = overlaid(units, [0, 0, 0])
    assert (apart.places, apart.bytes) == ((32, 0, 0), 48)

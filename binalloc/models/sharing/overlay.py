"""This module gives the variables of a block addresses, some of them the same: those that never hold anything at once.

Variables are vertices of a graph, and its edges say which of them *meet*, so that they may share no byte. Asked are the
addresses with the fewest bytes in all. That is register allocation with values of different sizes, and is also known as
dynamic storage allocation.

Up to ten units are placed in all orders. In an order each takes the lowest free address. That is exact: sort the best
addresses, lower each as far as possible, and repeat until nothing changes. The result is what this order gives. Beyond
ten units, or where the orders are too many, CP-SAT finds the addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from binalloc.bitset import bits
from binalloc.models.sharing.layout import Unit

MOST_TRIED = 10
_STEPS = 100_000
"""Most units that are placed by trial; chosen by hand: it takes about a second."""
_LIMIT = 10.0
"""Of the solver, in units of deterministic time (about seconds)."""


@dataclass(frozen=True)
class Overlay:
    """An overlay has addresses for all units."""

    places: tuple[int, ...]  #: address of each unit
    bytes: int  #: up to the end of the last one
    exact: bool  #: whether fewer bytes are known to be impossible


def overlaid(units: Sequence[Unit], meets: Sequence[int]) -> Overlay:
    """Return the addresses with the fewest bytes.

    meets: by unit those that it may share no byte with, as a bitset; a unit's own bit does not matter. It has to be
    symmetric. Units that stay keep their addresses, and these have to be disjoint where they meet.
    """
    least = least_bytes(units, meets)
    search = _Search(units, meets, least)
    if len(units) <= MOST_TRIED and search.run():
        return Overlay(search.best, search.bytes, True)
    greedy = _greedy(units, meets)
    if _end(units, greedy) == least:
        return Overlay(greedy, least, True)
    return _solved(units, meets, greedy, least)


def least_bytes(units: Sequence[Unit], meets: Sequence[int]) -> int:
    """Return a number of bytes that every overlay has: those of a group of which all meet, and the last end of those
    that stay. The group is the heaviest that a search of some steps finds."""
    stays = max((unit.stays + unit.size for unit in units if unit.stays is not None), default=0)
    return max(stays, _heaviest(units, meets, (1 << len(units)) - 1, [_STEPS]))


def _heaviest(units: Sequence[Unit], meets: Sequence[int], among: int, steps: list[int]) -> int:
    """Return the bytes of the heaviest group of units `among` of which all meet. steps: how many are left."""
    found = 0
    for k in sorted(bits(among), key=lambda k: (-units[k].size, k)):
        steps[0] -= 1
        rest = sum(units[j].size for j in bits(among))
        if rest <= found or steps[0] < 0:
            break
        found = max(found, units[k].size + _heaviest(units, meets, among & meets[k] & ~(1 << k), steps))
        among &= ~(1 << k)
    return found


def _lowest(units: Sequence[Unit], meets: Sequence[int], at: dict[int, int], k: int) -> int:
    """Return the lowest address for a unit that is free of those it meets. at: addresses of placed units."""
    place = units[k].place(0)
    for first, end in sorted((at[j], at[j] + units[j].size) for j in bits(meets[k]) if j in at and j != k):
        if place + units[k].size <= first:
            break
        place = max(place, units[k].place(end))
    return place


def _staying(units: Sequence[Unit]) -> dict[int, int]:
    return {k: unit.stays for k, unit in enumerate(units) if unit.stays is not None}


def _end(units: Sequence[Unit], places: Sequence[int]) -> int:
    return max((place + unit.size for place, unit in zip(places, units, strict=True)), default=0)


def _greedy(units: Sequence[Unit], meets: Sequence[int]) -> tuple[int, ...]:
    """Return the addresses of the best of a few orders: the largest, the most aligned, or the most connected first."""
    movable = [k for k, unit in enumerate(units) if unit.stays is None]
    found = []
    for key in (
        lambda k: (-units[k].size, k),
        lambda k: (-units[k].align, -units[k].size, k),
        lambda k: (-sum(units[j].size for j in bits(meets[k])), k),
    ):
        at = _staying(units)
        for k in sorted(movable, key=key):
            at[k] = _lowest(units, meets, at, k)
        found.append(tuple(at[k] for k in range(len(units))))
    return min(found, key=lambda places: _end(units, places))


class _Search:
    """A search tries all orders of units, ascending by address."""

    def __init__(self, units: Sequence[Unit], meets: Sequence[int], least: int) -> None:
        self.units, self.meets, self.least = units, meets, least
        self.best = _greedy(units, meets)
        self.bytes = _end(units, self.best)
        self._steps = _STEPS

    def run(self) -> bool:
        """Search, and return whether the best is known to be the best of all."""
        at = _staying(self.units)
        self._from(at, [k for k in range(len(self.units)) if k not in at], (0, -1))
        return self._steps > 0 or self.bytes == self.least

    def _from(self, at: dict[int, int], left: list[int], last: tuple[int, int]) -> None:
        """Place the units that are left, none in front of the last one."""
        if not left:
            places = tuple(at[k] for k in range(len(self.units)))
            if _end(self.units, places) < self.bytes:
                self.best, self.bytes = places, _end(self.units, places)
            return
        ways = []
        for k in left:
            place = _lowest(self.units, self.meets, at, k)
            if place + self.units[k].size >= self.bytes:
                return  # it only comes to lie higher
            if (place, k) > last:
                ways.append((place, k))
        for place, k in sorted(ways):
            self._steps -= 1
            if self._steps <= 0 or self.bytes == self.least:
                return
            self._from(at | {k: place}, [j for j in left if j != k], (place, k))


def _solved(units: Sequence[Unit], meets: Sequence[int], first: tuple[int, ...], least: int) -> Overlay:
    """Return the addresses that CP-SAT finds. first: a solution to begin with."""
    from ortools.sat.python import cp_model

    most = _end(units, first)
    model = cp_model.CpModel()
    end = model.new_int_var(least, most, "bytes")
    places: list[cp_model.LinearExpr] = []
    for k, unit in enumerate(units):
        if unit.stays is not None:
            places.append(model.new_constant(unit.stays) + 0)
        else:
            step = model.new_int_var(0, max(0, most - unit.size - unit.phase) // unit.align, f"step {k}")
            model.add_hint(step, (first[k] - unit.phase) // unit.align)
            places.append(unit.align * step + unit.phase)
        model.add(places[k] + unit.size <= end)
    for k in range(len(units)):
        for j in bits(meets[k] & (1 << k) - 1):
            lower = model.new_bool_var(f"{j} below {k}")
            model.add(places[j] + units[j].size <= places[k]).only_enforce_if(lower)
            model.add(places[k] + units[k].size <= places[j]).only_enforce_if(lower.negated())
    model.minimize(end)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_deterministic_time = _LIMIT
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Overlay(first, most, False)
    found = tuple(int(solver.value(place)) for place in places)
    return Overlay(found, _end(units, found), status == cp_model.OPTIMAL)

"""This module chooses which variables of a block lie in its private part, and which in the part shared with a partner.

After "Scratchpad Sharing in GPUs", section 6.1: the block holds the shared part from its first access to its last, so
the choice is the one whose access range has the fewest instructions. The paper asks for variables of exactly the shared
part's size; no kernel of its Table I has such. Here the private variables have to fit into the private part. The
variable that lies across its end counts as shared, like all behind it.

Up to ten units are tried in all ways; beyond that CP-SAT finds the choice. Both are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from binalloc.bitset import bits

_MOST_TRIED = 10
_SCALE = 1 << 20
"""Weights are multiples of 1 / this for the solver, which has integers alone."""
_LIMIT = 60.0
"""Of the solver, in units of deterministic time (about seconds)."""


class Unit(NamedTuple):
    """A unit is a variable, or several that have to keep their distance: of some bytes, from an aligned address on."""

    size: int
    align: int = 4
    stays: int | None = None  #: the address that it has to keep; None: it may be anywhere
    phase: int = 0  #: what its address is modulo the alignment

    def place(self, end: int) -> int:
        """Return its lowest address from `end` on."""
        return end + (self.phase - end) % self.align


class Moment(NamedTuple):
    """A moment is an instruction of the code, or several that are alike: it is in the access range of some units where
    one of them was accessed by then, and one is accessed from then on."""

    before: int  #: units accessed up to it, itself included, as a bitset
    after: int  #: units accessed from it on, itself included, as a bitset
    weight: float  #: how often it is executed


@dataclass(frozen=True)
class Choice:
    """A choice divides units into private and shared ones."""

    shared: int  #: the units of the shared part, and the one that lies across, as a bitset
    weight: float  #: how often instructions in their access range are executed


def in_range(moments: Iterable[Moment], units: int) -> float:
    """Return how often instructions in the access range of some units are executed."""
    return sum(moment.weight for moment in moments if moment.before & units and moment.after & units)


def packed(units: Sequence[Unit], chosen: Iterable[int]) -> dict[int, int]:
    """Return addresses for some units, from 0 on: the most aligned ones first, so that hardly a byte is left empty."""
    found, end = {}, 0
    for number in sorted(chosen, key=lambda k: (-units[k].align, k)):
        found[number] = units[number].place(end)
        end = found[number] + units[number].size
    return found


def places(units: Sequence[Unit], order: Iterable[int], end: int) -> dict[int, int] | None:
    """Return disjoint addresses for some units below `end`, None where one does not fit.

    In the order given each takes the lowest ones that are free, but for those that stay.
    """
    found = {k: unit.stays for k, unit in enumerate(units) if unit.stays is not None}
    for number in order:
        unit = units[number]
        if unit.stays is not None:
            continue
        taken = sorted((at, at + units[k].size) for k, at in found.items())
        place = unit.place(0)
        for first, behind in taken:
            if place + unit.size <= first:
                break
            place = max(place, unit.place(behind))
        found[number] = place
    return found if all(at + units[k].size <= end for k, at in found.items()) else None


def bytes_of(units: Sequence[Unit], chosen: Iterable[int]) -> int:
    """Return the bytes that some units take when they are packed."""
    return max((place + units[k].size for k, place in packed(units, chosen).items()), default=0)


def least_in_range(units: Sequence[Unit], moments: Sequence[Moment], private: int) -> Choice:
    """Return the choice with the fewest executed instructions in the access range of the shared units.

    private: bytes of the private part. A unit that stays is private if it lies there, else shared. Of equal choices the
    one with more private bytes is taken, then the one with the lowest units in private.
    """
    merged = _merged(moments)
    if len(units) <= _MOST_TRIED:
        return _tried(units, merged, private)
    return _solved(units, merged, private)


def _merged(moments: Iterable[Moment]) -> list[Moment]:
    """Return moments with those that are alike together, without those that no choice has in its range."""
    weights: dict[tuple[int, int], float] = {}
    for before, after, weight in moments:
        if before and after:
            weights[before, after] = weights.get((before, after), 0.0) + weight
    return [Moment(*key, weight) for key, weight in sorted(weights.items())]


def _tried(units: Sequence[Unit], moments: Sequence[Moment], private: int) -> Choice:
    every = (1 << len(units)) - 1
    held = sum(1 << k for k, unit in enumerate(units) if unit.stays is not None)
    inside = sum(1 << k for k, unit in enumerate(units) if _inside(unit, private))
    best: tuple[tuple[float, int, int], Choice] | None = None
    for own in range(every + 1):
        if own & held != inside:
            continue
        size = bytes_of(units, bits(own))
        if size > private:
            continue
        shared = every & ~own
        weight = in_range(moments, shared)
        key = weight, -size, own
        if best is None or key < best[0]:
            best = key, Choice(shared, weight)
    return best[1] if best is not None else Choice(every & ~inside, in_range(moments, every & ~inside))


def _inside(unit: Unit, private: int) -> bool:
    """Return whether a unit that stays lies in the private part."""
    return unit.stays is not None and unit.stays + unit.size <= private


def _solved(units: Sequence[Unit], moments: Sequence[Moment], private: int) -> Choice:
    """Return the choice that CP-SAT finds.

    It counts a unit's bytes up to its alignment, which `packed` never exceeds for sizes that are multiples of the
    alignment, and else by less than one alignment a unit.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    own = [model.new_bool_var(f"own {k}") for k in range(len(units))]
    for var, unit in zip(own, units, strict=True):
        if unit.stays is not None:
            model.add(var == int(_inside(unit, private)))
    sizes = [-(-(unit.size + unit.phase) // unit.align) * unit.align for unit in units]
    model.add(sum(size * var for size, var in zip(sizes, own, strict=True)) <= private)
    hit: dict[int, object] = {}

    def some_shared(among: int) -> object:
        """Return a variable that is 1 where one of some units is shared."""
        if among not in hit:
            var = model.new_bool_var(f"some of {among}")
            for k in bits(among):
                model.add_implication(own[k].negated(), var)
            hit[among] = var
        return hit[among]

    cost = []
    for before, after, weight in moments:
        inside = model.new_bool_var(f"inside {before} {after}")
        model.add_bool_or([some_shared(before).negated(), some_shared(after).negated(), inside])  # type: ignore[attr-defined]
        cost.append(round(weight * _SCALE) * inside)
    model.minimize(sum(cost))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_deterministic_time = _LIMIT
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):  # those that stay leave no way
        rest = sum(1 << k for k, unit in enumerate(units) if not _inside(unit, private))
        return Choice(rest, in_range(moments, rest))
    shared = sum(1 << k for k, var in enumerate(own) if not solver.value(var))
    return Choice(shared, in_range(moments, shared))

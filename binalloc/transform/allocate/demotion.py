"""This module chooses registers of the input to demote to memory, and compacts the others, as the RegDem paper does.

It needs the virtual code of a whole call graph with the places of the input. The consecutive registers of wide
operands are one unit if the operands overlap. A unit is demoted as a whole, and in all functions alike; so is every
single register. Units that
are arguments or results somewhere are not demoted, because caller and callee have no memory in common. The module
leaves the demoted units, and a register for every other place and for the window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from binalloc.analysis.locations import Location, file_of, index_of
from binalloc.bitset import bits
from binalloc.isa.interface.places import REG
from binalloc.transform.spill.demote import LinePlaces, Places, WindowNeed, touch
from binalloc.transform.virtual.places import OnPlaces, grouped_operands

ORDERS = ("cfg", "conflict")
"""The orders in which units are demoted. cfg: fewest accesses per register first, weighted by loops and calls.
conflict: before these, units for which the window need not grow, because no line accesses them together with too many
demoted ones."""


@dataclass(frozen=True)
class Demotion:
    """A demotion puts some places of the input into memory, and the others into registers."""

    gone: frozenset[Location]  #: places in memory
    register: dict[Location, int]  #: place -> its register, of all others
    window: tuple[int, ...]  #: registers through which accesses to memory go


@dataclass
class DemotedUnits:
    """Units are the groups of places that are demoted together."""

    all: list[Places]  #: by unit, its places
    alignment: list[int]  #: by unit, its first place modulo this may not change
    of: dict[Location, int]  #: place -> unit
    touches: list[list[LinePlaces]] = field(default_factory=list)  #: by unit, the lines that touch it
    accesses: list[float] = field(default_factory=list)  #: by unit, accesses per register, weighted by loops and calls
    may_leave: set[int] = field(default_factory=set)  #: units that may be demoted
    #: places of local words, which are in memory in the input and stay there unless they are arguments or results
    local: set[Location] = field(default_factory=set)


def find_units(codes: dict[str, OnPlaces], frequency: dict[str, float]) -> DemotedUnits:
    """Return the units of a call graph. frequency: of each function."""
    handed = {place for code in codes.values() for place in code.handed}
    places = sorted({place for code in codes.values() for place in code.place})
    units = _united(places, set(grouped_operands(codes)))
    units.touches = [[] for _ in units.all]
    units.accesses = [0.0] * len(units.all)
    for name, code in codes.items():
        for item in code.given.flat.items:
            found = touch(code, item)
            if found is not None:
                _account(units, found, frequency[name])
    for number, members in enumerate(units.all):
        if handed.isdisjoint(members):
            if file_of(members[0]) == REG:
                units.may_leave.add(number)
            else:
                units.local.update(members)
    return units


def _united(places: Sequence[Location], operands: set[tuple[Places, int]]) -> DemotedUnits:
    """Make units of the places: operands that overlap are one, and each other place is one."""
    last: dict[Location, Location] = {p: p for p in places}  # first place of an operand -> its last
    for members, _ in operands:
        last[members[0]] = max(last[members[0]], members[-1])
    found: list[list[Location]] = []
    end = -1
    for place in sorted(last):
        if place > end:
            found.append([])
        found[-1].append(place)
        end = max(end, last[place])
    units = DemotedUnits([], [], {})
    for together in sorted(found, key=lambda o: (-len(o), o)):
        units.of.update(dict.fromkeys(together, len(units.all)))
        units.all.append(tuple(together))
        units.alignment.append(1)
    for members, alignment in operands:
        unit = units.of[members[0]]
        units.alignment[unit] = max(units.alignment[unit], alignment)
    return units


def fewest(units: DemotedUnits) -> int:
    """Return a lower bound of the registers left when every unit that may be demoted is; for people."""
    gone = units.local.union(*(units.all[u] for u in units.may_leave))
    window = max((line.window(gone).size for lines in units.touches for line in lines), default=0)
    return window + sum(len(members) for members in units.all if members[0] not in gone)


def _account(units: DemotedUnits, found: LinePlaces, frequency: float) -> None:
    touched: dict[int, int] = {}
    for operand in (*found.before, *found.after):
        unit = units.of[operand[0]]
        touched[unit] = touched.get(unit, 0) + len(operand)
    for unit, registers in touched.items():
        units.touches[unit].append(found)
        units.accesses[unit] += frequency * found.weight * registers / len(units.all[unit])


def find_demotion(units: DemotedUnits, available: int, order: str | None) -> Demotion | None:
    """Return the first demotion that leaves room for all other places and the window in the registers of `available`
    (bits); None if there is none. With more registers, the same sequence of choices only ends earlier. order: None if
    no register may be demoted."""
    gone = set(units.local)
    for chosen, need in _row(units, gone, order):
        gone.update(chosen)
        stay = [(o, multiple) for o, multiple in zip(units.all, units.alignment, strict=True) if o[0] not in gone]
        found = _compacted(stay, _pieces(need), available)
        if found is not None:
            register, window = found
            return Demotion(frozenset(gone), register, tuple(window))
    return None


def _row(units: DemotedUnits, gone: set[Location], order: str | None) -> Iterator[tuple[Places, WindowNeed]]:
    """Yield (places demoted next, the window then), first with nothing beyond `gone`. The caller adds the places to
    `gone`."""
    need = WindowNeed()
    yield (), need
    leaving = units.may_leave if order is not None else ()
    rest = sorted(leaving, key=lambda u: (units.accesses[u], -units.all[u][0]))

    def with_unit(unit: int) -> WindowNeed:
        trial = gone.union(units.all[unit])
        return need.with_others([line.window(trial) for line in units.touches[unit]])

    # units for which the window would grow; later demotions do not change that until it has grown
    growing: set[int] = set()

    def grows(unit: int) -> bool:
        if unit not in growing and with_unit(unit).size > need.size:
            growing.add(unit)
        return unit in growing

    while rest:
        unit = rest[0]
        if order == "conflict":
            unit = next((u for u in rest if not grows(u)), unit)
        before = need.size
        need = with_unit(unit)
        if need.size > before:
            growing.clear()
        rest.remove(unit)
        yield units.all[unit], need


def _pieces(need: WindowNeed) -> list[tuple[int, int]]:
    """Split a window into pieces (width, alignment), the widest first. Each operand lies in one of them."""
    out: list[tuple[int, int]] = []
    size, width = need.size, need.block
    while size:
        width = min(width, size if need.uneven else 1 << size.bit_length() - 1)
        out.append((width, need.block if need.uneven else width))
        size -= width
    return out


def _compacted(
    stay: Sequence[tuple[Places, int]], window: Sequence[tuple[int, int]], available: int
) -> tuple[dict[Location, int], list[int]] | None:
    """Return a register for every place, and the registers of the window; None if there are too few. Places keep their
    registers if possible. If this leaves no room for the rest, all move. (Blocks as wide as their alignment, the
    widest first, fill any room.)"""
    fixed = [o for o, _ in stay if file_of(o[0]) == REG and _mask(index_of(o[0]), len(o)) & ~available == 0]
    for in_place in (fixed, []):
        register = {place: index_of(place) for members in in_place for place in members}
        free = available & ~sum(_mask(index_of(o[0]), len(o)) for o in in_place)
        moved = [(o, alignment) for o, alignment in stay if o[0] not in register]
        blocks = [_Block(len(o), 1, alignment, index_of(o[0]) % alignment) for o, alignment in moved]
        found = _filled([*blocks, *(_Block(width, 0, alignment, 0) for width, alignment in window)], free)
        if found is None:
            continue
        for (members, _), base in zip(moved, found, strict=False):
            register.update({place: base + k for k, place in enumerate(members)})
        bases = found[len(moved) :]
        return register, [base + k for base, (width, _) in zip(bases, window, strict=True) for k in range(width)]
    return None


class _Block(NamedTuple):
    """A block is consecutive registers that are looked for."""

    width: int  #: registers
    rank: int  #: among blocks of one width, lower ones come first
    alignment: int
    rest: int  #: of the first register by the alignment


def _filled(blocks: Sequence[_Block], free: int) -> list[int] | None:
    """Return the first register of each block. Return None if they do not all fit into the registers `free` (bits)."""
    out = [0] * len(blocks)
    for k in sorted(range(len(blocks)), key=lambda k: (-blocks[k].width, blocks[k].rank, k)):
        mask = _mask(0, blocks[k].width)
        alignment, rest = blocks[k].alignment, blocks[k].rest
        base = next((b for b in bits(free) if b % alignment == rest and free >> b & mask == mask), -1)
        if base < 0:
            return None
        free &= ~(mask << base)
        out[k] = base
    return out


def _mask(base: int, width: int) -> int:
    return ((1 << width) - 1) << base

"""Which registers of the input leave for memory, and where the others go: the RegDem paper's choice and compaction.

Needs the virtual code of a whole call graph beside the input's places. What an operand needs side by side is one unit,
which stays or leaves in whole, in all functions alike; so does every single register. Units that are arguments or
results somewhere stay, as caller and callee have no memory in common. Leaves the units that leave, and a register for
every other place and for the window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from binalloc.analysis.locations import Location, file_of, index_of
from binalloc.bitset import bits
from binalloc.isa.interface.places import REG
from binalloc.transform.spill.demote import Places, Touch, touch
from binalloc.transform.virtual.places import OnPlaces, wide_operands

ORDERS = ("cfg", "conflict")
"""In which units leave. cfg: those with the fewest accesses by loops and calls first, per register. conflict: before
that, those for which the window need not grow, since no line accesses them together with too many others that left."""


@dataclass(frozen=True)
class Demotion:
    """gone: places in memory. register: place -> its register, of all others. window: registers that accesses to memory
    go through; widest: of an operand there."""

    gone: frozenset[Location]
    register: dict[Location, int]
    window: tuple[int, ...]


@dataclass
class Units:
    """all: by unit, its places. of: place -> unit. touches: by unit, lines that touch it. accesses: by unit, of each of
    its registers, by loops and calls. may_leave: units. local: places of local words, which are in memory in the
    input and stay there, but for those that are handed over."""

    all: list[Places]
    of: dict[Location, int]
    touches: list[list[Touch]] = field(default_factory=list)
    accesses: list[float] = field(default_factory=list)
    may_leave: set[int] = field(default_factory=set)
    local: set[Location] = field(default_factory=set)


def find_units(codes: dict[str, OnPlaces], frequency: dict[str, float]) -> Units:
    """The units of a call graph. frequency: of each function."""
    handed = {place for code in codes.values() for place in code.handed}
    places = sorted({place for code in codes.values() for place in code.place})
    units = _united(places, set(wide_operands(codes)))
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


def _united(places: Sequence[Location], wide: set[Places]) -> Units:
    """Operands are aligned to their width, so that of two which overlap one lies in the other: the larger is a unit."""
    units = Units([], {})
    for members in sorted({(p,) for p in places} | wide, key=lambda o: (-len(o), o)):
        if members[0] not in units.of:
            units.of.update(dict.fromkeys(members, len(units.all)))
            units.all.append(members)
    return units


def fewest(units: Units) -> int:
    """Registers that are left, at least, when every unit has left that may: for people."""
    gone = units.local.union(*(units.all[u] for u in units.may_leave))
    window = max((line.window(gone)[0] for lines in units.touches for line in lines), default=0)
    return window + sum(len(members) for members in units.all if members[0] not in gone)


def _account(units: Units, found: Touch, frequency: float) -> None:
    touched: dict[int, int] = {}
    for operand in (*found.before, *found.after):
        unit = units.of[operand[0]]
        touched[unit] = touched.get(unit, 0) + len(operand)
    for unit, registers in touched.items():
        units.touches[unit].append(found)
        units.accesses[unit] += frequency * found.weight * registers / len(units.all[unit])


def find_demotion(units: Units, available: int, order: str | None) -> Demotion | None:
    """The first that leaves all others and the window room in the registers of `available` (bits); None if none does.
    More registers only end the same row of choices earlier. order: None where no register may leave."""
    gone = set(units.local)
    for chosen, (size, widest) in _row(units, gone, order):
        gone.update(chosen)
        stay = [members for members in units.all if members[0] not in gone]
        found = _compacted(stay, _pieces(size, widest), available)
        if found is not None:
            register, window = found
            return Demotion(frozenset(gone), register, tuple(window))
    return None


def _row(units: Units, gone: set[Location], order: str | None) -> Iterator[tuple[Places, tuple[int, int]]]:
    """(places that leave next, the window then), first nothing more than `gone`, which the caller adds to."""
    size, widest = 0, 0
    yield (), (size, widest)
    leaving = units.may_leave if order is not None else ()
    rest = sorted(leaving, key=lambda u: (units.accesses[u], -units.all[u][0]))

    def with_unit(unit: int) -> tuple[int, int]:
        trial = gone.union(units.all[unit])
        found = [line.window(trial) for line in units.touches[unit]]
        return max((size, *(s for s, _ in found))), max((widest, *(w for _, w in found)))

    growing: set[int] = set()  # that what leaves later makes no better, as long as the window is as it is

    def grows(unit: int) -> bool:
        if unit not in growing and with_unit(unit)[0] > size:
            growing.add(unit)
        return unit in growing

    while rest:
        unit = rest[0]
        if order == "conflict":
            unit = next((u for u in rest if not grows(u)), unit)
        before = size
        size, widest = with_unit(unit)
        if size > before:
            growing.clear()
        rest.remove(unit)
        yield units.all[unit], (size, widest)


def _pieces(size: int, widest: int) -> list[int]:
    """A window of that size in aligned pieces, the widest first: an operand at a multiple of its width from the start
    lies in one of them."""
    out: list[int] = []
    while size:
        widest = min(widest, 1 << size.bit_length() - 1)
        out.append(widest)
        size -= widest
    return out


def _compacted(
    stay: Sequence[Places], window: Sequence[int], available: int
) -> tuple[dict[Location, int], list[int]] | None:
    """A register for every place, and those of the window; None where there are too few. What can stays where it is;
    where that leaves no room for the rest, all move. (The widest first, aligned blocks fill any room.)"""
    fixed = [o for o in stay if file_of(o[0]) == REG and _mask(index_of(o[0]), len(o)) & ~available == 0]
    for in_place in (fixed, []):
        register = {place: index_of(place) for members in in_place for place in members}
        free = available & ~sum(_mask(index_of(o[0]), len(o)) for o in in_place)
        moved = [o for o in stay if o[0] not in register]
        found = _filled([*((len(o), 1) for o in moved), *((width, 0) for width in window)], free)
        if found is None:
            continue
        for members, base in zip(moved, found, strict=False):
            register.update({place: base + k for k, place in enumerate(members)})
        bases = found[len(moved) :]
        return register, [base + k for base, width in zip(bases, window, strict=True) for k in range(width)]
    return None


def _filled(blocks: Sequence[tuple[int, int]], free: int) -> list[int] | None:
    """The first register of each block (width, rank among those of one width), None where they do not all fit into the
    registers `free` (bits)."""
    out = [0] * len(blocks)
    for k in sorted(range(len(blocks)), key=lambda k: (-blocks[k][0], blocks[k][1], k)):
        width = blocks[k][0]
        mask = _mask(0, width)
        base = next((b for b in bits(free) if b % width == 0 and free >> b & mask == mask), -1)
        if base < 0:
            return None
        free &= ~(mask << base)
        out[k] = base
    return out


def _mask(base: int, width: int) -> int:
    return ((1 << width) - 1) << base

"""This module brings values side by side before an item that reads or writes groups of them, with the fewest moves.

It needs the registers of the values, the values that end at the item, and its wide operands and results. It leaves a
register for every value. With these, wide operands are consecutive and aligned, and so are registers for each wide
result that hold nothing any more once the operands are read. Values that stay are kept out of such registers. Values
that end may be there, whole operands included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from binalloc.bitset import bits, mask_from

NONE = -1  # no value, no register
_ANY = 1 << 30  # more moves than there can be
Wide = tuple[int, ...]  # values in consecutive registers, or one in an aligned one; NONE where any content will do


class WideResult(NamedTuple):
    """A wide result demands registers of an alignment, and keeps values that are in place."""

    alignment: int  #: its first register is a multiple of it
    standing: Wide  #: its values that are in place before the item already and stay, NONE at the other places


@dataclass
class Arrangement:
    """An arrangement says where every value goes before the item."""

    where: dict[int, int]  #: value -> register, of all values
    bases: dict[Wide, int]  #: by result, its first register
    moves: int  #: values that move


@dataclass(frozen=True)
class ItemDemand:
    """The demands of an item on an arrangement follow from its wide operands and results."""

    operands: Mapping[Wide, int]  #: wide operand -> alignment of its first register
    results: Mapping[Wide, WideResult]  #: by wide result
    ending: set[int]  #: values that the item reads and nothing reads after it
    home: Sequence[int]  #: by value, its preferred register
    late: Mapping[int, int]  #: register -> the item that may be about to write it although nobody reads the result


def arrange(where: dict[int, int], available: int, wanted: ItemDemand) -> Arrangement | None:
    """Return the cheapest arrangement found, None where there is none. available: registers, as bits."""
    runs = _runs(wanted.operands)
    if runs is None:
        return None
    results = sorted(wanted.results, key=lambda o: -len(o))
    if not results:
        return _Try(where, available, wanted, runs, _ANY).run([])
    best: Arrangement | None = None
    best_key = (0, 0)
    for least, rank, bases in _choices(where, available, wanted, results):
        if best is not None and (least, rank) > best_key:
            break
        most = _ANY if best is None else best_key[0] - (rank > best_key[1])
        found = _Try(where, available, wanted, runs, most).run(bases)
        if found is not None:
            best, best_key = found, (found.moves, rank)
    return best


def without_moves(
    where: Mapping[int, int], free: int, available: int, wanted: ItemDemand
) -> dict[Wide, int] | None:
    """Return the first registers of the results if nothing has to move, preferred ones first; None if something has to.
    free: registers that hold nothing before the item, as bits."""
    if not all(_side_by_side(where, values, alignment) for values, alignment in wanted.operands.items()):
        return None
    for v in wanted.ending:
        if v in where:
            free |= 1 << where[v]
    bases: dict[Wide, int] = {}
    for values, (alignment, standing) in wanted.results.items():
        places = [where[v] - i for i, v in enumerate(standing) if v != NONE]
        mask = sum(1 << i for i, v in enumerate(standing) if v == NONE)
        home = wanted.home[values[0]]
        tried = places[:1] or [home, *range(0, available.bit_length(), alignment)]
        base = next((b for b in tried if b >= 0 and b % alignment == 0 and free >> b & mask == mask), NONE)
        if base == NONE or any(place != base for place in places):
            return None
        bases[values] = base
        free &= ~(mask << base)
    return bases


def _side_by_side(where: Mapping[int, int], values: Wide, alignment: int) -> bool:
    base = where[values[0]]
    return base % alignment == 0 and all(where[v] == base + i for i, v in enumerate(values))


class _Run(NamedTuple):
    """A run is the values of a wide operand, or of several that have values in common."""

    values: Wide
    alignment: int
    rest: int  #: of the first register by the alignment


def _runs(operands: Mapping[Wide, int]) -> list[_Run] | None:
    """Return the runs of all operands, in order of the widest operand in each; None where no registers could suit
    operands that have values in common."""
    found: list[tuple[dict[int, int], list[tuple[int, int]]]] = []  # value -> place; (place, alignment) of operands
    for values in sorted(operands, key=lambda o: (-len(o), o)):
        places, demands = {v: i for i, v in enumerate(values)}, [(0, operands[values])]
        if len(places) < len(values):
            return None
        number = len(found)
        for k in reversed(range(len(found))):
            others, theirs = found[k]
            common = next((v for v in places if v in others), NONE)
            if common == NONE:
                continue
            shift = others[common] - places[common]
            moved = {v: place + shift for v, place in places.items()}
            if any(others.get(v, place) != place for v, place in moved.items()):
                return None
            places, demands = {**others, **moved}, [*theirs, *((place + shift, a) for place, a in demands)]
            number = k
            del found[k]
        found.insert(number, (places, demands))
    runs = [_run(places, demands) for places, demands in found]
    return None if None in runs else [run for run in runs if run is not None]


def _run(places: dict[int, int], demands: list[tuple[int, int]]) -> _Run | None:
    """Return the run of values with these places, None if there is none. demands: (place, alignment there)."""
    values = sorted(places, key=lambda v: places[v])
    first = places[values[0]]
    if [places[v] for v in values] != list(range(first, first + len(values))):
        return None
    strictest, alignment = max(demands, key=lambda demand: demand[1])
    rest = (first - strictest) % alignment
    if any((rest + place - first) % multiple for place, multiple in demands):
        return None
    return _Run(tuple(values), alignment, rest)


def _choices(
    where: dict[int, int], available: int, wanted: ItemDemand, results: list[Wide]
) -> list[tuple[int, int, list[tuple[Wide, int]]]]:
    """List places for the results, ascending: (lower limit of moves, rank among choices with the same limit, bases)."""
    first = results[0]
    liked = wanted.home[first[0]]
    apart = _apart(where, wanted.operands)
    standing = {v for values in results for v in wanted.results[values].standing}
    staying = mask_from(r for v, r in where.items() if v not in wanted.ending and v not in standing)
    out = []
    places = {values: _bases(available, len(values), wanted.results[values].alignment, 0) for values in results}
    for rank, base in enumerate(sorted(places[first], key=lambda b: (b != liked, b))):
        bases = _with_others(base, results, places)
        if bases is not None:
            zone = mask_from(b + i for values, b in bases for i in range(len(values)))
            out.append(((zone & staying).bit_count() + sum(not zone & staying & held for held in apart), rank, bases))
    return sorted(out)


def _apart(where: dict[int, int], operands: Mapping[Wide, int]) -> list[int]:
    """Return the registers, as bits, of operands that are not in consecutive registers and have no value in common. At
    least one value of each has to move."""
    seen: set[int] = set()
    out: list[int] = []
    for values in sorted(operands):
        base = where[values[0]]
        together = base % operands[values] == 0 and all(where[v] == base + i for i, v in enumerate(values))
        if not together and seen.isdisjoint(values):
            seen.update(values)
            out.append(mask_from(where[v] for v in values))
    return out


def _bases(available: int, width: int, alignment: int, rest: int) -> list[int]:
    """List the bases at which `width` consecutive registers are available. rest: of a base by the alignment."""
    mask = (1 << width) - 1
    return [b for b in range(rest, available.bit_length(), alignment) if available >> b & mask == mask]


def _with_others(base: int, results: list[Wide], places: Mapping[Wide, list[int]]) -> list[tuple[Wide, int]] | None:
    """Put the first result at `base` and the others wherever they fit; return None where they do not. places: bases by
    result."""
    taken = set(range(base, base + len(results[0])))
    out = [(results[0], base)]
    for other in results[1:]:
        place = next((b for b in places[other] if not taken & set(range(b, b + len(other)))), NONE)
        if place == NONE:
            return None
        taken.update(range(place, place + len(other)))
        out.append((other, place))
    return out


class _Try:
    """A try places all values for one choice of the results' places. placed: value -> register, as decided. taken:
    these registers, as bits. zone: registers of results, as bits. spare: registers outside of the zone left for values
    that end. moves: so far; the try fails with more than `most`."""

    def __init__(
        self, where: dict[int, int], available: int, wanted: ItemDemand, runs: Sequence[_Run], most: int
    ) -> None:
        self.where, self.available, self.wanted, self.runs, self.most = where, available, wanted, runs, most
        self.moves = 0
        self.at = {r: v for v, r in where.items()}
        self.placed: dict[int, int] = {}
        self.taken = 0
        self.zone = 0

    def run(self, bases: list[tuple[Wide, int]]) -> Arrangement | None:
        """Place all values, with the results at `bases`. Return None if that fails."""
        for values, base in bases:
            for i, v in enumerate(self.wanted.results[values].standing):
                self.zone |= 1 << base + i
                if v != NONE:
                    self._put(v, base + i)
        ending = self.wanted.ending
        staying = [v for v in self.where if v not in ending and v not in self.placed]
        self.spare = (self.available & ~self.zone).bit_count() - len(staying)
        if self.spare < 0:
            return None
        for run in self.runs:
            if not self._run(run) or self.moves > self.most:
                return None
        if not self._singles(staying):
            return None
        return Arrangement(self.placed, dict(bases), self.moves)

    def _put(self, v: int, register: int) -> None:
        self.placed[v] = register
        self.taken |= 1 << register
        self.moves += self.where[v] != register

    def _run(self, run: _Run) -> bool:
        """Place wide operands where that costs fewest moves. Say whether that succeeded."""
        members = list(enumerate(run.values))
        best, best_cost = NONE, (1 << 30, 0)
        for base in self._places(run):
            cost = self._cost(members, base)
            if cost is not None and (cost, base) < best_cost:
                best, best_cost = base, (cost, base)
                if not cost:
                    break  # it stays where it is: no other place is cheaper
        if best == NONE:
            return False
        for i, v in members:
            if v not in self.placed:
                self._put(v, best + i)
                if v in self.wanted.ending and not self.zone >> best + i & 1:
                    self.spare -= 1
        return True

    def _places(self, run: _Run) -> Sequence[int]:
        """Return the bases that a run may have. A value that is placed already determines the base. Otherwise these are
        all bases, beginning with the one at which its first value stays where it is."""
        for i, v in enumerate(run.values):
            if v in self.placed:
                base = self.placed[v] - i
                return (base,) if self._may_begin(run, base) else ()
        here = self.where[run.values[0]]
        bases = _bases(self.available, len(run.values), run.alignment, run.rest)
        return (here, *bases) if self._may_begin(run, here) else bases

    def _may_begin(self, run: _Run, base: int) -> bool:
        mask = (1 << len(run.values)) - 1
        return base >= 0 and base % run.alignment == run.rest and self.available >> base & mask == mask

    def _cost(self, members: list[tuple[int, int]], base: int) -> int | None:
        """Return the moves that a run at `base` costs, None where it cannot be there."""
        cost = 0
        needed = 0
        for i, v in members:
            register = base + i
            if v in self.placed:
                if self.placed[v] != register:
                    return None
                continue
            inside = self.zone >> register & 1
            if self.taken >> register & 1 or (inside and v not in self.wanted.ending):
                return None
            needed += v in self.wanted.ending and not inside
            if self.where[v] != register:
                cost += 2 + 2 * (register in self.at)
        return None if needed > self.spare else cost

    def _singles(self, staying: list[int]) -> bool:
        """Place all other values: where they are if possible, else in any register left. Say whether that succeeded."""
        ending = [v for v in self.where if v not in self.placed and v in self.wanted.ending]
        outside = self.available & ~self.zone
        homeless = []
        for v in staying:
            if v not in self.placed:
                if outside & ~self.taken & 1 << self.where[v]:
                    self._put(v, self.where[v])
                else:
                    homeless.append(v)
        if self.moves + len(homeless) > self.most:
            return False
        rest = bits(outside & ~self.taken)
        held = {self.where[v] for v in ending}
        rest.sort(key=lambda r: (r in held, self.wanted.late.get(r, NONE), r))
        if len(rest) < len(homeless):
            return False
        for v, register in zip(homeless, rest, strict=False):
            self._put(v, register)
        moved = []
        for v in ending:
            if self.available & ~self.taken & 1 << self.where[v]:
                self._put(v, self.where[v])
            else:
                moved.append(v)
        left = bits(self.available & ~self.taken)
        if len(left) < len(moved) or self.moves + len(moved) > self.most:
            return False
        for v, register in zip(moved, left, strict=False):
            self._put(v, register)
        return True

"""This module brings values side by side before an item that reads or writes pairs and quads, with the fewest moves.

It needs the registers of the values, the values that end at the item, and its wide operands and results. It leaves a
register for every value. With these, wide operands are aligned, and each wide result finds consecutive registers that
hold nothing any more once the operands are read. Values that stay are kept out of such registers. Values that end may
be there, whole operands included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from binalloc.bitset import bits, mask_from

NONE = -1  # no value, no register
_ANY = 1 << 30  # more moves than there can be
Wide = tuple[int, ...]  # values in consecutive registers; NONE where any content will do


@dataclass
class Arrangement:
    """An arrangement says where every value goes before the item."""

    where: dict[int, int]  #: value -> register, of all values
    bases: dict[Wide, int]  #: by result, its first register
    moves: int  #: values that move


@dataclass(frozen=True)
class Wanted:
    """The demands of an item on an arrangement follow from its wide operands and results."""

    operands: Sequence[Wide]  #: wide operands
    #: wide result -> its values that are in place before the item already and stay, NONE at the other places
    results: dict[Wide, Wide]
    ending: set[int]  #: values that the item reads and nothing reads after it
    home: Sequence[int]  #: by value, its preferred register
    late: Mapping[int, int]  #: register -> the item that may be about to write it although nobody reads the result


def arrange(where: dict[int, int], available: int, wanted: Wanted) -> Arrangement | None:
    """Return the cheapest arrangement found, None where there is none. available: registers, as bits."""
    results = sorted(wanted.results, key=lambda o: -len(o))
    if not results:
        return _Try(where, available, wanted, _ANY).run([])
    best: Arrangement | None = None
    best_key = (0, 0)
    for least, rank, bases in _choices(where, available, wanted, results):
        if best is not None and (least, rank) > best_key:
            break
        most = _ANY if best is None else best_key[0] - (rank > best_key[1])
        found = _Try(where, available, wanted, most).run(bases)
        if found is not None:
            best, best_key = found, (found.moves, rank)
    return best


def _choices(
    where: dict[int, int], available: int, wanted: Wanted, results: list[Wide]
) -> list[tuple[int, int, list[tuple[Wide, int]]]]:
    """List places for the results, ascending: (lower limit of moves, rank among choices with the same limit, bases)."""
    first = results[0]
    liked = wanted.home[first[0]]
    apart = _apart(where, wanted.operands)
    standing = {v for values in results for v in wanted.results[values]}
    staying = mask_from(r for v, r in where.items() if v not in wanted.ending and v not in standing)
    out = []
    for rank, base in enumerate(sorted(_bases(available, len(first)), key=lambda b: (b != liked, b))):
        bases = _with_others(base, results, available)
        if bases is not None:
            zone = mask_from(b + i for values, b in bases for i in range(len(values)))
            out.append(((zone & staying).bit_count() + sum(not zone & staying & held for held in apart), rank, bases))
    return sorted(out)


def _apart(where: dict[int, int], operands: Sequence[Wide]) -> list[int]:
    """Return the registers, as bits, of operands that are not in consecutive registers and have no value in common. At
    least one value of each has to move."""
    seen: set[int] = set()
    out: list[int] = []
    for values in sorted(set(operands)):
        base = where[values[0]]
        together = base % len(values) == 0 and all(where[v] == base + i for i, v in enumerate(values))
        if not together and seen.isdisjoint(values):
            seen.update(values)
            out.append(mask_from(where[v] for v in values))
    return out


def _bases(available: int, width: int) -> list[int]:
    """List the aligned bases at which `width` consecutive registers are available."""
    mask = (1 << width) - 1
    return [b for b in range(0, available.bit_length(), width) if available >> b & mask == mask]


def _with_others(base: int, results: list[Wide], available: int) -> list[tuple[Wide, int]] | None:
    """Put the first result at `base` and the others wherever they fit; return None where they do not."""
    taken = set(range(base, base + len(results[0])))
    out = [(results[0], base)]
    for other in results[1:]:
        place = next((b for b in _bases(available, len(other)) if not taken & set(range(b, b + len(other)))), NONE)
        if place == NONE:
            return None
        taken.update(range(place, place + len(other)))
        out.append((other, place))
    return out


class _Try:
    """A try places all values for one choice of the results' places. placed: value -> register, as decided. taken:
    these registers, as bits. zone: registers of results, as bits. spare: registers outside of the zone left for values
    that end. moves: so far; the try fails with more than `most`."""

    def __init__(self, where: dict[int, int], available: int, wanted: Wanted, most: int) -> None:
        self.where, self.available, self.wanted, self.most = where, available, wanted, most
        self.moves = 0
        self.at = {r: v for v, r in where.items()}
        self.placed: dict[int, int] = {}
        self.taken = 0
        self.zone = 0

    def run(self, bases: list[tuple[Wide, int]]) -> Arrangement | None:
        """Place all values, with the results at `bases`. Return None if that fails."""
        for values, base in bases:
            for i, v in enumerate(self.wanted.results[values]):
                self.zone |= 1 << base + i
                if v != NONE:
                    self._put(v, base + i)
        ending = self.wanted.ending
        staying = [v for v in self.where if v not in ending and v not in self.placed]
        self.spare = (self.available & ~self.zone).bit_count() - len(staying)
        if self.spare < 0:
            return None
        for values in sorted(set(self.wanted.operands), key=lambda o: (-len(o), o)):
            if not self._operand(values) or self.moves > self.most:
                return None
        if not self._singles(staying):
            return None
        return Arrangement(self.placed, dict(bases), self.moves)

    def _put(self, v: int, register: int) -> None:
        self.placed[v] = register
        self.taken |= 1 << register
        self.moves += self.where[v] != register

    def _operand(self, values: Wide) -> bool:
        """Place a wide operand where it costs fewest moves. Say whether that succeeded."""
        members = [(i, v) for i, v in enumerate(values) if v != NONE]
        best, best_cost = NONE, (1 << 30, 0)
        for base in self._places(members, len(values)):
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

    def _places(self, members: list[tuple[int, int]], width: int) -> Sequence[int]:
        """Return the bases that an operand may have. A member that is placed already determines the base. Otherwise
        these are all bases, beginning with the one at which its first member stays where it is."""
        for i, v in members:
            if v in self.placed:
                base = self.placed[v] - i
                return (base,) if base >= 0 and base % width == 0 and self._whole(base, width) else ()
        here = self.where[members[0][1]] - members[0][0]
        if here >= 0 and here % width == 0 and self._whole(here, width):
            return (here, *_bases(self.available, width))
        return _bases(self.available, width)

    def _whole(self, base: int, width: int) -> bool:
        mask = (1 << width) - 1
        return self.available >> base & mask == mask

    def _cost(self, members: list[tuple[int, int]], base: int) -> int | None:
        """Return the moves that an operand at `base` costs, None where it cannot be there."""
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

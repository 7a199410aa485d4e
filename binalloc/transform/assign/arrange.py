"""Where values go before an item that reads or writes pairs and quads: side by side, with the fewest moves.

Needs where values are, which of them end at the item, its wide operands and results. Leaves a register for every value,
such that wide operands can be named, and that each wide result finds registers side by side that hold nothing any more
once the operands are read. Values that stay keep out of there; those that end may be there, whole operands included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from binalloc.bitset import bits

NONE = -1
Wide = tuple[int, ...]
"""Values side by side; NONE where any content will do."""


@dataclass
class Arrangement:
    """where: value -> register, of all values. bases: by result, its first register. moves: values that move."""

    where: dict[int, int]
    bases: dict[Wide, int]
    moves: int


@dataclass(frozen=True)
class Wanted:
    """operands: wide ones. results: wide ones -> those of their values that stand before the item already and stay, in
    their places, NONE elsewhere. ending: values that the item reads and nobody after it. home: liked registers."""

    operands: Sequence[Wide]
    results: dict[Wide, Wide]
    ending: set[int]
    home: Sequence[int]


def arrange(where: dict[int, int], available: int, wanted: Wanted) -> Arrangement | None:
    """The cheapest arrangement found, None where there is none. available: registers as bits."""
    best: Arrangement | None = None
    results = sorted(wanted.results, key=lambda o: -len(o))
    if not results:
        return _Try(where, available, wanted).run([])
    first = results[0]
    liked = wanted.home[first[0]]
    for base in sorted(_bases(available, len(first)), key=lambda b: (b != liked, b)):
        bases = _with_others(base, results, available)
        if bases is None:
            continue
        found = _Try(where, available, wanted).run(bases)
        if found is not None and (best is None or found.moves < best.moves):
            best = found
            if not best.moves:
                break
    return best


def _bases(available: int, width: int) -> list[int]:
    mask = (1 << width) - 1
    return [b for b in range(0, available.bit_length(), width) if available >> b & mask == mask]


def _with_others(base: int, results: list[Wide], available: int) -> list[tuple[Wide, int]] | None:
    """The first result at `base`, others wherever they fit beside."""
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
    """One choice of places for the results. placed: value -> register, as decided. taken: those registers, as bits.
    zone: registers of results, as bits. spare: registers outside that what ends may take from what stays."""

    def __init__(self, where: dict[int, int], available: int, wanted: Wanted) -> None:
        self.where, self.available, self.wanted = where, available, wanted
        self.at = {r: v for v, r in where.items()}
        self.placed: dict[int, int] = {}
        self.taken = 0
        self.zone = 0

    def run(self, bases: list[tuple[Wide, int]]) -> Arrangement | None:
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
            if not self._operand(values):
                return None
        if not self._singles(staying):
            return None
        moves = sum(self.where[v] != r for v, r in self.placed.items())
        return Arrangement(self.placed, dict(bases), moves)

    def _put(self, v: int, register: int) -> None:
        self.placed[v] = register
        self.taken |= 1 << register

    def _operand(self, values: Wide) -> bool:
        members = [(i, v) for i, v in enumerate(values) if v != NONE]
        best, best_cost = NONE, (1 << 30, 0)
        for base in _bases(self.available, len(values)):
            cost = self._cost(members, base)
            if cost is not None and (cost, base) < best_cost:
                best, best_cost = base, (cost, base)
        if best == NONE:
            return False
        for i, v in members:
            if v not in self.placed:
                self._put(v, best + i)
                if v in self.wanted.ending and not self.zone >> best + i & 1:
                    self.spare -= 1
        return True

    def _cost(self, members: list[tuple[int, int]], base: int) -> int | None:
        """Moves that an operand at `base` makes, None where it cannot stand there."""
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
        """All others: where they are if that can be, else in any register left."""
        ending = [v for v in self.where if v not in self.placed and v in self.wanted.ending]
        outside = self.available & ~self.zone
        homeless = []
        for v in staying:
            if v not in self.placed:
                if outside & ~self.taken & 1 << self.where[v]:
                    self._put(v, self.where[v])
                else:
                    homeless.append(v)
        rest = bits(outside & ~self.taken)
        held = {self.where[v] for v in ending}
        rest.sort(key=lambda r: (r in held, r))
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
        if len(left) < len(moved):
            return False
        for v, register in zip(moved, left, strict=False):
            self._put(v, register)
        return True

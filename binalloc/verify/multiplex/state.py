"""A state has what is known of a block's threads at one place of the code: values, and the bytes of shared memory that
they have written.

Needs spreads; states are joined where ways meet. A byte is *stale* if an earlier holding period may have written it and
this one has not surely done so since.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from binalloc.verify.multiplex.spread import LAST, Mask, Numbers, Spread, hull
from binalloc.verify.multiplex.words import NO_LIMITS, Limit, Limits


@dataclass(frozen=True, slots=True, eq=False)
class Fill:
    """A fill is a store whose address is known in each thread that surely executes it."""

    address: Numbers
    size: int

    def stale(self, stale: Mask) -> Mask:
        """Return the threads that store to stale bytes."""
        at = np.minimum(self.address[:, None] + np.arange(self.size), len(stale) - 1)
        found: Mask = stale[at].any(axis=1)
        return found


class State:
    """A state holds wherever the threads `may` be at its place."""

    __slots__ = ("limits", "may", "places", "stale", "surely", "written")

    def __init__(self, may: Mask, span: int) -> None:
        self.may = may
        self.places: dict[int, Spread] = {}
        self.limits: dict[int, Limits] = {}  #: by predicate
        self.written = np.zeros(span, np.bool_)  #: bytes that the block may have written, ever
        self.stale = np.zeros(span, np.bool_)
        #: fills since the last barrier, and the threads that did them, or for which the bytes are not stale
        self.surely: dict[Fill, Mask] = {}

    def copy(self) -> State:
        new = State.__new__(State)
        new.may, new.written, new.stale = self.may, self.written, self.stale
        new.places, new.limits, new.surely = dict(self.places), dict(self.limits), dict(self.surely)
        return new

    def write(self, place: int, value: Spread, limits: Limits = NO_LIMITS) -> None:
        """Set a place, and forget what predicates said of it."""
        self.places[place] = value
        self.forget(place)
        if limits != NO_LIMITS:
            self.limits[place] = _past(limits[0], place), _past(limits[1], place)

    def forget(self, place: int) -> None:
        self.limits.pop(place, None)
        for p, (yes, no) in list(self.limits.items()):
            if any(x.register == place and x.now for x in (*yes, *no)):
                self.limits[p] = _past(yes, place), _past(no, place)

    def keep(self, live: int) -> None:
        """Forget places that the code does not read any more. live: a mask of the others."""
        self.places = {at: x for at, x in self.places.items() if live >> at & 1}
        self.limits = {at: x for at, x in self.limits.items() if live >> at & 1}

    def join(self, other: State, widen: bool) -> State | None:
        """Return what holds in either state, None if that is this state."""
        new = State.__new__(State)
        only, others = self.may & ~other.may, other.may & ~self.may
        changed = bool(others.any())
        new.may = self.may | other.may if changed else self.may
        new.places = {}
        for at, a in self.places.items():
            b = other.places.get(at)
            if b is None:
                changed = True
                continue
            if a is not b:
                joined = hull(a, b, only, others)
                b = a if a.alike(joined) else _widened(a, joined) if widen else joined
            new.places[at] = b
            changed |= b is not a
        new.limits = {at: x for at, x in self.limits.items() if _alike(x, other.limits.get(at))}
        changed |= len(new.limits) < len(self.limits)
        new.written, more = _either(self.written, other.written)
        new.stale, still = _either(self.stale, other.stale)
        new.surely, fewer = self._sure(other, only, others)
        return new if changed or more or still or fewer else None

    def _sure(self, other: State, only: Mask, others: Mask) -> tuple[dict[Fill, Mask], bool]:
        """Return the fills that threads did in both states, as far as they may be in both, and whether some are no
        longer among this state's. A fill whose bytes are not stale in a state counts as done there."""
        found, changed = {}, False
        none = np.zeros(len(only), np.bool_)
        for fill in {**self.surely, **other.surely}:
            a, b = self.surely.get(fill, none), other.surely.get(fill, none)
            done = (a | (b & ~fill.stale(self.stale))) & (b | (a & ~fill.stale(other.stale)))
            both = np.where(only, a, np.where(others, b, done))
            changed |= not np.array_equal(a, both)
            if both.any():
                found[fill] = both
        return found, changed


def _past(limits: tuple[Limit, ...], register: int) -> tuple[Limit, ...]:
    """Return the limits when a register has got another value: they say of its value before how many rounds a loop has
    at most."""
    return tuple(replace(x, now=False) if x.register == register else x for x in limits)


def _widened(old: Spread, new: Spread) -> Spread:
    low = np.where(new.low < old.low, 0, new.low)
    high = np.where(new.high > old.high, np.where(new.high <= 1, 1, LAST), new.high)
    return Spread(low, high, new.same)


def _either(a: Mask, b: Mask) -> tuple[Mask, bool]:
    """Return the union, which is `a` itself where nothing is new, and whether something is."""
    if a is b:
        return a, False
    both = a | b
    return (both, True) if bool((both != a).any()) else (a, False)


def _alike(a: Limits, b: Limits | None) -> bool:
    """Return whether two predicates say the same of registers."""
    return b is not None and (
        a is b or all(len(x) == len(y) and all(p.alike(q) for p, q in zip(x, y, strict=True))
                      for x, y in zip(a, b, strict=True))
    )  # fmt: skip

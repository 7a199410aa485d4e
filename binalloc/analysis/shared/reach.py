"""This module finds which bytes of shared memory an access may reach.

Needs the values of `ranges`; leaves them untouched. Addresses in code are bare numbers, so an access may reach whatever
its address may be, in all threads that may execute it: in its variable or not. A set of bytes is a bitset; the bit
behind the last byte of a block stands for all addresses beyond.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis
from binalloc.analysis.ranges.acts import Bools
from binalloc.analysis.ranges.ranges import Ranges
from binalloc.analysis.ranges.symbols import Round
from binalloc.analysis.ranges.value import WORDS, Value
from binalloc.analysis.shared.place import Place
from binalloc.isa.interface.view import Memory
from binalloc.isa.kinds import Access, Space

_MOST = 1 << 18  # chosen by hand: addresses of an access that are listed one by one

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Reached:
    """A reached set is what an access may touch, in any thread and at any time."""

    place: Place
    memory: Memory
    may: int  #: the bytes
    low: int  #: the lowest address of a first byte, at least 0
    high: int  #: the highest one, at most 2^32 - 1

    @property
    def writes(self) -> bool:
        return self.memory.access != Access.LOAD

    @property
    def reads(self) -> bool:
        return self.memory.access != Access.STORE


@dataclass
class Reach:
    """The reach of a kernel's accesses, in a block with `size` bytes of shared memory."""

    ranges: Ranges
    size: int

    @property
    def program(self) -> ProgramAnalysis:
        return self.ranges.program

    @cached_property
    def everything(self) -> int:
        """Return all bytes, and the bit for addresses beyond."""
        return (1 << self.size + 1) - 1

    @cached_property
    def accesses(self) -> list[Reached]:
        """Return the accesses in reachable code, without those to slots, callers first and in order of words.

        An access that no thread executes reaches nothing.
        """
        return [
            self._reached(Place(name, word), memory)
            for name, f in self.program.functions.items()
            for word, memory in shared_words(f)
        ]

    def bytes_of(self, addresses: Numbers, size: int) -> int:
        """Return the bytes of accesses of `size` bytes at some addresses."""
        hit = np.zeros(self.size + 1, bool)
        for k in range(size):
            hit[np.minimum((addresses + k) % WORDS, self.size)] = True
        return int.from_bytes(np.packbits(hit, bitorder="little").tobytes(), "little")

    def listed(self, name: str, value: Value, threads: Bools, rounds: dict[int, Numbers]) -> Numbers | None:
        """Return the addresses that a value takes in some threads and in some rounds of loops, None where other symbols
        are in it or they are too many. rounds: by loop the number of its rounds in each thread."""
        count = max(self.ranges.threads.count, 1)
        found = np.broadcast_to(np.asarray(value.base), count)[:, None]
        inside = np.broadcast_to(np.asarray(threads), count)[:, None]
        for symbol, factor in value.terms:
            source = self.ranges.symbols.sources[symbol]
            if not isinstance(source, Round) or source.function != name or source.loop not in rounds:
                return None
            most = np.broadcast_to(rounds[source.loop], count)
            longest = int(most.max(initial=0))
            if found.size * longest > _MOST:
                return None
            steps = np.arange(longest)
            grown = found[:, :, None] + factor * steps
            within = inside[:, :, None] & (steps < most[:, None, None])
            found, inside = grown.reshape(count, -1), within.reshape(count, -1)
        return np.unique(found[np.broadcast_to(inside, found.shape)] % WORDS)

    def _reached(self, place: Place, memory: Memory) -> Reached:
        if memory.space == Space.GENERIC:
            return Reached(place, memory, self.everything, 0, WORDS - 1)
        value = self.ranges.address(*place)
        within = self.ranges.within(*place, value)
        threads = self.ranges.coming(*place)
        rounds = {}
        for symbol, _ in value.terms:
            source = self.ranges.symbols.sources[symbol]
            if isinstance(source, Round):
                rounds[source.loop] = np.asarray(self.ranges.symbols.bounds(symbol).high + 1)
        found = self.listed(place.function, value, threads, rounds)
        if found is None:
            some = np.any(np.asarray(threads))
            return Reached(place, memory, self._between(*within, memory.size) if some else 0, *within)
        found = found[(within.low <= found) & (found <= within.high)]
        ends = (int(found.min()), int(found.max())) if found.size else tuple(within)
        return Reached(place, memory, self.bytes_of(found, memory.size), *ends)

    def _between(self, low: int, high: int, size: int) -> int:
        """Return the bytes of accesses of `size` bytes at any address of an interval."""
        end = high + size
        if end > WORDS:
            return self.everything  # the last bytes have the lowest addresses
        beyond = 1 << self.size if end > self.size else 0
        return (1 << min(end, self.size)) - (1 << min(low, self.size)) | beyond


def shared_words(f: FunctionAnalysis) -> list[tuple[int, Memory]]:
    """Return the reachable words of a function that may access shared memory, without those that access slots."""
    found = []
    for word, seen in enumerate(f.cfg.views):
        memory = seen.memory
        if memory is None or memory.spill or memory.space not in (Space.SHARED, Space.GENERIC):
            continue
        if f.cfg.reachable(word):
            found.append((word, memory))
    return found

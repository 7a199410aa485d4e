"""This module finds the addresses of the threads of a block, from the walks of a few of them, and what the accesses ask
for.

Needs a `LaunchSetting`. Addresses are assumed to grow evenly with a thread's place in its block. Where the warp's last
thread contradicts this, all threads of the warp are walked, and nothing is known of the block's other warps. """

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from binalloc.emulator.state.layout import LANES, WORD
from binalloc.models.machines.sections import SharedMemory
from binalloc.models.machines.unloaded import SECTOR_BYTES
from binalloc.pipeline.estimate.walk.setting import LaunchSetting
from binalloc.pipeline.estimate.walk.thread import Walked

Places = NDArray[np.int64]
"""Addresses in bytes, or numbers of sectors."""
T = TypeVar("T")
GROUP = 8
"""Blocks that run at about the same time, so that one of them finds another's data in L2. Chosen by hand."""


@dataclass(frozen=True)
class Accesses:
    """The accesses of one instruction have addresses for each time that it is executed."""

    times: list[Places]  #: addresses of the threads, by execution
    block: bool  #: whether they are of all threads of the block; otherwise they are of one warp


def inner(threads: Sequence[T]) -> T:
    """Return a thread that is at no edge of a tile of two, four, eight or sixteen threads. Threads at an edge may have
    nothing to do."""
    return threads[len(threads) * 2 // 3]


class Probes:
    """Probes are threads whose addresses determine the addresses of all threads of their block: the first and the last
    thread of a warp, one between, and the first one's neighbours along x, y and z.

    threads: their numbers. walks: their walks, in the middle block.
    """

    def __init__(self, setting: LaunchSetting, warp: range) -> None:
        self._setting, self._warp = setting, warp
        x, y, z = setting.block
        number = np.arange(x * y * z)
        self._first, self._last = warp[0], warp[-1]
        middle = setting.walk(setting.blocks // 2, self._first)
        self._along = self._blocks(setting, middle)
        places = np.stack([number % x, number // x % y, number // (x * y)])
        self._offsets = places - places[:, [self._first]]
        self._next = [self._neighbour(axis, side) for axis, side in enumerate((1, x, x * y))]
        self.threads = sorted({self._first, self._last, inner(warp), *(t for t in self._next if t is not None)})
        self.walks = [
            middle if t == self._first else setting.walk(setting.blocks // 2, t) for t in self.threads
        ]  # fmt: skip

    def _neighbour(self, axis: int, distance: int) -> int | None:
        """Return the number of a thread one further along an axis, or one before. Return None where the block has
        neither."""
        offsets = self._offsets
        for t in (self._first + distance, self._first - distance):
            if 0 <= t < offsets.shape[1] and abs(offsets[axis, t]) == 1 == np.abs(offsets[:, t]).sum():
                return t
        return None

    def _blocks(self, setting: LaunchSetting, here: Walked) -> list[tuple[int, Walked, Walked]]:
        """Return distances in blocks, with the walks of the first thread in the middle block (`here`) and in the block
        at the distance: the next ones along x and along y."""
        middle, found = setting.blocks // 2, list[tuple[int, Walked, Walked]]()
        x, y, _ = setting.grid or (1, 1, 1)
        for side, distance in ((x, 1), (y, x)):
            if side > 1 and middle + distance < setting.blocks:
                found.append((distance, here, setting.walk(middle + distance, self._first)))
        return found

    def block_distances(self, word: int) -> NDArray[np.int64]:
        """Return the distances of GROUP successive blocks from the first one at a code word, in bytes of address."""
        number = np.arange(GROUP)
        distances = np.zeros(GROUP, np.int64)
        row = self._along[-1][0] if len(self._along) > 1 else GROUP
        for distance, here, there in self._along:
            one, other = (walked.addresses.get(word, [None])[0] for walked in (here, there))
            if one is not None and other is not None:
                distances += (number % row if distance == 1 else number // row) * (other - one)
        return distances

    @cached_property
    def _whole_warp(self) -> list[Walked]:
        return [self._setting.walk(self._setting.blocks // 2, t) for t in self._warp]

    def accesses(self, word: int) -> Accesses | None:
        """Return the accesses of a code word, None where nothing is known of them."""
        times = _times(self.walks, word)
        if not any(a is not None for known in times for a in known):
            return None
        found = [self._over_block(known) for known in times]
        if None not in [None if one is None else 0 for one in found]:
            return Accesses([one for one in found if one is not None], True)
        warp = [[a for a in known if a is not None] for known in _times(self._whole_warp, word)]
        own = [np.array(known, np.int64) for known in warp if known]
        return Accesses(own, False) if own else None  # only neighbours of the warp have it

    def _over_block(self, known: Sequence[int | None]) -> NDArray[np.int64] | None:
        """Return the addresses of all the block's threads, from the known ones. Return None where they do not
        follow."""
        found = dict(zip(self.threads, known, strict=True))
        start, last = found[self._first], found[self._last]
        if start is None or last is None:
            return None
        grows = np.zeros(3, np.int64)
        for axis, t in enumerate(self._next):
            if t is not None:
                there = found[t]
                if there is None:
                    return None
                grows[axis] = (there - start) * self._offsets[axis, t]
        every: NDArray[np.int64] = start + grows @ self._offsets
        return every if every[self._last] == last else None


def _times(walks: Sequence[Walked], word: int) -> list[tuple[int | None, ...]]:
    """Return the known addresses of each thread, by execution of a code word."""
    return list(zip_longest(*(walked.addresses.get(word, []) for walked in walks)))


def pieces(addresses: NDArray[np.int64], size: int, of: int = SECTOR_BYTES) -> list[NDArray[np.int64]]:
    """Return, by warp, the pieces of `of` bytes (sectors, lines) that its lanes' accesses of `size` bytes touch."""
    found = []
    for at in range(0, len(addresses), LANES):
        lanes = addresses[at : at + LANES]
        ends = np.concatenate([(lanes + byte) // of for byte in {0, size - 1}])
        found.append(np.unique(ends))
    return found


def passes(addresses: NDArray[np.int64], size: int, shared: SharedMemory, givers: int = LANES) -> float:
    """Return how often banks have to serve an access of `size` bytes by each of the first `givers` lanes, on average
    over the warps. TIMING.md has the rule, in "Shared memory"."""
    size, warps = max(size, WORD), -(-len(addresses) // LANES)
    addresses = addresses[np.arange(len(addresses)) % LANES < givers]
    words = addresses[:, None] + np.arange(0, size, WORD)
    lanes = min(givers, max(1, shared.banks * shared.bank_bytes // size))
    group = np.arange(len(addresses))[:, None] // lanes
    banks, rows = words // shared.mode_bytes % shared.banks, words // (shared.banks * shared.bank_bytes)
    rows -= rows.min()
    wanted = np.unique((rows * (group.max() + 1) + group) * shared.banks + banks)  # each row of a bank once per group
    served = np.bincount(wanted % ((group.max() + 1) * shared.banks), minlength=(group.max() + 1) * shared.banks)
    return float(served.reshape(-1, shared.banks).max(axis=1).sum()) / warps

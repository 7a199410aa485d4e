"""What a launch's warps do, from a few threads that are walked: what they execute, and what their accesses ask for.

Needs a `Setting`. Walked are three threads each of some warps, spread over the grid and over their blocks, and of one
in the middle as many more as tell how addresses hang on a thread's place in its block: they are taken to grow evenly
with it, which the warp's last thread confirms or not. A warp executes what any of its threads does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from binalloc.emulator.state.layout import LANES, WORD
from binalloc.emulator.walk.setting import Setting
from binalloc.emulator.walk.thread import Walked
from binalloc.isa.kinds import Space
from binalloc.models.machines.model import SharedMemory
from binalloc.models.machines.unloaded import SECTOR_BYTES

COMMON = (Space.GLOBAL, Space.GENERIC, Space.TEXTURE)
"""Memory off the chip that all threads have in common."""
T = TypeVar("T")
OTHER_WARPS = 5
"""Warps of which only some threads are walked, at most."""
GROUP = 8
"""Blocks that run at about the same time and find in L2 what one of them asked for."""
STRIDE = 2
"""Has no factor in common with that: neighbouring blocks give warps that are apart."""


@dataclass
class Seen:
    """counts: per function, how often a warp executes each instruction, on average. sectors: per function and
    instruction, how many 32-byte sectors an access of a warp asks for, on average, where its addresses are known;
    passes: likewise how often banks of shared memory have to serve one.
    fresh: of the sectors that a block asks for those that it has not asked for before, as a share; first: of those that
    GROUP blocks in a row ask for, those that none of them has. thread: block and
    thread of one that does about as much as a warp does on average. complete: every thread came to its end."""

    counts: dict[str, list[float]]
    thread: tuple[int, int]
    complete: bool
    sectors: dict[tuple[str, int], float] = field(default_factory=dict)
    passes: dict[tuple[str, int], float] = field(default_factory=dict)
    fresh: float = 1.0
    first: float = 1.0


def look_at(setting: Setting) -> Seen:
    """Of the launch as a whole."""
    blocks, warps = setting.blocks, setting.warps
    probes = _Probes(setting, setting.threads(warps // 2))
    whole = [((blocks // 2, t), setting.walk(blocks // 2, t)) for t in probes.walked]
    chosen = sorted({(_share(k, blocks), _share(k * STRIDE % OTHER_WARPS, warps)) for k in range(OTHER_WARPS)})
    others = [[((b, t), setting.walk(b, t)) for t in _some(setting.threads(w))] for b, w in chosen]
    groups = [whole, *others]
    mean = np.mean([_most([walked for _, walked in group]) for group in groups], axis=0)
    counts = {
        fn.name: [float(x) for x in mean[fn.address : fn.address + len(fn.instrs)]]
        for fn in setting.module.reached(setting.kernel)
    }
    busiest = [max(group, key=_length) for group in groups]
    thread, _ = min(busiest, key=lambda one: abs(_length(one) - float(mean.sum())))
    seen = Seen(counts, thread, all(walked.complete for group in groups for _, walked in group))
    _find_sectors(seen, setting, probes, [walked for _, walked in whole])
    return seen


def _find_sectors(seen: Seen, setting: Setting, probes: _Probes, walked: list[Walked]) -> None:
    """Fill in what accesses ask for, those of one warp where it executes them and of its block if all did."""
    asked, different, around = 0, list[NDArray[np.int64]](), list[NDArray[np.int64]]()
    for fn in setting.module.reached(setting.kernel):
        for index in range(len(fn.instrs)):
            each = [one.addresses.get(fn.address + index, []) for one in walked]
            memory = setting.view(fn.address + index).memory if any(each) else None
            if memory is None or memory.space not in (*COMMON, Space.SHARED):
                continue
            found = [probes.over_block(known) for known in zip_longest(*each)]
            places = [addresses for addresses in found if addresses is not None]
            if places and memory.space == Space.SHARED:
                served = [passes(one, memory.size, setting.machine.shared) for one in places]
                seen.passes[fn.name, index] = float(np.mean(served))
                continue
            known = [sectors(addresses, memory.size) for addresses in places]
            if known:
                per_warp = [sum(map(len, warps)) / len(warps) for warps in known]
                seen.sectors[fn.name, index] = float(np.mean(per_warp))
                asked += sum(len(warp) for warps in known for warp in warps)
                block = np.unique(np.concatenate([warp for warps in known for warp in warps]))
                different.append(block)
                away = probes.blocks_away(fn.address + index)
                around.append(np.unique(block[:, None] + away[None, :] // SECTOR_BYTES))
    if different:
        seen.fresh = len(np.unique(np.concatenate(different))) / asked
        seen.first = min(seen.fresh, len(np.unique(np.concatenate(around))) / asked / GROUP)


def sectors(addresses: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    """By warp, the sectors that its lanes' accesses of so many bytes touch."""
    found = []
    for at in range(0, len(addresses), LANES):
        lanes = addresses[at : at + LANES]
        ends = np.concatenate([(lanes + byte) // SECTOR_BYTES for byte in {0, size - 1}])
        found.append(np.unique(ends))
    return found


def passes(addresses: NDArray[np.int64], size: int, shared: SharedMemory) -> float:
    """How often banks have to serve an access of so many bytes by each lane, on average over the warps: as TIMING.md
    says of shared memory."""
    size = max(size, WORD)
    words = addresses[:, None] + np.arange(0, size, WORD)
    lanes = min(LANES, max(1, shared.banks * shared.bank_bytes // size))
    total = 0
    for at in range(0, len(addresses), lanes):
        group = words[at : at + lanes].ravel()
        banks, rows = group // shared.mode_bytes % shared.banks, group // (shared.banks * shared.bank_bytes)
        wanted = np.unique(np.stack([banks, rows]), axis=1)[0]
        total += int(np.bincount(wanted).max())
    return total / -(-len(addresses) // LANES)


class _Probes:
    """Threads whose addresses tell those of all threads of their block: the first and the last of a warp and one
    between, and the first one's neighbours along x, y and z."""

    def __init__(self, setting: Setting, warp: range) -> None:
        x, y, z = setting.block
        number = np.arange(x * y * z)
        self._first, self._last = warp[0], warp[-1]
        self._along = self._blocks(setting)
        places = np.stack([number % x, number // x % y, number // (x * y)])
        self._away = places - places[:, [self._first]]
        self._next = [self._neighbour(axis, side) for axis, side in enumerate((1, x, x * y))]
        between = warp[len(warp) * 2 // 3]
        self.walked = sorted({self._first, self._last, between, *(t for t in self._next if t is not None)})

    def _neighbour(self, axis: int, distance: int) -> int | None:
        """The number of a thread one further along an axis, or one before; None where the block has no such."""
        for t in (self._first + distance, self._first - distance):
            if 0 <= t < self._away.shape[1] and abs(self._away[axis, t]) == 1 == np.abs(self._away[:, t]).sum():
                return t
        return None

    def _blocks(self, setting: Setting) -> list[tuple[int, Walked, Walked]]:
        """How many blocks further, and the walks of the first thread in the middle block and in that: the next ones
        along x and along y."""
        middle, found = setting.blocks // 2, list[tuple[int, Walked, Walked]]()
        x, y, _ = setting.grid or (1, 1, 1)
        for side, distance in ((x, 1), (y, x)):
            if side > 1 and middle + distance < setting.blocks:
                here, there = (setting.walk(b, self._first) for b in (middle, middle + distance))
                found.append((distance, here, there))
        return found

    def blocks_away(self, word: int) -> NDArray[np.int64]:
        """Of GROUP blocks in a row, how far their addresses at a code word are from the first one's, in bytes."""
        number = np.arange(GROUP)
        away = np.zeros(GROUP, np.int64)
        row = self._along[-1][0] if len(self._along) > 1 else GROUP
        for distance, here, there in self._along:
            one, other = (walked.addresses.get(word, [None])[0] for walked in (here, there))
            if one is not None and other is not None:
                away += (number % row if distance == 1 else number // row) * (other - one)
        return away

    def over_block(self, known: Sequence[int | None]) -> NDArray[np.int64] | None:
        """The addresses of all the block's threads, from those of the walked ones; None where they do not follow."""
        found = dict(zip(self.walked, known, strict=True))
        start, last = found[self._first], found[self._last]
        if start is None or last is None:
            return None
        grows = np.zeros(3, np.int64)
        for axis, t in enumerate(self._next):
            if t is not None:
                there = found[t]
                if there is None:
                    return None
                grows[axis] = (there - start) * self._away[axis, t]
        every: NDArray[np.int64] = start + grows @ self._away
        return every if every[self._last] == last else None


def _length(one: tuple[tuple[int, int], Walked]) -> float:
    return sum(one[1].counts)


def _share(k: int, many: int) -> int:
    """The middle of the k-th of OTHER_WARPS equal shares of so many."""
    return (2 * k + 1) * many // (2 * OTHER_WARPS)


def _some(threads: Sequence[T]) -> list[T]:
    """The first, the last, and one that stands at no edge of a tile, be it two, four, eight or sixteen threads wide: at
    its edges threads may have nothing to do."""
    return [threads[k] for k in sorted({0, len(threads) * 2 // 3, len(threads) - 1})]


def _most(walked: list[Walked]) -> list[float]:
    """What a warp of these threads executes."""
    return [max(each) for each in zip(*(one.counts for one in walked), strict=True)]

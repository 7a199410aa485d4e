"""This module walks a few threads of a launch, and infers the instructions and memory accesses of its warps.

Needs a `LaunchSetting`. Three threads each of some warps are walked, spread over the grid and over their blocks. Of a
warp in the middle more threads are walked, so that the dependence of addresses on a thread's place in its block is
known. Addresses are assumed to grow evenly with that place; the warp's last thread confirms that or not. A warp
executes an instruction if any of its threads does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from binalloc.emulator.state.layout import LANES
from binalloc.isa.kinds import Flow, Space
from binalloc.models.machines.unloaded import SECTOR_BYTES
from binalloc.pipeline.estimate.walk.accesses import GROUP, Accesses, Places, Probes, T, inner, passes, pieces
from binalloc.pipeline.estimate.walk.setting import LaunchSetting
from binalloc.pipeline.estimate.walk.thread import Walked

COMMON = (Space.GLOBAL, Space.GENERIC, Space.TEXTURE)
"""Memory off the chip that all threads share."""
OTHER_WARPS = 5
"""Most warps of which only some threads are walked. More warps cost time for each; chosen by hand."""
KNOWN = 0.75
"""Addresses of off-chip accesses count as known if at least this share of a warp's accesses has known ones. Chosen by
hand."""
STRIDE = 2
"""It has no factor in common with OTHER_WARPS, so that neighbouring blocks give warps that are apart."""


@dataclass
class WarpsSeen:
    """`WarpsSeen` says what the warps of a launch do. Figures are per function and instruction, on average."""

    counts: dict[str, list[float]]  #: how often a warp executes each instruction, by function
    thread: tuple[int, int]  #: block and thread of one that does about as much as a warp does on average
    #: such a thread for each warp of a block, where warps wait for one another and differ; else one for all
    threads: list[tuple[int, int]]
    #: whether every thread came to its end, no loop of them depends on data, and at least a share KNOWN of the off-chip
    #: accesses has known addresses
    sure: bool
    #: 32-byte sectors that an access of a warp asks for, where its addresses are known
    sectors: dict[tuple[str, int], float] = field(default_factory=dict)
    lines: dict[tuple[str, int], float] = field(default_factory=dict)  #: lines of L1 that it asks for
    #: how often banks of shared memory have to serve it
    passes: dict[tuple[str, int], float] = field(default_factory=dict)
    fresh: float = 1.0  #: share of the sectors that a block asks for that it has not asked for before
    #: share of the sectors that GROUP successive blocks ask for that none of them has asked for before
    first: float = 1.0


def look_at(setting: LaunchSetting) -> WarpsSeen:
    """Look at the launch as a whole."""
    blocks, warps = setting.blocks, setting.warps
    probes = Probes(setting, setting.threads(warps // 2))
    whole = [((blocks // 2, t), walked) for t, walked in zip(probes.threads, probes.walks, strict=True)]
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
    sure = all(one.complete and not one.guessed for group in groups for _, one in group)
    seen = WarpsSeen(counts, thread, _each_warp(setting) or [thread], sure)
    _find_sectors(seen, setting, probes)
    return seen


def _each_warp(setting: LaunchSetting) -> list[tuple[int, int]]:
    """Return block and thread of one thread of each warp of a block, where barriers make warps wait for one another and
    the warps differ.

    The first two warps, the middle and the last one are walked. The others do as the walked one before them. The list
    is empty where all do the same, and where a thread's walk is too long.
    """
    words = (fn.address + index for fn in setting.module.reached(setting.kernel) for index in range(len(fn.instrs)))
    if setting.warps == 1 or not any(setting.view(word).control == Flow.BARRIER for word in words):
        return []
    block, found = setting.blocks // 2, list[tuple[tuple[int, int], list[float]]]()
    for w in range(setting.warps):
        if w not in (0, 1, setting.warps // 2, setting.warps - 1):
            found.append(found[-1])
            continue
        walks = [((block, t), setting.walk(block, t)) for t in _some(setting.threads(w))]
        if not all(walked.complete for _, walked in walks):
            return []
        at, walked = max(walks, key=_length)
        found.append((at, walked.counts))
    alike = all(counts == found[0][1] for _, counts in found)
    return [] if alike else [at for at, _ in found]


def _find_sectors(seen: WarpsSeen, setting: LaunchSetting, probes: Probes) -> None:
    """Fill in the sectors and lines of one warp's accesses, and the sectors of a block whose warps all execute them."""
    tally = _Tally()
    for fn in setting.module.reached(setting.kernel):
        for index in range(len(fn.instrs)):
            memory = setting.view(fn.address + index).memory
            if memory is None or memory.space not in (*COMMON, Space.SHARED):
                continue
            found = probes.accesses(fn.address + index)
            if memory.space == Space.SHARED:
                if found is not None:
                    givers = memory.givers or LANES
                    served = [passes(one, memory.size, setting.machine.shared, givers) for one in found.times]
                    seen.passes[fn.name, index] = float(np.mean(served))
                continue
            tally.weigh(seen.counts[fn.name][index], found is not None)
            if found is not None:
                asked = tally.add(found, memory.size, setting.warps, probes.block_distances(fn.address + index))
                seen.sectors[fn.name, index] = asked
                line = setting.machine.l1.line_bytes
                touched = [len(warp) for one in found.times for warp in pieces(one, memory.size, line)]
                seen.lines[fn.name, index] = float(np.mean(touched))
    seen.sure = seen.sure and tally.known >= KNOWN * tally.accesses
    seen.fresh, seen.first = tally.shares()


class _Tally:
    """A tally sums what the accesses of a block ask for together.

    known, accesses: accesses of a warp with known addresses, and all.
    """

    def __init__(self) -> None:
        self.known = self.accesses = 0.0
        self._asked, self._warps = 0, 1
        self._own: list[Places] = []
        self._apart: list[Places] = []
        self._around: list[Places] = []

    def weigh(self, times: float, known: bool) -> None:
        """Count an instruction that a warp executes `times` times."""
        self.accesses += times
        self.known += times * known

    def add(self, found: Accesses, size: int, warps: int, distances: Places) -> float:
        """Add accesses of `size` bytes by a block of `warps` warps. Return the sectors that a warp asks for, on
        average. distances: of other blocks' addresses from this block's, in bytes."""
        by_warp = [warp for addresses in found.times for warp in pieces(addresses, size)]
        asked, different = sum(map(len, by_warp)), np.unique(np.concatenate(by_warp))
        if found.block:
            self._asked += asked
            self._own.append(different)
            self._around.append(np.unique(different[:, None] + distances[None, :] // SECTOR_BYTES))
        else:
            self._asked += asked * warps
            self._warps = warps
            self._apart.append(different)
        return asked / len(by_warp)

    def shares(self) -> tuple[float, float]:
        """Return two shares of the sectors asked for: the new ones for the block, and the new ones for it and the
        blocks near it."""
        if not self._asked:
            return 1.0, 1.0
        apart = _different(self._apart) * self._warps
        fresh = (_different(self._own) + apart) / self._asked
        first = (_different(self._around) / GROUP + apart) / self._asked
        return fresh, min(fresh, first)


def _different(places: list[Places]) -> int:
    return len(np.unique(np.concatenate(places))) if places else 0


def _length(one: tuple[tuple[int, int], Walked]) -> float:
    return sum(one[1].counts)


def _share(k: int, many: int) -> int:
    """Return the middle of the k-th of OTHER_WARPS equal shares of `many`."""
    return (2 * k + 1) * many // (2 * OTHER_WARPS)


def _some(threads: Sequence[T]) -> list[T]:
    """Return the first thread, the last, and one between."""
    return list(dict.fromkeys([threads[0], inner(threads), threads[-1]]))


def _most(walked: list[Walked]) -> list[float]:
    """Return what a warp of these threads executes."""
    return [max(each) for each in zip(*(one.counts for one in walked), strict=True)]

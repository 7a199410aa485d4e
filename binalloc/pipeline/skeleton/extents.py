"""This module finds how far accesses reach in each buffer, by walks of a few threads (`Setting.walk`). Nothing is run.

Needs a launch; its buffers are assumed to be very long. Addresses that depend on the contents of memory are unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod

from binalloc.errors import BinallocError
from binalloc.isa.instruction import LANES, Module
from binalloc.isa.kinds import Space
from binalloc.launch.types import ArgumentKind, Launch
from binalloc.models.machines.model import Machine
from binalloc.pipeline.estimate.walk.setting import LaunchSetting
from binalloc.pipeline.skeleton.parameters.values import CodePlace

LONG = 64 << 20
"""Bytes of each buffer during the walks. Buffers are so long that no access to one is inside the next one."""
_BEFORE = 1 << 20
"""Bytes in front of a buffer that belong to it, too: kernels with halos access elements in front of a pointer."""

_FIRST = (0, 1, 2, 3, 4, 7, 8, 15, 16, 31)
"""Threads of a block that are walked, besides its middle and its end: there tiles of threads may begin and end."""


@dataclass
class Extents:
    """Extents say how far accesses reach in memory."""

    #: by buffer, the first byte that is accessed and the byte after the last, both from the buffer's start
    buffers: dict[str, tuple[int, int]] = field(default_factory=dict)
    shared: int = 0  #: the byte after the last one accessed in shared memory
    known: set[CodePlace] = field(default_factory=set)  #: accesses of walked threads with a known address
    unknown: set[CodePlace] = field(default_factory=set)  #: accesses of walked threads with an unknown address
    complete: bool = True  #: whether all walks came to the kernel's end

    def add(self, name: str, low: int, high: int) -> None:
        """Extend the extent of a buffer to the bytes from `low` up to, not including, `high`."""
        before = self.buffers.get(name, (low, high))
        self.buffers[name] = min(before[0], low), max(before[1], high)


def extents_of(module: Module, launch: Launch, machine: Machine) -> Extents:
    """Return the extents of the accesses of a few threads of a few blocks: at the edges of the grid, and between."""
    longer = replace(
        launch,
        arguments=tuple(
            replace(a, shape=(LONG // a.numpy_dtype.itemsize,)) if a.kind == ArgumentKind.BUFFER else a
            for a in launch.arguments
        ),
    )
    found = Extents()
    addresses = {a.name: longer.addresses[a.name] for a in longer.arguments if a.kind == ArgumentKind.BUFFER}
    try:
        setting = LaunchSetting(module, launch.kernel, longer, prod(launch.block), machine)
        for block, thread in _probes(launch):
            _look(setting, block, thread, addresses, found)
    except BinallocError:
        found.complete = False
    return found


def _probes(launch: Launch) -> Iterator[tuple[int, int]]:
    """Yield the threads to walk as (block, thread)."""
    blocks, threads = launch.blocks, launch.threads_per_block
    for block in sorted({0, launch.grid[0] - 1, blocks // 2, blocks - 1}):
        for thread in sorted({min(t, threads - 1) for t in (*_FIRST, launch.block[0] - 1, threads // 2, threads - 1)}):
            yield block, thread


def _look(setting: LaunchSetting, block: int, thread: int, buffers: dict[str, int], found: Extents) -> None:
    """Walk a thread and add its accesses to `found`. buffers: addresses by name."""
    walked = setting.walk(block, thread)
    found.complete &= walked.complete
    for word, known in walked.addresses.items():
        memory = setting.view(word).memory
        addresses = [a for a in known if a is not None]
        fn, index = setting.where(word)
        if len(addresses) < len(known):
            found.unknown.add(CodePlace(fn.name, index))
        if addresses:
            found.known.add(CodePlace(fn.name, index))
        if memory is None or not addresses or (memory.givers and thread % LANES >= memory.givers):
            continue
        low, high = min(addresses), max(addresses) + memory.size
        if memory.space == Space.SHARED:
            found.shared = max(found.shared, high)
        elif memory.space in (Space.GLOBAL, Space.GENERIC):
            for address in (low, high - memory.size):
                for name, start in buffers.items():
                    if start - _BEFORE <= address < start + LONG - _BEFORE:
                        found.add(name, address - start, address - start + memory.size)

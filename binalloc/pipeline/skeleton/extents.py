"""How far accesses reach in each buffer, from the ways of a few threads (`emulator.walk`): nothing is run.

Needs a launch whose buffers are taken to be very long. Addresses that hang on what memory holds are unknown.
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
from binalloc.pipeline.estimate.walk.setting import Setting
from binalloc.pipeline.skeleton.parameters.values import CodePlace

LONG = 64 << 20
"""Bytes of each buffer while threads are walked."""
_BEFORE = 1 << 20
"""What is no further in front of a buffer is an access to it, too."""

_FIRST = (0, 1, 2, 3, 4, 7, 8, 15, 16, 31)
"""Threads of a block that are walked: those where tiles of them may begin and end."""


@dataclass
class Extents:
    """By buffer the first byte that is accessed and the one behind the last; shared: the same of shared memory, its end
    alone. known, unknown: accesses that threads came to, of which an address was known, or was not. complete: all
    threads came to their ends."""

    buffers: dict[str, tuple[int, int]] = field(default_factory=dict)
    shared: int = 0
    known: set[CodePlace] = field(default_factory=set)
    unknown: set[CodePlace] = field(default_factory=set)
    complete: bool = True

    def add(self, name: str, low: int, high: int) -> None:
        before = self.buffers.get(name, (low, high))
        self.buffers[name] = min(before[0], low), max(before[1], high)


def extents_of(module: Module, launch: Launch, machine: Machine) -> Extents:
    """Of a few threads of a few blocks: those at the edges, and some between."""
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
        setting = Setting(module, launch.kernel, longer, prod(launch.block), machine)
        for block, thread in _probes(launch):
            _look(setting, block, thread, addresses, found)
    except BinallocError:
        found.complete = False
    return found


def _probes(launch: Launch) -> Iterator[tuple[int, int]]:
    blocks, threads = launch.blocks, launch.threads_per_block
    for block in sorted({0, launch.grid[0] - 1, blocks // 2, blocks - 1}):
        for thread in sorted({min(t, threads - 1) for t in (*_FIRST, launch.block[0] - 1, threads // 2, threads - 1)}):
            yield block, thread


def _look(setting: Setting, block: int, thread: int, buffers: dict[str, int], found: Extents) -> None:
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

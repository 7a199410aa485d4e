"""This module finds all that is known of a kernel's shared memory, in one call.

Needs a `ProgramAnalysis`; leaves it untouched. What is common to all blocks makes more values the same in a block, and
so more barriers meet all threads; nothing else of it goes around in circles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.analysis.kept import kept
from binalloc.analysis.program import ProgramAnalysis, analyse
from binalloc.analysis.ranges.acts import Bools
from binalloc.analysis.ranges.ranges import Ranges, ranges
from binalloc.analysis.ranges.threads import MOST_THREADS, Threads
from binalloc.analysis.shared.barriers import BarrierSite, barrier_sites
from binalloc.analysis.shared.common import Common, common_bytes
from binalloc.analysis.shared.reach import Reach
from binalloc.analysis.shared.uniformity import Known, Uniformity, uniformity
from binalloc.isa.instruction import Module

Three = tuple[int, int, int]
"""Threads of a block along x, y and z."""


@dataclass
class SharedMemory:
    """A shared memory is what analyses know of a block's accesses, barriers and common bytes."""

    reach: Reach
    scopes: Uniformity
    barriers: list[BarrierSite]
    common: Common
    private: int = 0  #: bytes of which each block keeps a copy from its start to its end, as a bitset

    @property
    def kept(self) -> int:
        """Return the bytes whose accesses need no region: common and private ones."""
        return self.common.bytes | self.private

    @property
    def program(self) -> ProgramAnalysis:
        return self.reach.program

    @property
    def ranges(self) -> Ranges:
        return self.reach.ranges


@kept
def shared_memory_of(module: Module, kernel: str, block: Three | None = None) -> SharedMemory:
    """Return what is known of a kernel's shared memory; see `shared_memory`. Nobody may change it."""
    return shared_memory(analyse(module, kernel), block)


def shared_memory(program: ProgramAnalysis, block: Three | None = None) -> SharedMemory:
    """Return what is known of a kernel's shared memory.

    block: threads of a block along each axis, None where any block is to be thought of that the kernel's record allows.
    """
    info = program.kernel.fn.info
    if block is None and any(info.block):
        x, y, z = (side or 1 for side in info.block)
        block = x, y, z
    threads = Threads(program.isa.limits, block, info.max_threads or MOST_THREADS)
    values = ranges(program, threads)
    reach = Reach(values, info.shared_bytes)
    surely = _surely(program, threads, values)
    known = Known(frozenset(), values.uniform())
    while True:
        scopes = uniformity(program, known)
        barriers = barrier_sites(scopes)
        common = common_bytes(reach, scopes, barriers, surely)
        if common.loads <= known.loads:
            return SharedMemory(reach, scopes, barriers, common)
        known = Known(common.loads, known.definitions)


def _surely(program: ProgramAnalysis, threads: Threads, values: Ranges) -> list[Bools]:
    """Return for each block of the kernel some threads that surely come to it."""
    if threads.size is None:
        values = ranges(program, replace(threads, first=True))
    return values.functions[program.graph.kernel].surely()

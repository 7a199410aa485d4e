"""What the accesses of a version ask of the memory system, and how long they take where nobody else does.

Needs a machine, what is known of accesses by the walk (`emulator.walk.warps`), and how many threads are resident.
Assumed, where the walk does not say: an access whose lanes' addresses hang on loaded data asks for a number of sectors
halfway, in ratio, between side by side and all apart; what blocks in a row ask for first DRAM has, what one asks for
again L1, where that caches it and has room for all that is asked for, and the rest L2. An L1 that fills whole lines
asks for those.
Spilled words are in L1 and L2 as far as those hold what is asked for between two accesses to a word.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from binalloc.isa.interface.places import LANES, WORD
from binalloc.isa.kinds import Access, Space
from binalloc.models.machines.unloaded import SECTOR_BYTES

if TYPE_CHECKING:
    from binalloc.isa.interface.view import Memory
    from binalloc.models.machines.model import Machine

SIDE_BY_SIDE = LANES * WORD // SECTOR_BYTES
"""Sectors of a warp's words that lie one after the other."""
SCATTERED = sqrt(SIDE_BY_SIDE * LANES)
BETWEEN = 1 / 3
"""Share of a run between two accesses to a spilled word."""


@dataclass(frozen=True)
class Asked:
    """By one access of a warp. latency: cycles to its result. answers, requests: bytes on the link from L2 and to it.
    dram: bytes."""

    latency: float
    answers: float = 0.0
    requests: float = 0.0
    dram: float = 0.0


class Traffic:
    """Of a version with so many threads resident. spilled: bytes of local memory per thread; streamed: bytes that all
    resident warps together ask for in a run of the kernel, local memory apart; fresh: share of sectors that a block has
    not asked for before; first: that no block near it has."""

    def __init__(
        self, machine: Machine, threads: int, spilled: int, streamed: float, fresh: float, first: float
    ) -> None:
        self._machine, self._fresh, self._first = machine, fresh, first
        local, passing = threads * spilled, streamed * BETWEEN
        l1, l2 = machine.l1, machine.l2
        self._again = _share(l1.bytes, streamed * fresh)
        in_l1 = local + (passing if l1.caches_global else 0.0)
        self._in_l1 = _share(l1.bytes, in_l1) if l1.caches_local else 0.0
        self._in_l2 = _share(l2.bytes / machine.chip.sms, local + passing) if l2.caches_data else 0.0

    def asked(self, memory: Memory, sectors: float, lines: float = 1.0) -> Asked:
        """By an access to memory off the chip. sectors, lines: that it asks for, of memory that all threads have in
        common."""
        m = self._machine
        if memory.space == Space.LOCAL:
            return self._local(memory)
        asked = sectors * SECTOR_BYTES
        if memory.access == Access.STORE:
            return Asked(m.dram.latency, 0.0, asked, asked * self._first)
        if memory.space != Space.TEXTURE and m.l1.caches_global and m.l1.fills_lines:
            asked = lines * m.l1.line_bytes
        cached = memory.space == Space.TEXTURE or m.l1.caches_global
        hits = (1 - self._fresh) * self._again if cached else 0.0
        latency = hits * m.l1.latency + self._first * m.dram.latency + (1 - self._first - hits) * m.l2.latency
        return Asked(latency, asked * (1 - hits), 0.0, asked * self._first)

    def _local(self, memory: Memory) -> Asked:
        m, missed = self._machine, (1 - self._in_l1) * memory.size * LANES
        beyond = self._in_l2 * m.l2.latency + (1 - self._in_l2) * m.dram.latency
        latency = self._in_l1 * m.l1.latency + (1 - self._in_l1) * beyond
        dram = missed * (1 - self._in_l2)
        stores = memory.access == Access.STORE
        return Asked(latency, 0.0 if stores else missed, missed if stores else 0.0, dram)


def _share(there: float, wanted: float) -> float:
    return min(1.0, there / wanted) if wanted else 1.0

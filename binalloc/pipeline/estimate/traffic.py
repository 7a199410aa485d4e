"""This module estimates the demand of a version's accesses on the memory system, and their unloaded latency.

Needs a machine, the facts about accesses from the walk (`warps.look_at`), and the number of resident threads.
These assumptions stand for facts that the walk does not find:

- If the addresses of an access depend on loaded data, it asks for the geometric mean of the sectors of adjacent words
  and of scattered words.
- DRAM serves sectors that successive blocks ask for the first time. L1 serves sectors that a block asks for again, if
  L1 caches them and has room for everything asked for. L2 serves the rest.
- An L1 that fills whole lines asks for whole lines.
- Spilled words are in L1 and L2 as far as these have room for everything asked for between two accesses to a word.
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
"""Sectors of a warp's access to adjacent words."""
SCATTERED = sqrt(SIDE_BY_SIDE * LANES)
"""Sectors assumed for an access with unknown addresses: halfway, in ratio, between adjacent words and one per lane."""
BETWEEN = 1 / 3
"""Assumed share of a run between two accesses to a spilled word. Chosen by hand; larger ones make spills dearer."""


@dataclass(frozen=True)
class AccessDemand:
    """This record is the demand of one access of a warp."""

    latency: float  #: cycles to its result
    answers: float = 0.0  #: bytes on the link from L2
    requests: float = 0.0  #: bytes on the link to L2
    dram: float = 0.0  #: bytes from or to DRAM


class Traffic:
    """Traffic is the demand of a version's accesses on the memory system."""

    def __init__(
        self, machine: Machine, threads: int, spilled: int, streamed: float, fresh: float, first: float
    ) -> None:
        """Estimate the hit rates of the caches.

        threads: resident threads. spilled: bytes of local memory per thread. streamed: bytes that all resident warps
        together ask for in a run of the kernel, without local memory. fresh: share of the sectors that a block has not
        asked for before. first: share of the sectors that no block near it has asked for before.
        """
        self._machine, self._fresh, self._first = machine, fresh, first
        local, passing = threads * spilled, streamed * BETWEEN
        l1, l2 = machine.l1, machine.l2
        self._again = _share(l1.bytes, streamed * fresh)
        in_l1 = local + (passing if l1.caches_global else 0.0)
        self._in_l1 = _share(l1.bytes, in_l1) if l1.caches_local else 0.0
        self._in_l2 = _share(l2.bytes / machine.chip.sms, local + passing) if l2.caches_data else 0.0

    def asked(self, memory: Memory, sectors: float, lines: float = 1.0) -> AccessDemand:
        """Return the demand of an access to off-chip memory.

        sectors, lines: sectors and lines that it asks for, in memory shared by all threads.
        """
        m = self._machine
        if memory.space == Space.LOCAL:
            return self._local(memory)
        asked = sectors * SECTOR_BYTES
        if memory.access == Access.STORE:
            return AccessDemand(m.dram.latency, 0.0, asked, asked * self._first)
        if memory.space != Space.TEXTURE and m.l1.caches_global and m.l1.fills_lines:
            asked = lines * m.l1.line_bytes
        cached = memory.space == Space.TEXTURE or m.l1.caches_global
        hits = (1 - self._fresh) * self._again if cached else 0.0
        latency = hits * m.l1.latency + self._first * m.dram.latency + (1 - self._first - hits) * m.l2.latency
        return AccessDemand(latency, asked * (1 - hits), 0.0, asked * self._first)

    def _local(self, memory: Memory) -> AccessDemand:
        """Return the demand of an access to local memory."""
        m, missed = self._machine, (1 - self._in_l1) * memory.size * LANES
        beyond = self._in_l2 * m.l2.latency + (1 - self._in_l2) * m.dram.latency
        latency = self._in_l1 * m.l1.latency + (1 - self._in_l1) * beyond
        dram = missed * (1 - self._in_l2)
        stores = memory.access == Access.STORE
        return AccessDemand(latency, 0.0 if stores else missed, missed if stores else 0.0, dram)


def _share(there: float, wanted: float) -> float:
    """Return the share of `wanted` bytes that fits into `there` bytes, at most 1."""
    return min(1.0, there / wanted) if wanted else 1.0

"""What one warp of a version asks of an SM, from its code alone.

Needs a scheduled version; leaves cycles of each resource for one run of the kernel by one warp, and the cycles that it
would take alone. Estimated: code runs as often as its loops and calls say; all lanes of a warp go one way;
lanes access words side by side, or all the same one where the address does not vary; what is global comes from DRAM,
spilled words from L1 as far as it holds those of all resident threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from binalloc.analysis.varying import varying_webs
from binalloc.bitset import bits
from binalloc.isa.instruction import DEFAULT_CONTROL
from binalloc.isa.interface.places import LANES
from binalloc.isa.kinds import Access, Space
from binalloc.models.machines.unloaded import SECTOR_BYTES

if TYPE_CHECKING:
    from binalloc.analysis.cfg import Cfg
    from binalloc.analysis.program import FunctionAnalysis
    from binalloc.isa.interface.view import View
    from binalloc.models.machines.model import Machine
    from binalloc.pipeline.request import Request
    from binalloc.pipeline.steps import Version

NO_SCOREBOARD = DEFAULT_CONTROL.wbar


@dataclass
class Demand:
    """By one run of the kernel by one warp. alone: cycles it takes with the SM to itself. resources: by name, cycles of
    the SM that no other warp can have meanwhile."""

    alone: float = 0.0
    resources: dict[str, float] = field(default_factory=dict)

    @property
    def waiting(self) -> float:
        """Cycles in which it asks for nothing."""
        return max(0.0, self.alone - sum(self.resources.values()))

    def add(self, resource: str, cycles: float) -> None:
        self.resources[resource] = self.resources.get(resource, 0.0) + cycles


def demand(version: Version, request: Request) -> Demand:
    """Of the version with as many resident threads as it allows."""
    from binalloc.analysis.program import analyse
    from binalloc.transform.allocate.frequencies import blocks_by_runs

    program = analyse(version.module, request.kernel)
    apart = {name: _apart(f) for name, f in program.functions.items()}
    work = _Counting(request.machine, _hits(version, request))
    for f, b, runs in blocks_by_runs(program):
        work.block(f.cfg, b, runs, apart[f.name])
    return work.found


def _apart(f: FunctionAnalysis) -> set[int]:
    """The instructions that read what may differ between lanes."""
    varying = varying_webs(f)
    return {p.instr for web, varies in zip(f.webs.webs, varying, strict=True) if varies for p in web.uses}


def _hits(version: Version, request: Request) -> float:
    """Share of accesses to local memory that L1 answers."""
    l1 = request.machine.l1
    if not l1.caches_local:
        return 0.0
    warps = version.occupancy * request.machine.sm.warps_per_sm
    wanted = warps * LANES * version.local_bytes
    return min(1.0, l1.bytes / wanted) if wanted else 1.0


class _Counting:
    def __init__(self, machine: Machine, hits: float) -> None:
        self.machine, self.hits = machine, hits
        self.found = Demand()
        self.bytes_per_cycle = machine.dram.bandwidth * 1000 / machine.clock.core_mhz / machine.chip.sms

    def block(self, cfg: Cfg, b: int, weight: float, apart: set[int]) -> None:
        """One basic block, by itself: what it still waits for at its end is waited for there. apart: instructions of
        the function whose lanes may access different words."""
        block = cfg.blocks[b]
        now, ready = 0.0, dict[int, float]()  # by scoreboard, when it is free again
        for index in range(block.start, block.end):
            seen = cfg.views[index]
            control = seen.instr.ctrl
            now = max([now, *(ready.get(k, 0.0) for k in bits(control.wait))])
            if control.rbar != NO_SCOREBOARD:
                ready[control.rbar] = now + self.machine.units[seen.unit].interval
            if control.wbar != NO_SCOREBOARD:
                ready[control.wbar] = now + self._takes(seen)
            now += control.stall
            self._ask(seen, weight, LANES if index in apart else 1)
        self.found.alone += weight * max([now, *ready.values()])

    def _takes(self, seen: View) -> float:
        """Cycles from issue to result."""
        m, memory = self.machine, seen.memory
        if memory is None or memory.space == Space.CONST:
            return m.units[seen.unit].latency
        if memory.space == Space.SHARED:
            return m.shared.latency
        if memory.space == Space.LOCAL:
            return self.hits * m.l1.latency + (1 - self.hits) * m.l2.latency
        return m.dram.latency

    def _ask(self, seen: View, weight: float, lanes: int) -> None:
        m = self.machine
        unit = m.units[seen.unit]
        self.found.add("issue", weight / m.schedulers.count)
        self.found.add(unit.port_group, weight * unit.interval / unit.ports)
        memory = seen.memory
        if memory is None or memory.space not in (Space.GLOBAL, Space.LOCAL, Space.TEXTURE):
            return
        data = max(SECTOR_BYTES, memory.size * (LANES if memory.space == Space.LOCAL else lanes))
        off = data * (1 - self.hits if memory.space == Space.LOCAL and memory.access != Access.STORE else 1)
        self.found.add("link", weight * off / m.interconnect.response_bytes)
        if memory.space != Space.LOCAL:
            self.found.add("dram", weight * off / self.bytes_per_cycle)

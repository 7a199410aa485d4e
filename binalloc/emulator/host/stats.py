"""Statistics of a run as plain numbers, from the counters in the state."""

from __future__ import annotations

from typing import Any

from binalloc.emulator.host.engine import Engine, Records
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.counters import Stall, Stat
from binalloc.emulator.state.memory_layout import SECTOR_BYTES, MemoryStat
from binalloc.models.machines.model import Machine

Stats = dict[str, Any]
"""Numbers, and the numbers of `stalls` and `units`, by name."""


def collect(engine: Engine, g: Records, sms: Records, machine: Machine) -> Stats:
    """Every counter summed over the SMs simulated, and what follows from them.

    Keys: `cycles`; the counters of `counters.Stat`; `stalls` {reason: issue slots}; `units`
    {unit: warp instructions}; `spill_accesses`, `spill_bytes`, `local_bytes_moved`, `dram_bytes`; `ipc` (per SM);
    `achieved_occupancy`. The slots of all reasons and those used add up to cycles * schedulers * issue width * SMs.
    """
    n = engine.get(g, 0, "sms")
    cycles = engine.get(g, 0, "cycle")
    stat = sum(engine.get(sms, i, "stat") for i in range(n))
    stall = sum(engine.get(sms, i, "stall") for i in range(n))
    units = sum(engine.get(sms, i, "unit_issued") for i in range(n))
    out: Stats = {"cycles": cycles}
    out |= {name: int(stat[i]) for i, name in enumerate(Stat.names)}
    out["stalls"] = {name: int(stall[i]) for i, name in enumerate(Stall.names)}
    out["units"] = {name: int(units[i]) for i, name in enumerate(L.UNIT_NAMES)}
    spills = ("spill_shared_load", "spill_shared_store", "spill_local_load", "spill_local_store")
    out["spill_accesses"] = sum(out[name + "s"] for name in spills)
    out["spill_bytes"] = sum(out[name + "_bytes"] for name in spills)
    out["local_bytes_moved"] = (
        out["local_fill_sectors"] + out["local_writeback_sectors"]
    ) * SECTOR_BYTES
    shared = engine.get(g, 0, "memory_stat")
    out |= {name: int(shared[i]) for i, name in enumerate(MemoryStat.names)}
    out["dram_bytes"] = (out["dram_reads"] + out["dram_writes"]) * machine.dram.burst_bytes
    out["ipc"] = out["warp_instructions"] / max(cycles, 1) / n
    out["achieved_occupancy"] = out["warp_cycles"] / max(cycles, 1) / n / machine.sm.warps_per_sm
    return out

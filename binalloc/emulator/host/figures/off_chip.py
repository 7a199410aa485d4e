"""The counters of an off-chip memory, and the figures derived from them, are put together here.

The near memory's stand among all others of a run. Those of a far memory that the run uses have the same names, in an
object of their own, `far_dram`.
"""

from __future__ import annotations

from collections.abc import Mapping

from binalloc.emulator.host.engines.engine import Engine, Records
from binalloc.emulator.host.figures.energy import CommandCosts, EnergyFigures, energy_figures
from binalloc.emulator.host.figures.standing import channels_of, standing
from binalloc.emulator.state.memory_layout import DRAM_STATS, DramStat, Memory
from binalloc.models.machines.model import Machine
from binalloc.models.machines.unloaded import ticks_per_cycle

Ratio = float | EnergyFigures | None


def counted_dram(engine: Engine, g: Records, machine: Machine, cycles: int, m: int = Memory.NEAR) -> dict[str, int]:
    """Return what memory m has counted in the cycles before `cycles`. machine: has this memory as its `dram`."""
    stat = engine.get(g, 0, "dram_stat")[m * DRAM_STATS : (m + 1) * DRAM_STATS]
    out = {name: int(stat[i]) for i, name in enumerate(DramStat.names)}
    ticks = standing(engine, g, cycles, m)
    out["dram_open_ticks"], out["dram_closed_ticks"], out["dram_refreshes_to_end"] = ticks
    out["dram_bytes"] = (out["dram_reads"] + out["dram_writes"]) * machine.dram.burst_bytes
    return out


def counted_far(engine: Engine, g: Records, machine: Machine, cycles: int) -> dict[str, dict[str, int]]:
    """Return `far_dram` with the counters of the far memory, and nothing for a run that does not use it."""
    if machine.far is None or not channels_of(engine, g, Memory.FAR):
        return {}
    return {"far_dram": counted_dram(engine, g, machine.far, cycles, Memory.FAR)}


def dram_ratios(counted: Mapping[str, int], machine: Machine, sms: int, cycles: int) -> dict[str, Ratio]:
    """Return the ratios of a memory's counters of some cycles: None where the divisor is zero. `dram_energy` is there
    for memories with currents (`energy_figures`). machine: has this memory as its `dram`."""
    out: dict[str, Ratio] = {
        "dram_utilisation": counted["dram_bytes"] / (machine.bytes_per_cycle_per_sm * sms * cycles),
        "dram_row_hit_rate": per(counted["dram_row_hits"], counted["dram_requests"]),
        "dram_banks_busy_in_all": counted["dram_bank_ticks"] / (cycles * float(ticks_per_cycle(machine))),
        "dram_read_delay_each": per(
            counted["dram_read_delay"],
            counted["dram_requests"] - counted["dram_write_requests"] - counted["dram_cpu_requests"],
        ),
        "dram_cpu_delay_each": per(counted["dram_cpu_delay"], counted["dram_cpu_requests"]),
        "dram_write_delay_each": per(counted["dram_write_delay"], counted["dram_write_requests"]),
        "dram_banks_busy": per(counted["dram_bank_ticks"], counted["dram_busy_ticks"]),
    }
    energy = energy_figures(counted, machine, sms, cycles)
    return out if energy is None else out | {"dram_energy": energy}


def costs_of_memories(machine: Machine, engine: Engine, g: Records) -> tuple[CommandCosts, ...]:
    """Return the costs of commands of the near memory and, where the run uses one, of the far memory."""
    far = [] if machine.far is None or not channels_of(engine, g, Memory.FAR) else [machine.far]
    return tuple(CommandCosts(m) for m in (machine, *far))


def per(part: int, of: int) -> float | None:
    """Return the quotient, or None where there is none."""
    return part / of if of else None

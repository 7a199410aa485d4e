"""Statistics of a run are plain numbers, computed from the counters in the state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from binalloc.emulator.host.engines.engine import Engine, Records
from binalloc.emulator.host.figures.off_chip import counted_dram, counted_far, dram_ratios, per
from binalloc.emulator.host.figures.standing import channels_of
from binalloc.emulator.policies.gates.table import STALL_NAMES
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.memory_layout import SECTOR_BYTES, Memory, MemoryStat, Queue, TaggedStat
from binalloc.models.machines.model import Machine

Stats = dict[str, Any]  # numbers by name; `stalls`, `units` and `queues` are dictionaries of numbers again


def collect(engine: Engine, g: Records, sms: Records, machine: Machine) -> Stats:
    """Return every counter of a run that has ended, summed over the SMs simulated, and the figures derived from them:
    see `count` and `ratios`."""
    out = count(engine, g, sms, machine, engine.get(g, 0, "cycle"))
    return out | ratios(out, machine, engine.get(g, 0, "sms"))


def count(engine: Engine, g: Records, sms: Records, machine: Machine, cycles: int) -> Stats:
    """Return what has been counted in the cycles before `cycles`, summed over the SMs. All of it grows with time except
    number, places and most of `queues`.

    Keys: `cycles`; the counters of `counters.Stat` and of `TaggedStat`; `stalls` {reason: issue slots}; `units` {unit:
    warp instructions}; `spill_accesses`, `spill_bytes`, `local_bytes_moved`; the counters of `MemoryStat` and of
    `Standing`; `dram_bytes`; `far_dram` where the run uses a far memory; `queues` {queue: see `queue_figures`}. The
    slots of all reasons and those used add up to cycles * schedulers * issue width * SMs.
    """
    n = engine.get(g, 0, "sms")
    stat = sum(engine.get(sms, i, "stat") for i in range(n))
    stall = sum(engine.get(sms, i, "stall") for i in range(n))
    tagged = sum(engine.get(sms, i, "tagged_stat") for i in range(n))
    units = sum(engine.get(sms, i, "unit_issued") for i in range(n))
    out: Stats = {"cycles": cycles}
    out |= {name: int(stat[i]) for i, name in enumerate(Stat.names)}
    out |= {name: int(tagged[i]) for i, name in enumerate(TaggedStat.names)}
    out["stalls"] = {name: int(stall[i]) for i, name in enumerate(STALL_NAMES)}
    out["units"] = {name: int(units[i]) for i, name in enumerate(L.UNIT_NAMES)}
    spills = ("spill_shared_load", "spill_shared_store", "spill_local_load", "spill_local_store")
    out["spill_accesses"] = sum(out[name + "s"] for name in spills)
    out["spill_bytes"] = sum(out[name + "_bytes"] for name in spills)
    out["local_bytes_moved"] = (out["local_fill_sectors"] + out["local_writeback_sectors"]) * SECTOR_BYTES
    shared = engine.get(g, 0, "memory_stat")
    out |= {name: int(shared[i]) for i, name in enumerate(MemoryStat.names)}
    out |= counted_dram(engine, g, machine, cycles)
    out |= counted_far(engine, g, machine, cycles)
    out["batch_cycles"] = sum(
        engine.get(sms, i, "batch_area") + cycles * engine.get(sms, i, "batches") for i in range(n)
    )
    out["idle_sm_cycles"] = sum(idle_cycles(engine, g, sms, cycles))
    out["queues"] = queue_figures(engine, g, sms, cycles)
    return out


def idle_cycles(engine: Engine, g: Records, sms: Records, cycles: int) -> list[int]:
    """Return for each SM the cycles between the end of its last block and that of the run."""
    ends = engine.get(g, 0, "last_end")
    resident = [engine.get(sms, i, "resident") for i in range(engine.get(g, 0, "sms"))]
    return [0 if blocks else int(cycles - ends[i]) for i, blocks in enumerate(resident)]


def ratios(counted: Stats, machine: Machine, sms: int) -> Stats:
    """Return the ratios of the counters of some cycles: None where the divisor is zero. `queues` is returned as it was,
    with `average` and `full` added. See `dram_ratios` for the memories."""
    cycles = max(counted["cycles"], 1)
    out: Stats = {
        "ipc": counted["warp_instructions"] / cycles / sms,
        "achieved_occupancy": counted["warp_cycles"] / cycles / sms / machine.sm.warps_per_sm,
        "shared_passes_per_access": per(counted["shared_passes"], counted["shared_accesses"]),
        "sectors_per_global_load": per(counted["global_load_sectors"], counted["user_global_loads"]),
        "sectors_per_global_store": per(counted["global_store_sectors"], counted["user_global_stores"]),
        "request_utilisation": counted["request_bytes"] / (machine.request_bytes_per_sm * sms * cycles),
        "response_utilisation": counted["response_bytes"] / (machine.response_bytes_per_sm * sms * cycles),
        "batches_resident": counted["batch_cycles"] / cycles / sms,
        "local_ratio": per(counted["local_requests"], counted["owned_requests"]),
        **dram_ratios(counted, machine, sms, cycles),
    }
    if machine.far is not None and "far_dram" in counted:
        out["far_dram"] = counted["far_dram"] | dram_ratios(counted["far_dram"], machine.far, sms, cycles)
    out["queues"] = {
        name: queue
        | {
            "average": queue["entry_cycles"] / cycles / queue["queues"],
            "full": queue["full_cycles"] / cycles / queue["queues"],
        }
        for name, queue in counted["queues"].items()
    }
    return out


def queue_figures(engine: Engine, g: Records, sms: Records, cycle: int) -> dict[str, dict[str, int]]:
    """Return how full queues were in the cycles before `cycle`, for each kind by its name in `Queue`, over all of that
    kind.

    queues: how many there are; places: what one of them holds; entry_cycles: what they held at the end of each cycle,
    summed over cycles; full_cycles: cycles at whose end one of them was full, summed over them; most: the most that one
    of them held at a moment.
    """
    n = engine.get(g, 0, "sms")
    shared = {name: engine.get(g, 0, name) for name in ("slices_per_channel", "l2_mshrs", "all_channels")}
    owned = {name: [engine.get(sms, i, name) for i in range(n)] for name in ("loads_out", "stores_out")}
    pending = engine.get(g, 0, "slice_pending")[: shared["slices_per_channel"] * shared["all_channels"]]
    held: dict[int, tuple[int, Sequence[int]]] = {
        Queue.L1_MSHRS: (engine.get(g, 0, "l1_mshrs"), owned["loads_out"]),
        Queue.STORE_PLACES: (engine.get(g, 0, "store_places"), owned["stores_out"]),
        Queue.L2_MSHRS: (shared["l2_mshrs"], pending),
    }
    for queue, m in ((Queue.DRAM_QUEUE, Memory.NEAR), (Queue.FAR_DRAM_QUEUE, Memory.FAR)):
        channels = channels_of(engine, g, m)
        if channels:
            waiting = engine.get(g, 0, "channel_waiting")[channels.start : channels.stop]
            held[queue] = int(engine.get(g, 0, "dram_depth")[m]), waiting
    records = [(sms, i) for i in range(n)] + [(g, 0)]
    out = {}
    for queue, (places, now) in held.items():
        kept = {
            name: [int(engine.view(array, i, f"queue_{name}")[queue]) for array, i in records]
            for name in ("area", "full", "most")
        }
        out[Queue.names[queue]] = {
            "queues": len(now),
            "places": places,
            "entry_cycles": sum(kept["area"]) + cycle * int(sum(now)),
            "full_cycles": sum(kept["full"]) + cycle * sum(1 for k in now if k >= places),
            "most": max(kept["most"]),
        }
    return out

"""How full the queues of the memory system were in a run, from what `memory.queues` kept."""

from __future__ import annotations

from collections.abc import Sequence

from binalloc.emulator.host.engine import Engine, Records
from binalloc.emulator.state.memory_layout import Queue

Figures = dict[str, int]


def queue_figures(engine: Engine, g: Records, sms: Records, cycle: int) -> dict[str, Figures]:
    """For each kind of queue, by its name in `Queue`, over all those of that kind in the cycles before `cycle`:

    queues: how many there are; places: what one of them holds; entry_cycles: what they held at the end of each cycle,
    summed over cycles; full_cycles: cycles at whose end one of them was full, summed over them; most: the most that one
    of them held at a moment.
    """
    n = engine.get(g, 0, "sms")
    shared = {name: engine.get(g, 0, name) for name in ("slices", "l2_mshrs", "dram_channels", "dram_depth")}
    owned = {name: [engine.get(sms, i, name) for i in range(n)] for name in ("loads_out", "stores_out")}
    held: dict[int, tuple[int, Sequence[int]]] = {
        Queue.L1_MSHRS: (engine.get(g, 0, "l1_mshrs"), owned["loads_out"]),
        Queue.STORE_PLACES: (engine.get(g, 0, "store_places"), owned["stores_out"]),
        Queue.L2_MSHRS: (shared["l2_mshrs"], engine.get(g, 0, "slice_pending")[: shared["slices"]]),
        Queue.DRAM_QUEUE: (shared["dram_depth"], engine.get(g, 0, "channel_waiting")[: shared["dram_channels"]]),
    }
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

"""This module has the shape of the counters of an off-chip memory."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.energy import DramEnergyJson
from binalloc.report.shapes.says import says


class DramJson(TypedDict):
    """This object has the counters of one off-chip memory."""

    dram_requests: Annotated[int, says("fetches, prefetches, write-backs and misses of CPU programs that DRAM served")]
    dram_write_requests: Annotated[int, says("part of `dram_requests` that were write-backs")]
    dram_read_delay: Annotated[
        int,
        says(
            "core cycles from the arrival of a fetch at its channel to the end of its last data, summed over fetches "
            "and prefetches"
        ),
    ]
    dram_write_delay: Annotated[int, says("likewise for write-backs")]
    dram_read_delay_each: Annotated[
        float | None, says("`dram_read_delay` over fetches and prefetches; null without any")
    ]
    dram_write_delay_each: Annotated[float | None, says("`dram_write_delay` over write-backs; null without any")]
    dram_cpu_requests: Annotated[int, says("part of `dram_requests` that were misses of CPU programs (`--cpu`)")]
    dram_cpu_row_hits: Annotated[int, says("part of `dram_row_hits` that were misses of CPU programs")]
    dram_cpu_delay: Annotated[int, says("as `dram_read_delay`, for misses of CPU programs")]
    dram_cpu_delay_each: Annotated[float | None, says("`dram_cpu_delay` over these misses; null without any")]
    dram_row_hits: Annotated[int, says("part of `dram_requests` that found their row open")]
    dram_reads: Annotated[int, says("read commands of DRAM, one burst each")]
    dram_writes: Annotated[int, says("write commands of DRAM, one burst each")]
    dram_activations: Annotated[int, says("rows of DRAM that were opened")]
    dram_precharges: Annotated[int, says("rows of DRAM that were closed")]
    dram_refreshes: Annotated[
        int,
        says("refreshes of a DRAM channel with all its banks; 0 where the machine file has none"),
    ]
    dram_refreshes_to_end: Annotated[
        int,
        says(
            "`dram_refreshes`, and those of channels whose last request had come: all refreshes that were due before "
            "the end of the run"
        ),
    ]
    dram_open_ticks: Annotated[
        int,
        says(
            "ticks of DRAM's clock in which at least one bank of a channel is open, from an activation to a precharge, "
            "summed over channels"
        ),
    ]
    dram_closed_ticks: Annotated[
        int,
        says("likewise, ticks in which all banks of a channel are closed"),
    ]
    dram_bytes: Annotated[int, says("bytes in all bursts of DRAM, read and written")]
    dram_busy_ticks: Annotated[
        int,
        says(
            "ticks of DRAM's clock in which at least one bank of a channel carries out a command, summed over "
            "channels. A precharge takes `dram.rp` ticks, an activation `dram.rcd`; a read or write lasts until its "
            "data has passed"
        ),
    ]
    dram_bank_ticks: Annotated[
        int,
        says("ticks of DRAM's clock in which a bank carries out a command, summed over banks"),
    ]
    dram_banks_busy: Annotated[
        float | None,
        says(
            "`dram_bank_ticks` over `dram_busy_ticks`: the bank-level parallelism, which is the number of busy banks "
            "of a channel while at least one is busy; null where DRAM was never busy"
        ),
    ]
    dram_banks_busy_in_all: Annotated[
        float,
        says(
            "banks of the whole memory that carry out a command, on average over the run: `dram_bank_ticks` over the "
            "ticks of the run"
        ),
    ]
    dram_row_hit_rate: Annotated[
        float | None,
        says("`dram_row_hits` over `dram_requests`; null without requests"),
    ]
    dram_utilisation: Annotated[
        float,
        says("`dram_bytes` over the bytes that DRAM, or the share of the SMs in it, could move in the run's cycles"),
    ]
    dram_energy: NotRequired[
        Annotated[
            DramEnergyJson,
            says("energy of DRAM; left out for machines whose file has no currents (`dram.power`)"),
        ]
    ]

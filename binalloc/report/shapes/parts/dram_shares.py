"""This module has the shapes of what DRAM did for whom: for an object in memory, or for an instruction."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.says import says

_ENERGY = "in nanojoules, without background and refreshes, which are nobody's"


class DramCommandsJson(TypedDict):
    """This object counts commands of one off-chip memory, and has their energy."""

    dram_activations: Annotated[int, says("rows of DRAM that were opened")]
    dram_reads: Annotated[int, says("bursts that were read from DRAM")]
    dram_writes: Annotated[int, says("bursts that were written to DRAM")]
    dram_bytes: Annotated[int, says("bytes of these bursts")]
    dram_nj: Annotated[
        float | None,
        says(
            f"energy of these activations, each with its precharge, reads and writes, with I/O where the machine file "
            f"has it, {_ENERGY}; null for a machine without currents"
        ),
    ]
    dram_least_nj: Annotated[
        float | None,
        says("the least of it among the sets of figures of the machine file; null where no figure has alternatives"),
    ]
    dram_most_nj: Annotated[float | None, says("likewise, the most")]


class DramOfJson(DramCommandsJson):
    """These fields count commands of DRAM, and have their energy."""

    far_dram: NotRequired[
        Annotated[DramCommandsJson, says("likewise of the far memory; left out of runs that do not use one")]
    ]


class DramObjectJson(DramOfJson):
    """This object says what DRAM did for an object in memory
    ([TIMING.md](../emulator/TIMING.md#for-whom-dram-works))."""

    kind: Annotated[
        str,
        says(
            "`buffer` (also of a surface), `variable`, `texture`, `runtime` (the device runtime's memory), `local` "
            "(local memory of the program itself), `spills` (local memory with spilled values), `code`, `constants` "
            "(the latter two where the machine has such a cache), `cpu` (footprints of CPU programs) or `other`"
        ),
    ]
    name: Annotated[str, says("name of the object; empty for the kinds that are not objects")]


class DramCauseJson(DramOfJson):
    """This object says what DRAM did for no instruction."""

    cause: Annotated[
        str,
        says(
            "`earlier` (write-backs of what earlier launches had changed), `code` and `constants` (requests of the "
            "caches of these names), `cpu` (misses of CPU programs) or `other`"
        ),
    ]

"""This module has the shapes of the energy of off-chip memory."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.says import says


class DramPartsJson(TypedDict):
    """These fields have the energy of DRAM by part, in nanojoules."""

    activation_nj: Annotated[float, says("activations, each with its precharge")]
    read_nj: Annotated[float, says("reads, without background and I/O")]
    write_nj: Annotated[float, says("writes, without background and I/O")]
    open_nj: Annotated[float, says("background of the ticks in which a bank of a channel is open")]
    closed_nj: Annotated[float, says("background of the ticks in which all banks of a channel are closed")]
    refresh_nj: Annotated[
        float,
        says(
            "refreshes; where the machine's timing has none (`dram.refi`), as many as `dram.power.refi` says for the "
            "time of the run"
        ),
    ]
    io_nj: Annotated[float | None, says("I/O of all bytes; null where the machine file has no energy per bit")]
    total_nj: Annotated[float, says("sum of all parts")]


class DramRangeJson(DramPartsJson):
    """This object has the least or the most energy among the sets of figures of the machine file, each part on its
    own."""


class DramEnergyJson(DramPartsJson):
    """This object has the energy of DRAM ([TIMING.md](../emulator/TIMING.md#energy-of-dram)). Of fewer SMs than the
    machine has, it is that of their share in DRAM."""

    average_w: Annotated[float, says("`total_nj` by the time of the run, in watts")]
    least: Annotated[
        DramRangeJson | None,
        says(
            "least energy with the machine file's figures, with the lowest of each figure's alternatives, and with the "
            "highest; null where no figure has alternatives"
        ),
    ]
    most: Annotated[DramRangeJson | None, says("likewise, the most energy")]

"""This module says what the bars of the sharing paper's figures, and the columns of its tables, are runs of."""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.laboratory.sharing.paper import BENCHMARKS, MACHINE, Benchmark
from binalloc.laboratory.sharing.variations import (
    ADDED_16,
    CLUSTERS,
    FURTHER,
    L1_48,
    LIMITED,
    MORE_THREADS,
    MULTIPLEXED,
    ONLY_48,
    SHARED_32,
    SHARED_48,
    SHARED_64,
)
from binalloc.pipeline.multiplex.build import CO_VTB, PIPE, VTB

GAIN, REDUCTION, IPC, CYCLES, INSTRUCTIONS, BLOCKS, LIVES = (
    "% instructions per cycle", "% fewer cycles", "instructions per cycle", "cycles", "instructions",
    "blocks of an SM", "% of the lives of blocks in pairs",
)  # fmt: skip
"""What figures show; the first two are over a base."""
ALONE, PAIRED = "merged ", "shared "
"""Begin the runs of merged kernels, in front of the scheme: without sharing, and with it."""


@dataclass(frozen=True)
class Bar:
    """A bar is a run of a kernel: a column of a table, too."""

    series: str  #: its name in the paper
    run: str  #: a scheduler of unshared blocks, a step, or a merged kernel with a scheme
    machine: str = MACHINE
    minus: str | None = None  #: a run of the same machine that is taken away
    phase: int = 0  #: of LIVES: before, with, or behind the shared part
    over: str | None = None  #: of GAIN and REDUCTION: the base, where the figure's own does not hold


@dataclass(frozen=True)
class Figure:
    """A figure is a table of kernels by bars."""

    number: str
    title: str
    shows: str  #: one of those above
    bars: tuple[Bar, ...]
    rows: tuple[Benchmark, ...] = LIMITED
    over: Bar | None = None  #: of GAIN and REDUCTION: the base


def _plain(machine: str = MACHINE, series: str = "Unshared-LRR") -> Bar:
    return Bar(series, "lrr", machine)


_LRR, _OWF, _OPT = _plain(), Bar("Shared-OWF", "owf"), Bar("Shared-OWF-OPT", "opt")
_STEPS = (
    Bar("Shared-NoOpt", "noopt"), _OWF, Bar("Shared-OWF-Reorder", "reorder"), Bar("Shared-OWF-PostDom", "postdom"),
    _OPT,
)  # fmt: skip
_LIVES = tuple(
    Bar(f"{name}, {phase}", run, phase=k)
    for name, run in (("NoOpt", "noopt"), ("Minimize", "reorder"), ("PostDom", "postdom"), ("OPT", "opt"))
    for k, phase in enumerate(("before", "with", "behind"))
)
_SIZES = (
    *(bar for size, machine in (("48K", SHARED_48), ("64K", SHARED_64), ("16K", MACHINE))
      for bar in (Bar(f"Unshared-LRR-{size}", "lrr", machine), Bar(f"Shared-OWF-OPT-{size}", "opt", machine))),
)  # fmt: skip
_MERGED = (
    _LRR, _OPT,
    *(bar for name, scheme in (("VTB_PIPE", PIPE), ("VTB", VTB), ("CO_VTB", CO_VTB))
      for bar in (Bar(name, ALONE + scheme), Bar(f"Shared-{name}", PAIRED + scheme))),
)  # fmt: skip
_CLUSTERED = tuple(
    bar for k, machine in enumerate(CLUSTERS, 1)
    for bar in (Bar(f"Unshared-LRR-{k}", "lrr", machine), Bar(f"Shared-OWF-OPT-{k}", "opt", machine))
)  # fmt: skip
_ALONE_IN_23 = (
    *(Bar(name, "lrr") for name in ("Unshared-LRR", "Shared-LRR", "Shared-LRR-OPT")),
    *(Bar(name, "gto") for name in ("Unshared-GTO", "Shared-GTO", "Shared-GTO-OPT")),
    *(Bar(name, "oldest") for name in ("Shared-OWF", "Shared-OWF-OPT")),
)
_SET_3 = tuple(b for b in BENCHMARKS if b.group == 3)


def _over_lrr(number: str, what: str, machine: str) -> Figure:
    bars = Bar("Shared-OWF", "owf", machine), Bar("Shared-OWF-OPT", "opt", machine)
    return Figure(number, f"{what}, over Unshared-LRR there", GAIN, bars, over=_plain(machine))


_ALL = (
    Figure("13", "resident blocks", BLOCKS, (_LRR, _OWF, _OPT)),
    Figure("14", "the last step, over Unshared-LRR", GAIN, (_OPT,), over=_LRR),
    Figure("15", "the last step, over Unshared-LRR", REDUCTION, (_OPT,), over=_LRR),
    Figure("VI", "thread instructions", INSTRUCTIONS, (_LRR, _OWF, _OPT, Bar("difference", "opt", minus="lrr"))),
    Figure("16", "all steps, over Unshared-LRR", GAIN, _STEPS, over=_LRR),
    Figure("17", "before, with and behind the shared part", LIVES, _LIVES),
    Figure("18", "the last step, over other schedulers", GAIN,
           (Bar("over Unshared-GTO", "opt", over="gto"), Bar("over Unshared-2Level", "opt", over="two_level"))),
    _over_lrr("19", "48 KB of L1", L1_48),
    _over_lrr("20", "48 KB of shared memory and 2,048 threads", SHARED_48),
    _over_lrr("21", "48 KB of shared memory and 3,072 threads", MORE_THREADS),
    Figure("22", "16 KB shared, over 32 KB unshared", GAIN, (_OPT,), over=_plain(SHARED_32)),
    Figure("23", "Set-3, where nothing is shared", IPC, _ALONE_IN_23, _SET_3),
    Figure("24", "48 and 64 KB (and 16 KB)", IPC, _SIZES, (*FURTHER, *ONLY_48, *ADDED_16)),
    Figure("25", "48 and 64 KB (and 16 KB)", BLOCKS, _SIZES, (*FURTHER, *ONLY_48, *ADDED_16)),
    Figure("26", "merged blocks", CYCLES, _MERGED, MULTIPLEXED),
    Figure("27", "merged blocks", IPC, _MERGED, MULTIPLEXED),
    Figure("XI", "merged blocks", INSTRUCTIONS, _MERGED, MULTIPLEXED),
    Figure("28", "clusters of SMs, SM Config-1 to SM Config-5", IPC, _CLUSTERED),
    Figure("XIII", "unshared blocks, and the last step", IPC,
           (_LRR, Bar("Unshared-GTO", "gto"), Bar("Unshared-2Level", "two_level"), _OPT)),
)  # fmt: skip
FIGURE = {figure.number: figure for figure in _ALL}
"""Figures and tables of runs, by number. Tables VIII and XII are of machines (`rows`)."""

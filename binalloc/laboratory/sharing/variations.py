"""This module says what each figure and table of the sharing paper needs to be run: kernels on machines.

A figure needs runs of groups; figures share them. The first group has all steps of all kernels on the machine of Table
II. In the others the paper varies the machine (sections 8.1.8, 8.1.9, 8.3.1 and 8.3.3), or merges blocks (8.3.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from binalloc.laboratory.sharing.merged import SCHEMES
from binalloc.laboratory.sharing.paper import BENCHMARKS, MACHINE, Benchmark
from binalloc.laboratory.sharing.task import STEPS, UNSHARED
from binalloc.pipeline.multiplex.build import CO_VTB
from binalloc.pipeline.sharing.sharing import AUTO

L1_48, SHARED_32, SHARED_48, MORE_THREADS, SHARED_64 = (
    f"{MACHINE}-{what}" for what in ("48k-l1", "32k", "48k", "48k-3072", "64k")
)
"""The machines of Figs. 19, 22, 20 and 21, and of Table VIII: Configuration-1 is that of Fig. 20."""
CLUSTERS = tuple(f"{MACHINE}-{what}" for what in ("7x2", "3x5", "8x2", "4x4", "10x3"))
"""SM Config-1 to SM Config-5 of Table XII."""
LIMITED = tuple(b for b in BENCHMARKS if b.group in (1, 2))
"""Sets 1 and 2 (Table I)."""
MULTIPLEXED = tuple(b for b in BENCHMARKS if b.group == 9)
"""Table IX."""
COLLABORATIVE = ("MC", "HG")
"""The kernels for which CO-VTB is suitable (footnote 9)."""
_LARGER = (Benchmark("DCT1", "DCT1_64x32", 0), Benchmark("DCT2", "DCT2_64x32", 0), Benchmark("MC2", "MC2", 0))
_KNOWN = {b.kernel: b for b in (*BENCHMARKS, *_LARGER)}
FURTHER = tuple(_KNOWN[k] for k in ("backprop", "DCT1", "DCT2", "NQU", "histogram", "MC2", "NW1", "NW2"))
"""Table VII, for 48 and 64 KB. Its DCT1, DCT2 and MC2 have more shared memory than those of Table I."""
ONLY_48 = tuple(b for b in BENCHMARKS if b.kernel in ("FDTD3d", "heartwall", "MC1"))
"""Table VII, for 48 KB."""
ADDED_16 = tuple(b for b in BENCHMARKS if b.kernel in ("kmeans", "lud"))
"""Table VII, for 16 KB."""


@dataclass(frozen=True)
class Group:
    """A group is some kernels on a machine, all run in the same ways."""

    machine: str
    benchmarks: tuple[Benchmark, ...]
    unshared: tuple[str, ...] = ("lrr", "oldest")  #: schedulers without sharing; `oldest` is owner warp first then
    steps: tuple[str, ...] = ("owf", "opt")
    free: bool = False  #: whether as many blocks are run that never wait


@dataclass(frozen=True)
class Wanted:
    """A wanted run is a kernel on a machine, with a group's ways to run it."""

    benchmark: Benchmark
    group: Group


def _all_of(*sets: int) -> Group:
    benchmarks = tuple(b for b in BENCHMARKS if b.group in sets)
    return Group(MACHINE, benchmarks, UNSHARED, (*STEPS, AUTO), free=True)


_TABLE_1, _SET_3, _OTHERS, _TABLE_9 = _all_of(1, 2), _all_of(3), _all_of(0), _all_of(9)
GROUPS: dict[str, tuple[Group, ...]] = {
    **dict.fromkeys(("13", "14", "15", "16", "17", "18", "VI", "XIII"), (_TABLE_1,)),
    "19": (Group(L1_48, LIMITED),),
    "20": (Group(SHARED_48, LIMITED),),
    "21": (Group(MORE_THREADS, LIMITED),),
    "22": (_TABLE_1, Group(SHARED_32, LIMITED, ("lrr",), ())),
    "23": (_SET_3,),
    **dict.fromkeys(("24", "25"), (_OTHERS, Group(SHARED_48, (*FURTHER, *ONLY_48)), Group(SHARED_64, FURTHER))),
    **dict.fromkeys(("26", "27", "XI"), (_TABLE_9,)),
    "28": tuple(Group(machine, LIMITED) for machine in CLUSTERS),
    "VIII": (),
    "XII": (),
}
"""The groups that each figure and table needs beside the merged kernels of `WITH_MERGED`; tables of machines need no
run."""
WITH_MERGED = ("26", "27", "XI")
"""Figures and tables that need merged kernels, too."""
FIGURES = (
    "13", "14", "15", "VI", "16", "17", "18", "19", "20", "21", "22", "23", "VIII", "24", "25", "26", "27", "XI", "XII",
    "28", "XIII",
)  # fmt: skip
"""All figures and tables, in about the paper's order."""


def wanted_runs(figures: Sequence[str], kernels: Sequence[str], machines: Sequence[str]) -> list[Wanted]:
    """Return what figures need to be run of kernels on machines, each once, group by group. Without names: of all."""
    found: dict[tuple[str, str, tuple[str, ...]], Wanted] = {}
    groups = dict.fromkeys(group for figure in FIGURES if figure in figures for group in GROUPS[figure])
    order = {b.sample: k for k, b in enumerate(BENCHMARKS)}
    for group in sorted(groups, key=lambda group: group.machine != MACHINE):
        for benchmark in group.benchmarks:
            if (not kernels or benchmark.kernel in kernels) and (not machines or group.machine in machines):
                found.setdefault((group.machine, benchmark.sample, group.steps), Wanted(benchmark, group))
    runs = list(found.values())
    base = [run for run in runs if run.group.machine == MACHINE]
    return sorted(base, key=lambda run: order[run.benchmark.sample]) + runs[len(base) :]


def wanted_merged(
    figures: Sequence[str], kernels: Sequence[str], machines: Sequence[str]
) -> Iterator[tuple[Benchmark, tuple[str, ...]]]:
    """Yield the kernels that figures need merged, each with its schemes."""
    if not set(WITH_MERGED) & set(figures) or (machines and MACHINE not in machines):
        return
    for benchmark in MULTIPLEXED:
        if not kernels or benchmark.kernel in kernels:
            collaborative = benchmark.kernel in COLLABORATIVE
            yield benchmark, tuple(scheme for scheme in SCHEMES if scheme != CO_VTB or collaborative)

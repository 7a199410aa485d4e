"""Text and page of a reproduction have the same tables and sentences, made here from its dictionary (`facts`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from binalloc.laboratory.papers.reproduce import OURS, PLAIN, READINGS, SAME
from binalloc.laboratory.papers.unified import BLOCK
from binalloc.report.table import TextTable

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.laboratory import (
        Figure1Curve,
        ReproducedKernel,
        ReproducedMachine,
        ReproductionJson,
    )

Bar = Literal["auto", "best", "worst"]
COLUMNS: dict[
    Literal[
        "register_demand", "user_shared_bytes_per_thread", "instruction_change", "miss_percent",
        "miss_percent_local_only",
    ],
    str,
] = {
    "register_demand": "registers",
    "user_shared_bytes_per_thread": "user shared",
    "instruction_change": "InstChange",
    "miss_percent": "misses %",
    "miss_percent_local_only": "local only",
}  # fmt: skip
"""Columns of Table 1: their keys in the dictionary, and their heads."""
BARS: tuple[Bar, ...] = ("auto", "best", "worst")
"""Bars of Figs. 6 and 7 for each kernel, by their keys in the dictionary."""


class Statement(NamedTuple):
    """A Statement is a sentence about a claim of the paper."""

    text: str
    holds: bool | None  #: whether the claim holds here, None if that is not known


def of_machine(found: ReproductionJson, machine: str) -> list[ReproducedKernel]:
    """Return the kernels of a machine."""
    return [kernel for kernel in found["kernels"] if kernel["machine"] == machine]


def speedups(kernels: Sequence[ReproducedKernel]) -> TextTable:
    """Return the bars of a figure, and the choice of the paper's search by each reading of it."""
    readings = list(READINGS)
    head = ["kernel", "blocks", *BARS, *(f"unified {n}" for n in range(1, len(readings) + 1))]
    rows = [
        [k["kernel"], k["original_blocks"], *(_at(k, what) for what in BARS),
         *(_speed(k["unified"][name]["speedup"], k["unified"][name]["blocks"]) for name in readings)]
        for k in kernels
    ]  # fmt: skip
    return TextTable(head, rows)


def reached(machine: ReproducedMachine) -> str:
    """Return a sentence on the automatic choice's share of the best speedup; "" if nothing ran."""
    if machine["auto_over_best"] is None:
        return ""
    return (
        f"auto over best: {machine['auto_over_best']:.3f} in geometric mean, least "
        f"{machine['least_auto_over_best']:.3f}."
    )


def table1(kernels: Sequence[ReproducedKernel]) -> TextTable:
    """Return Table 1, in each cell the paper's figure and the emulated one."""
    rows = [[k["kernel"], *(f"{k['table1'][name]['paper']:g} / {_number(k['table1'][name]['here'])}"
                            for name in COLUMNS)] for k in kernels]  # fmt: skip
    return TextTable(["Table 1: paper / here", *COLUMNS.values()], rows)


def figure1(curves: Sequence[Figure1Curve]) -> TextTable:
    """Return Fig. 1 as a table: milliseconds by registers per thread, with the resident blocks."""
    by_registers: dict[int, dict[str, str]] = {}
    for curve in curves:
        for point in curve["points"]:
            time = point["milliseconds"]
            cell = "-" if time is None else f"{time:.4f} ({point['blocks_per_sm']})"
            by_registers.setdefault(point["registers_allowed"], {})[curve["kernel"]] = cell
    kernels = [curve["kernel"] for curve in curves]
    rows = [[at, *(found.get(kernel) for kernel in kernels)] for at, found in sorted(by_registers.items())]
    return TextTable(["Fig. 1: registers", *kernels], rows)


def fastest(curves: Sequence[Figure1Curve]) -> list[str]:
    """Return a sentence for each curve: the number of registers at which it is fastest, here and in the paper."""
    said = []
    for curve in curves:
        best = curve["best_registers"]
        if best["here"] is not None:
            paper = "" if best["paper"] is None else f"; the paper's at {best['paper']}"
            said.append(f"{curve['kernel']}, of {curve['demand']} registers: fastest at {best['here']}{paper}.")
    return said


def statements(kernels: Sequence[ReproducedKernel]) -> list[Statement]:
    """Return the claims of the paper's text and whether they hold; for those that do not, the stalls, too."""
    found = []
    for k in kernels:
        for one in k["stated"]:
            so = {True: "holds", False: "does NOT hold", None: "not known"}[one["holds"]]
            line = f"{k['kernel']} on {k['machine']}: {one['claim']}: {so}"
            if one["holds"] is False:
                line += f" (auto {_at(k, 'auto')}, best {_at(k, 'best')}; {_waited(k)})"
            found.append(Statement(line, one["holds"]))
    return found


def level_of(kernel: ReproducedKernel, bar: Bar) -> int | None:
    """Return the level of a bar, in blocks per SM; None for the original."""
    return {"auto": kernel["auto_blocks"], "best": kernel["best_blocks"], "worst": kernel["worst_blocks"]}[bar]


def _at(kernel: ReproducedKernel, bar: Bar) -> str:
    return _speed(kernel[bar], level_of(kernel, bar))


def _speed(value: float | None, blocks: int | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f} ({'orig' if blocks is None else blocks})"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _waited(kernel: ReproducedKernel) -> str:
    """Return the most frequent reasons for empty issue slots, of the original and of the best level."""
    said = [
        f"{name} " + ", ".join(f"{share:.0%} {reason}" for reason, share in kernel["stalls"][name].items())
        for name in ("original", "best")
    ]
    return "empty issue slots: " + "; ".join(said)


def legend() -> list[str]:
    """Return sentences that say what the figures of the tables are."""
    readings = "; ".join(f"{n} {name}" for n, name in enumerate(READINGS, 1))
    return [
        f"original: the input, or allocator {PLAIN}'s order of it for as many blocks if that is faster.",
        f"auto: policy model with allocator {OURS}.",
        "best, worst: over all numbers of blocks, also below the original's, and all allocators.",
        f"unified: the paper's search with its allocator, by reading: {readings}.",
        f"Fig. 1: milliseconds at the machine's clock (resident blocks); allocator {PLAIN} with that many registers.",
        f"Speedups that differ by less than {SAME:.0%} count as the same.",
    ]


def block_sizes(kernels: Sequence[ReproducedKernel]) -> list[str]:
    """Return a line for each way in which block sizes are known, with the kernels of these sizes."""
    return [
        f"{', '.join(of)}: {BLOCK[how]}"
        for how in BLOCK
        if (of := list(dict.fromkeys(k["kernel"] for k in kernels if k["block_is"] == how)))
    ]

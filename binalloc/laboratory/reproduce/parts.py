"""The tables and sentences of a reproduction, for text and page alike. All is taken from its dictionary (`facts`)."""

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
"""Of Table 1."""
BARS: tuple[Bar, ...] = ("auto", "best", "worst")
"""Of Figs. 6 and 7."""


class Statement(NamedTuple):
    """What the paper's text says; holds: whether it is so here, None where that is not known."""

    text: str
    holds: bool | None


def of_machine(told: ReproductionJson, machine: str) -> list[ReproducedKernel]:
    """Its kernels."""
    return [kernel for kernel in told["kernels"] if kernel["machine"] == machine]


def speedups(kernels: Sequence[ReproducedKernel]) -> TextTable:
    """The bars of a figure, and what the paper's search takes by each reading of it."""
    readings = list(READINGS)
    head = ["kernel", "blocks", *BARS, *(f"unified {n}" for n in range(1, len(readings) + 1))]
    rows = [
        [k["kernel"], k["original_blocks"], *(_at(k, what) for what in BARS),
         *(_speed(k["unified"][name]["speedup"], k["unified"][name]["blocks"]) for name in readings)]
        for k in kernels
    ]  # fmt: skip
    return TextTable(head, rows)


def reached(machine: ReproducedMachine) -> str:
    """What the automatic choice is of the best; nothing where nothing ran."""
    if machine["auto_over_best"] is None:
        return ""
    return (
        f"auto over best: {machine['auto_over_best']:.3f} in geometric mean, least "
        f"{machine['least_auto_over_best']:.3f}."
    )


def table1(kernels: Sequence[ReproducedKernel]) -> TextTable:
    """The paper's figure / the one here."""
    rows = [[k["kernel"], *(f"{k['table1'][name]['paper']:g} / {_number(k['table1'][name]['here'])}"
                            for name in COLUMNS)] for k in kernels]  # fmt: skip
    return TextTable(["Table 1: paper / here", *COLUMNS.values()], rows)


def figure1(curves: Sequence[Figure1Curve]) -> TextTable:
    """Milliseconds by registers per thread, and resident blocks."""
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
    """Of each curve where it is fastest, beside where the paper says so."""
    said = []
    for curve in curves:
        best = curve["best_registers"]
        if best["here"] is not None:
            paper = "" if best["paper"] is None else f"; the paper's at {best['paper']}"
            said.append(f"{curve['kernel']}, of {curve['demand']} registers: fastest at {best['here']}{paper}.")
    return said


def statements(kernels: Sequence[ReproducedKernel]) -> list[Statement]:
    """What the text says, and where it is otherwise here, what most issue slots waited for."""
    found = []
    for k in kernels:
        for one in k["stated"]:
            so = {True: "so", False: "NOT so", None: "not known"}[one["holds"]]
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
    """In what most empty issue slots of the original and of the best level are lost."""
    said = [
        f"{name} " + ", ".join(f"{share:.0%} {reason}" for reason, share in kernel["stalls"][name].items())
        for name in ("original", "best")
    ]
    return "empty issue slots: " + "; ".join(said)


def legend() -> list[str]:
    """What the figures are."""
    readings = "; ".join(f"{n} {name}" for n, name in enumerate(READINGS, 1))
    return [
        f"original: the input, or the faster code that allocator {PLAIN} orders for as many blocks.",
        f"auto: policy model with allocator {OURS}.",
        "best, worst: of every number of blocks, fewer than the original's too, by every allocator.",
        f"unified: the paper's search and its allocator, by reading: {readings}.",
        f"Fig. 1: milliseconds at the machine's clock (resident blocks), allocator {PLAIN} with so many registers.",
        f"Speedups that differ by less than {SAME:.0%} count as the same.",
    ]


def block_sizes(kernels: Sequence[ReproducedKernel]) -> list[str]:
    """How the block sizes are known."""
    return [
        f"{', '.join(of)}: {BLOCK[how]}"
        for how in BLOCK
        if (of := list(dict.fromkeys(k["kernel"] for k in kernels if k["block_is"] == how)))
    ]

"""This module reports what DRAM did for whom, as JSON and as text: for each object in memory, for an instruction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.emulator.host.figures.energy import CommandCosts
    from binalloc.emulator.host.figures.shares import DramCounts, OfMemories
    from binalloc.emulator.runs.run import Result
    from binalloc.report.shapes.parts.dram_shares import DramCommandsJson, DramObjectJson, DramOfJson

_NANO_PER_MICRO = 1000
_WORDS = {
    "variable": "variable ", "texture": "texture ", "local": "local memory", "spills": "spilled values", "code": "code",
    "constants": "constants", "cpu": "CPU programs", "other": "other memory",
}  # fmt: skip
"""What stands in front of the names of objects by kind, if anything, and kinds of memory that are no objects."""


def dram_json(result: Result, counts: OfMemories) -> DramOfJson:
    """Return counts and energy of some of a run's commands, by memory."""
    near, *far = (_commands(*pair) for pair in zip(result.dram_costs, counts, strict=True))
    return {**near, "far_dram": far[0]} if far else cast("DramOfJson", near)


def _commands(costs: CommandCosts, counts: DramCounts) -> DramCommandsJson:
    """Return counts and energy of some commands of a memory."""
    energy = costs.energy(*counts)
    return {
        "dram_activations": counts.activations,
        "dram_reads": counts.reads,
        "dram_writes": counts.writes,
        "dram_bytes": (counts.reads + counts.writes) * costs.burst_bytes,
        "dram_nj": None if energy is None else energy.nj,
        "dram_least_nj": None if energy is None else energy.least,
        "dram_most_nj": None if energy is None else energy.most,
    }


def objects_json(result: Result) -> list[DramObjectJson]:
    """Return what DRAM did for each object in memory."""
    return [{"kind": s.kind, "name": s.name, **dram_json(result, s.counts)} for s in result.dram_shares]


def has_energy(rows: Sequence[DramCommandsJson]) -> bool:
    """Return whether there are rows, and their machine has currents."""
    return bool(rows) and rows[0]["dram_nj"] is not None


def did(row: DramCommandsJson) -> bool:
    """Return whether there were any commands."""
    return bool(row["dram_activations"] or row["dram_bytes"])


def render_objects(rows: Sequence[DramObjectJson]) -> str:
    """Return a table of the objects for which DRAM did something, and one for the far memory; nothing without any."""
    names = [_WORDS.get(row["kind"], "") + row["name"] for row in rows]
    far = [(name, row["far_dram"]) for name, row in zip(names, rows, strict=True) if "far_dram" in row]
    return _render_table("DRAM", list(zip(names, rows, strict=True))) + _render_table("far DRAM", far)


def _render_table(memory: str, rows: Sequence[tuple[str, DramCommandsJson]]) -> str:
    """Return the table of one memory. rows: with their names."""
    shown = [(name, row) for name, row in rows if did(row)]
    if not shown:
        return ""
    energies = [[row["dram_nj"], row["dram_least_nj"], row["dram_most_nj"]] for _, row in shown]
    columns = ("uJ", "least uJ", "most uJ")
    header = [f"{memory} by object", "rows opened", "reads", "writes", "bytes"]
    header += [name for name, value in zip(columns, energies[0], strict=True) if value is not None]
    cells = [
        (
            name, row["dram_activations"], row["dram_reads"], row["dram_writes"], row["dram_bytes"],
            *(value / _NANO_PER_MICRO for value in energy if value is not None),
        )
        for (name, row), energy in zip(shown, energies, strict=True)
    ]  # fmt: skip
    rest = f"background and refreshes of {memory} are for no single object\n"
    return "\n" + table(header, cells) + (rest if has_energy([row for _, row in shown]) else "")

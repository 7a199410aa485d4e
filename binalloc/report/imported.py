"""The table `binalloc import-ptx` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from binalloc.printable import count
from binalloc.report.table import table


class Figures(Protocol):
    """What is shown of a kernel; see `frontend.importer.KernelFigures`."""

    name: str
    register_demand: int
    max_live: int
    instructions: int
    shared_bytes: int
    local_bytes: int
    calls: list[str]
    spilled: int


def render_import(kernels: Sequence[Figures], output: str) -> str:
    """One row per kernel."""
    rows = [
        [
            k.name,
            k.register_demand,
            k.max_live,
            k.instructions,
            k.shared_bytes,
            k.local_bytes,
            ", ".join(k.calls) or "none",
        ]
        for k in kernels
    ]
    header = ["kernel", "register demand", "max live", "instructions", "shared B", "local B", "calls"]
    text = table(header, rows) if rows else ""
    for k in kernels:
        if k.spilled:
            text += f"{k.name}: 255 registers do not hold {count(k.spilled, 'value')}, in local memory instead.\n"
    return f"{text}{output}: written\n"

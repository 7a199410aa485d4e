"""This module reports the energy of off-chip memory as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.report.shapes.parts.energy import DramEnergyJson

_MEANINGS = {
    "activation_nj": "activations and precharges",
    "read_nj": "reads",
    "write_nj": "writes",
    "open_nj": "background with a bank open",
    "closed_nj": "background with all banks closed",
    "refresh_nj": "refreshes",
    "io_nj": "I/O",
    "total_nj": "total",
}
"""Parts of the energy in words."""
_NANO_PER_MICRO = 1000


def render_energy(energy: DramEnergyJson | None, what: str = "DRAM") -> str:
    """Return a table of the parts in microjoules, and the average power; nothing for a machine without currents."""
    if energy is None:
        return ""
    values = {name: value for name, value in energy.items() if name in _MEANINGS}
    total = energy["total_nj"] or 1.0
    rows = []
    for name, value in values.items():
        if not isinstance(value, float):
            continue
        row: list[object] = [_MEANINGS[name], value / _NANO_PER_MICRO, value / total]
        for extreme in (energy["least"], energy["most"]):
            if extreme is not None:
                row.append(dict(extreme)[name])
        rows.append(tuple(x / _NANO_PER_MICRO if isinstance(x, float) and i > 2 else x for i, x in enumerate(row)))
    header = [f"energy of {what}", "uJ", "share", *(["least uJ", "most uJ"] if energy["least"] is not None else [])]
    return "\n" + table(header, rows) + f"average power of {what} {energy['average_w']:.3g} W\n"

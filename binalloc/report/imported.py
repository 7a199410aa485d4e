"""`binalloc import-ptx` as JSON and as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from binalloc.printable import count
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.frontend.importer import Imported, KernelFigures
    from binalloc.frontend.refused import LeftOut
    from binalloc.frontend.units import Unit
    from binalloc.report.shapes.commands.importing import ImportFields, KernelNotImported


def import_json(imported: Imported, units: Sequence[Unit], output: str, size: int) -> ImportFields:
    """Return what was imported. units: the linked files. output: the written file, of `size` bytes."""
    return {
        "output": output,
        "bytes": size,
        "inputs": [{"file": unit.path, "sha256": unit.sha256} for unit in units],
        "kernels": [asdict(kernel) for kernel in imported.kernels],
        "left_out": [_left_out(left) for left in imported.left_out],
        "ignored": [asdict(ignored) for ignored in imported.ignored],
    }


def _left_out(left: LeftOut) -> KernelNotImported:
    refusals = []
    for refusal in left.refusals:
        parts = ("file", "place", "message", "found", "expected", "remedy")
        texts = {name: getattr(refusal.error, name) for name in parts}
        found = {name: None if text is None else str(text) for name, text in texts.items()}
        refusals.append({"function": refusal.function, **found})
    return {"kernel": left.kernel, "refusals": refusals}


def render_import(kernels: Sequence[KernelFigures], output: str) -> str:
    """Return a table with a row per kernel."""
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

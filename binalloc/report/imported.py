"""This module reports `binalloc import-ptx`, as JSON and as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from binalloc.printable import count
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.frontend.importer import Imported, KernelFigures
    from binalloc.frontend.refused import NotImported, Refusal
    from binalloc.frontend.units import TranslationUnit
    from binalloc.report.shapes.commands.importing import ImportedKernel, ImportFields, KernelNotImported, RefusalJson


def import_json(imported: Imported, units: Sequence[TranslationUnit], output: str, size: int) -> ImportFields:
    """Return the import as `import-ptx --json` prints it. units: the linked files. output: path of the written binary.
    size: its size in bytes."""
    return {
        "output": output,
        "bytes": size,
        "inputs": [{"file": unit.path, "sha256": unit.sha256} for unit in units],
        "kernels": [_kernel(kernel) for kernel in imported.kernels],
        "left_out": [_left_out(left) for left in imported.left_out],
        "ignored": [
            {"file": one.file, "text": one.text, "line": one.line, "count": one.count} for one in imported.ignored
        ],
    }


def _kernel(kernel: KernelFigures) -> ImportedKernel:
    return {
        "name": kernel.name,
        "register_demand": kernel.register_demand,
        "max_live": kernel.max_live,
        "instructions": kernel.instructions,
        "shared_bytes": kernel.shared_bytes,
        "local_bytes": kernel.local_bytes,
        "calls": list(kernel.calls),
        "registers": kernel.registers,
        "predicates_spilled": kernel.predicates_spilled,
        "spilled": kernel.spilled,
    }


def _left_out(left: NotImported) -> KernelNotImported:
    return {"kernel": left.kernel, "refusals": [_refusal(refusal) for refusal in left.refusals]}


def _refusal(refusal: Refusal) -> RefusalJson:
    error = refusal.error
    return {
        "function": refusal.function,
        "file": _text(error.file),
        "place": _text(error.place),
        "message": str(error.message),
        "found": _text(error.found),
        "expected": _text(error.expected),
        "remedy": _text(error.remedy),
    }


def _text(part: object) -> str | None:
    return None if part is None else str(part)


def render_import(kernels: Sequence[KernelFigures], output: str) -> str:
    """Return a table with a row per kernel, and a line for each kernel that spills at 255 registers."""
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

"""`binalloc verify`: symbolic check of two binaries and, with a launch, comparison of their emulated runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from binalloc.emulator.launch import Difference, Launch
    from binalloc.isa.instruction import Module
    from binalloc.models.machine import Machine


def verify_to_dict(
    old: Module,
    new: Module,
    kernel: str | None,
    launch: Launch | None,
    machine: Machine,
    engine: str,
    max_cycles: int | None,
) -> dict[str, Any]:
    """Findings of the checker and the first differing outputs. Raises KernelFault where a run faults."""
    from binalloc.pipeline import find_kernel
    from binalloc.verify.checker import check

    name = find_kernel(new, kernel or (launch.kernel if launch else None)).name
    find_kernel(old, name)
    report = check(old, new, name)
    found: dict[str, Any] = {
        "kernel": name,
        "checked": report.ok,
        "findings": [str(e) for e in report.errors],
        "same_results": None,
        "differences": [],
        "first_store": None,
        "cycles": None,
    }
    if launch is not None:
        found |= _compare_runs(old, new, name, launch, machine, engine, max_cycles)
    found["verified"] = bool(report.ok and found["same_results"] is not False)
    return found


def _compare_runs(
    old: Module, new: Module, kernel: str, launch: Launch, machine: Machine, engine: str, max_cycles: int | None
) -> dict[str, Any]:
    from binalloc.emulator.launch import check_against, compare
    from binalloc.emulator.run import run

    for module in (old, new):
        check_against(launch, module.function(kernel).info, module.path)
    before = run(old, kernel, launch, machine, engine=engine, max_cycles=max_cycles)
    after = run(new, kernel, launch, machine, engine=engine, max_cycles=max_cycles)
    differences = compare(launch, before.buffers, after.buffers)
    return {
        "same_results": not differences,
        "first_store": _first_store(old, new, kernel, launch, machine, engine, differences[0]) if differences else None,
        "differences": [str(d) for d in differences],
        "cycles": {"original": before.cycles, "rewritten": after.cycles},
    }


def _first_store(
    old: Module, new: Module, kernel: str, launch: Launch, machine: Machine, engine: str, d: Difference
) -> dict[str, Any] | None:
    """The store that wrote the first differing element in both runs, and what it left there. None where elements have
    no place of their own (compare = "unordered")."""
    import numpy as np

    from binalloc.emulator.watch import first_store

    if d.mode == "unordered":
        return None
    data = launch.make_buffers()[d.name]
    offset = int(np.ravel_multi_index(d.index, data.shape)) * data.itemsize
    stores = [first_store(m, kernel, launch, machine, d.name, offset, data.itemsize, engine) for m in (old, new)]
    return {
        "element": f"{d.name}[{', '.join(map(str, d.index))}]",
        "original": {"store": str(stores[0]) if stores[0] else None, "value": _value(d.expected)},
        "rewritten": {"store": str(stores[1]) if stores[1] else None, "value": _value(d.actual)},
    }


def _value(v: int | float) -> int | float | str:
    """JSON has no NaN and no infinity."""
    return v if isinstance(v, int) or math.isfinite(v) else str(v)


def render_verification(found: dict[str, Any]) -> str:
    lines = [f"{found['kernel']}: symbolic check {'passed' if found['checked'] else 'FAILED'}\n"]
    lines += [f"  {text}\n" for text in found["findings"][:20]]
    if len(found["findings"]) > 20:
        lines.append(f"  and {len(found['findings']) - 20} more\n")
    if found["same_results"] is not None:
        cycles = found["cycles"]
        lines.append(f"emulated results {'same' if found['same_results'] else 'DIFFERENT'}; ")
        lines.append(f"cycles {cycles['original']:,} and {cycles['rewritten']:,}\n")
        lines += [f"  {text}\n" for text in found["differences"]]
    if found["first_store"] is not None:
        first = found["first_store"]
        lines.append(f"first differing element {first['element']}\n")
        for side in ("original", "rewritten"):
            lines.append(f"  {side:9s} {first[side]['value']!r}, by {first[side]['store'] or 'no store'}\n")
    return "".join(lines)

"""This module reports what CPU programs have done beside a kernel, as JSON and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.printable import one_line
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.emulator.runs.run import Result
    from binalloc.report.shapes.parts.memory.cpu import BesideCpu

FEW = 100
"""Misses of a program from which on its IPC means something: the first ones all begin together. Chosen by hand."""


def cpu_json(result: Result) -> BesideCpu:
    """Return the field on CPU programs; none for a run without any."""
    cpu = result.cpu
    if cpu is None:
        return {}
    return {
        "cpu": {
            "programs": [
                {
                    "name": run.name, "misses": run.misses, "under_way": run.under_way,
                    "instructions": run.instructions, "ipc": run.ipc, "ipc_alone": run.ipc_alone,
                    "speed": run.ipc / run.ipc_alone, "delay_each": run.delay_each,
                }
                for run in cpu.programs
            ],
            "memory": cpu.memory, "rows": cpu.rows, "first": cpu.first, "weighted_speedup": cpu.weighted_speedup,
        }
    }  # fmt: skip


def render_cpu(found: BesideCpu) -> str:
    """Return a table of the CPU programs and their weighted speedup; nothing for a run without any."""
    if "cpu" not in found:
        return ""
    cpu = found["cpu"]
    rows = [
        (one_line(p["name"]), p["misses"], p["ipc"], p["ipc_alone"], p["speed"], p["delay_each"])
        for p in cpu["programs"]
    ]
    header = ["CPU program", "misses", "IPC", "IPC alone", "speed", "delay each"]
    text = "\n" + table(header, rows) + f"weighted speedup {cpu['weighted_speedup']:.3f} of {len(rows)}\n"
    if any(p["misses"] < FEW for p in cpu["programs"]):
        text += f"Fewer than {FEW} misses of a program: its IPC depends on how the run begins and ends.\n"
    return text

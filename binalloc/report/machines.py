"""This module reports `binalloc machines`: machine models, and answers to occupancy questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from binalloc.errors import Hint, UsageError
from binalloc.models.machines.files import list_machines
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.model import Machine
from binalloc.models.machines.occupancy import Occupancy, model_of
from binalloc.models.machines.reader import load_machine
from binalloc.plugins.fault import PluginFault
from binalloc.printable import one_line
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.machines import (
        FigureJson,
        MachineJson,
        MachineListFields,
        MachinesFields,
        ShortMachine,
    )
    from binalloc.report.shapes.parts.versions import OccupancyJson


def machines_json(names: list[str]) -> MachinesFields:
    """Return the named machines in full. Raise UsageError for an unknown name."""
    return {"machines": [machine_json(load_machine(name)) for name in names]}


def machine_list_json(broken: Callable[[PluginFault], None]) -> MachineListFields:
    """Return every known machine in short. A machine of an installed package that cannot be read is left out.

    broken: receives the error of each such machine.
    """
    rows: list[ShortMachine] = []
    for name in list_machines():
        try:
            m = load_machine(name)
        except PluginFault as error:
            broken(error)
            continue
        rows.append(
            {
                "name": m.name,
                "cc": m.cc,
                "sms": m.chip.sms,
                "registers_per_sm": m.sm.registers_per_sm,
                "shared_per_sm": m.sm.shared_per_sm,
                "threads_per_sm": m.sm.threads_per_sm,
                "registers_per_thread": m.sm.registers_per_thread,
                "rule": m.occupancy_rule.rule,
            }
        )
    return {"machines": rows}


def machine_json(machine: Machine) -> MachineJson:
    """Return a machine as plain JSON values: all figures with value, unit and source, and the figures derived from
    them."""
    sections: dict[str, dict[str, FigureJson | str]] = {}
    for key, figure in machine.figures:
        section, _, name = key.rpartition(".")
        entry: FigureJson = {"value": figure.value, "unit": figure.unit, "source": figure.source}
        if figure.alternatives:
            entry["alternatives"] = [{"value": value, "source": source} for value, source in figure.alternatives]
        sections.setdefault(section, {})[name] = entry
    for name, unit in machine.units.items():
        sections[f"units.{name}"]["port_group"] = unit.port_group
    return {
        "name": machine.name,
        "description": machine.description,
        "cc": machine.cc,
        "occupancy_rule": machine.occupancy_rule.rule,
        "digest": machine.digest,
        "figures": sections,
        "derived": {
            "bytes_per_cycle_per_sm": {"value": machine.bytes_per_cycle_per_sm, "unit": "bytes/cycle"},
            "issue_slots_per_cycle": {"value": machine.issue_slots_per_cycle, "unit": "instructions/cycle"},
        },
    }


def render_machine_list(found: MachineListFields) -> str:
    """Return a table with a row for each machine."""
    rows = found["machines"]
    return table(list(rows[0]), [list(row.values()) for row in rows]) if rows else ""


def render_machines(found: MachinesFields) -> str:
    """Return every figure of every machine on a line of its own, indented by section."""
    return "\n".join(_tree(m, 0) for m in found["machines"])


def _tree(value: object, depth: int) -> str:
    pad = "  " * depth
    lines = []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in items:
        key = one_line(key)
        if isinstance(entry, dict) and "value" in entry:
            note = f"  [{one_line(entry['source'])}]" if entry.get("source") else ""
            lines.append(f"{pad}{key}: {one_line(entry['value'])} {entry.get('unit', '')}{note}\n")
        elif isinstance(entry, dict | list):
            lines.append(f"{pad}{key}:\n{_tree(entry, depth + 1)}")
        else:
            lines.append(f"{pad}{key}: {one_line(entry)}\n")
    return "".join(lines)


def occupancy_answer(cc: str | None, machine: str | None, use: KernelUse) -> OccupancyJson:
    """Return the occupancy of a kernel with these resources, by compute capability or by machine.

    Raise UsageError unless exactly one of `cc` and `machine` is given, or if it is unknown.
    """
    if (cc is None) == (machine is None):
        raise UsageError("ask for a capability or for a machine", expected=Hint("one of {cc} and {machine}"))
    target = model_of(cc) if cc is not None else load_machine(str(machine))
    return occupancy_json(target.occupancy(use))


def occupancy_json(result: Occupancy) -> OccupancyJson:
    """Return an occupancy as plain JSON values. The limit of a resource that sets none is null."""
    return {
        "rule": result.rule,
        "cc": result.cc,
        "registers": result.use.registers,
        "shared_bytes": result.use.block_shared,
        "threads": result.use.threads,
        "cache_config": str(result.use.cache_config),
        "carveout": result.use.carveout,
        "blocks_per_sm": result.blocks_per_sm,
        "limits": dict(result.limits),
        "limiters": list(result.limiters),
        "limit_mask": result.limit_mask,
        "registers_per_block": result.registers_per_block,
        "shared_per_block": result.shared_per_block,
        "warps_per_block": result.warps_per_block,
        "active_warps": result.active_warps,
        "active_threads": result.active_threads,
        "max_warps": result.max_warps,
        "occupancy": result.occupancy,
    }


def render_occupancy(found: OccupancyJson) -> str:
    """Return a table of two columns: the fields and their values."""
    rows = [(k, _inline(v)) for k, v in found.items() if k != "limit_mask"]
    return table(["", ""], rows)


def _inline(value: object) -> object:
    """Return lists and objects on one line, without their brackets, and other values as they are."""
    if isinstance(value, dict):
        return ", ".join(f"{k} {'-' if v is None else v}" for k, v in value.items()) or None
    return (", ".join(map(str, value)) or None) if isinstance(value, list | tuple) else value

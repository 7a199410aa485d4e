"""The machine of the thread batching paper's Fig. 9."""

from __future__ import annotations

from dataclasses import replace

from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine


def two_load_ports() -> Machine:
    """The paper's machine, whose SM loads for two warps in a cycle."""
    m = load_machine("gem5gpu-batching-8k")
    units = replace(m.units, lsu=replace(m.units["lsu"], ports=2))
    groups = tuple(replace(group, ports=2) if group.name == "lsu" else group for group in m.port_groups)
    return replace(m, units=units, port_groups=groups)

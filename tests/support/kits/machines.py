"""Machines that tests run programs on."""

from __future__ import annotations

from dataclasses import replace

from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine


def roomy_machine(name: str = "gtx680") -> Machine:
    """The machine with 255 registers per thread allowed."""
    m = load_machine(name)
    return replace(m, sm=replace(m.sm, registers_per_thread=255))

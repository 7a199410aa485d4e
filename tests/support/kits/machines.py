"""Machines that tests run programs on."""

from __future__ import annotations

from dataclasses import replace

from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine


def roomy_machine(name: str = "gtx680") -> Machine:
    """The machine with 255 registers per thread allowed."""
    m = load_machine(name)
    return replace(m, sm=replace(m.sm, registers_per_thread=255))


def machines() -> list[Machine]:
    """Machines that issue one or two at a time, with other latencies."""
    dual = load_machine("gtx680")
    single = replace(dual, schedulers=replace(dual.schedulers, issue_width=1))
    units = replace(
        dual.units,
        fma=replace(dual.units.fma, latency=3),
        imad=replace(dual.units.imad, latency=15),
        alu=replace(dual.units.alu, latency=5),
        dp=replace(dual.units.dp, latency=16),
    )
    return [dual, single, replace(single, units=units)]

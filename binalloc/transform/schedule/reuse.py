"""This module sets reuse flags: they mark operands for the machine's operand cache to keep.

It needs the instruction graph and its timings. It leaves the bits for each node. An operand of an instruction is
flagged under three conditions. The instruction's only successor is the next one, in the same block. That one reads the
same register at the same operand. The flagged instruction does not write the register. Therefore a kept operand is read
by the warp's very next instruction or not at all. It is never stale, because the flagged instruction leaves the
register unchanged, and a pending result would be a hazard for it. Instructions that read late or transfer control do
not use the cache (TIMING.md, "Registers").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from binalloc.isa.interface.places import REG
from binalloc.isa.interface.view import View
from binalloc.transform.schedule.graph import InstrGraph
from binalloc.transform.schedule.timing import Timing

if TYPE_CHECKING:
    from binalloc.models.machines.model import Machine


def reuse_flags(graph: InstrGraph, timings: Sequence[Timing], machine: Machine) -> list[int]:
    """Return, for each node, the operands to keep, as the bits of its control code. There are none if the machine has
    no operand cache."""
    out = [0] * len(graph)
    if machine.register_file is None or not machine.register_file.operand_cache:
        return out
    for node in range(len(graph)):
        second = node + 1
        if graph.succ[node] == [second] and second not in graph.leaders and not timings[node].guarded:
            wanted = {} if timings[second].guarded else _operands(graph.views[second])
            written = {r for ref in graph.views[node].defs if ref.file == REG for r in ref.registers()}
            for operand, registers in _operands(graph.views[node]).items():
                if wanted.get(operand) == registers and written.isdisjoint(registers):
                    out[node] |= 1 << operand
    return out


def _operands(v: View) -> dict[int, range]:
    """Return the registers that an instruction reads at each operand."""
    read = {} if v.control else {ref.operand: ref.registers() for ref in v.uses if ref.file == REG}
    return {operand: registers for operand, registers in read.items() if operand >= 0}

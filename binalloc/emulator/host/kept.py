"""What a device keeps from one launch to the next: L2, and the staged code.

Needs launches of one module on one machine. Leaves true: the second launch finds in L2 the lines that the first has
left there, and which of them DRAM lacks; all else of a device, L1 as well, begins every launch empty.
"""

from __future__ import annotations

import numpy as np

from binalloc.emulator.host.engine import Engine, Records, Value
from binalloc.emulator.host.staging import Constants, Program
from binalloc.emulator.memory.replacement import BUSY
from binalloc.emulator.state.memories import Array
from binalloc.isa.instruction import Module
from binalloc.models.machines.model import Machine

_LINES = ("l2_line", "l2_valid", "l2_dirty", "l2_age", "l2_coming")


class Kept:
    """parameters: of the launch that comes next. fields: of the device record, that follow from machine and module.
    shapes: warps of a block and resident blocks with which a launch is known to fit the record."""

    def __init__(self) -> None:
        self.parameters = b""
        self.first: Program | None = None
        self.lines: dict[str, Array] = {}
        self.stamp = 0
        self.fields: dict[str, Value] = {}
        self.shapes: set[tuple[int, int]] = set()

    def staged(self, module: Module, machine: Machine, constants: Constants) -> Program:
        """The module's code; what does not follow from constants is staged once."""
        if self.first is None:
            self.first = Program(module, machine, constants)
            return self.first
        return self.first.with_constants(constants)

    def hand_over(self, engine: Engine, g: Records) -> None:
        """Give L2 of a launch that begins what it held."""
        for name, values in self.lines.items():
            if isinstance(g, np.ndarray):
                g[name][0, : len(values)] = values
                continue
            field = getattr(g[0], name)
            for i in np.flatnonzero(values).tolist():
                field[i] = int(values[i])
        engine.put(g, 0, "stamp", self.stamp)

    def take(self, engine: Engine, g: Records) -> None:
        """Keep L2 of a launch that has ended. Words that are on their way still have come when the next one begins."""
        lines = engine.get(g, 0, "slices") * engine.get(g, 0, "l2_sets") * engine.get(g, 0, "l2_ways")
        self.lines = {name: engine.view(g, 0, name)[:lines].copy() for name in _LINES}
        coming = self.lines.pop("l2_coming")
        self.lines["l2_valid"] |= coming
        self.lines["l2_age"] &= BUSY - 1
        self.stamp = engine.get(g, 0, "stamp")

"""This module has the surroundings of a thread that is walked: staged code, constants, its place in block and grid.

Needs a module, and a launch or, without one, only the threads of a block. Contents of buffers are not used: a launch
gives sizes, scalars and the addresses that its buffers would have. Without a launch parameters are unknown.
"""

from __future__ import annotations

from binalloc.emulator.host.memory.placing import Symbols, texture_row
from binalloc.emulator.host.staging import Constants, StagedProgram
from binalloc.emulator.known.values import Three, Values, special_values
from binalloc.emulator.state.layout import LANES
from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.view import View
from binalloc.launch.types import Launch
from binalloc.models.machines.model import Machine
from binalloc.pipeline.estimate.walk.thread import ThreadWalk, WalkCode, Walked


class LaunchSetting:
    """A setting is a kernel as it is launched.

    threads: of a block, where neither a launch nor `block` says how they are laid out.
    """

    def __init__(
        self, module: Module, kernel: str, launch: Launch | None, threads: int, machine: Machine,
        block: Three | None = None,
    ) -> None:  # fmt: skip
        self.module, self.kernel, self.launch = module, module.function(kernel), launch
        self.machine = machine
        self.block: Three = (block or (threads, 1, 1)) if launch is None else launch.block
        self.grid: Three | None = None if launch is None else launch.grid
        constants = self._constants()
        self._program = StagedProgram(module, machine, constants)
        self._code = WalkCode(self._program, constants, self._textures())
        self._walked: dict[tuple[int, int], Walked] = {}

    @property
    def warps(self) -> int:
        """Return the warps of a block."""
        x, y, z = self.block
        return -(-x * y * z // LANES)

    @property
    def blocks(self) -> int:
        """Return the blocks of the grid, 1 where it is unknown."""
        x, y, z = self.grid or (1, 1, 1)
        return x * y * z

    def threads(self, warp: int) -> range:
        """Return the numbers of a warp's threads in their block."""
        x, y, z = self.block
        return range(warp * LANES, min(x * y * z, (warp + 1) * LANES))

    def place(self, thread: int) -> Three:
        """Return the place of a thread in its block, in x, y and z."""
        return _place(thread, self.block)

    def walk(self, block: int, thread: int) -> Walked:
        """Return the walk of a thread of a block, by their numbers. It is walked only once."""
        if (block, thread) not in self._walked:
            there = None if self.grid is None else _place(block, self.grid)
            special = special_values(self.place(thread), there, self.block, self.grid)
            self._walked[block, thread] = ThreadWalk(self._code, self.kernel.address, Values(special)).run()
        return self._walked[block, thread]

    def where(self, word: int) -> tuple[Function, int]:
        """Return the function and the index of a code word's instruction."""
        found = self._program.place(word)
        assert found is not None
        return found

    def view(self, word: int) -> View:
        """Return the view of the instruction at a code word."""
        step = self._code.step(word)
        assert step is not None
        return step.seen

    def _constants(self) -> Constants:
        """Return the constants: parameters, and variables that the launch fills."""
        launch = self.launch
        if launch is None:
            return Constants.build(dict(self.module.constants))
        filled = Symbols.of(launch, self.module, launch.make_symbols())
        return Constants.build(filled.banks(self.kernel, launch, launch.addresses, {}))

    def _textures(self) -> list[list[int]]:
        """Return the rows of the table of textures. Each texture begins at address 0."""
        return [] if self.launch is None else [texture_row(a, 0) for a in self.launch.handled]


def _place(number: int, sides: Three) -> Three:
    x, y, _ = sides
    return number % x, number // x % y, number // (x * y)

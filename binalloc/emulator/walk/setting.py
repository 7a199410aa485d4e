"""What a thread that is walked finds: staged code, constants, its place in block and grid.

Needs a module, and a launch or, without one, the threads of a block alone. No contents of buffers are looked at: what a
launch says is sizes, scalars and where its buffers would lie. Without a launch parameters are unknown.
"""

from __future__ import annotations

from binalloc.emulator.host.placing import Symbols, texture_row
from binalloc.emulator.host.staging import Constants, Program
from binalloc.emulator.state.layout import LANES
from binalloc.emulator.walk.thread import Code, Walk, Walked
from binalloc.emulator.walk.values import Three, Values, special_values
from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.view import View
from binalloc.launch.types import Launch
from binalloc.models.machines.model import Machine


class Setting:
    """A kernel as it is launched. threads: of a block, where no launch and no `block` says how they are laid out."""

    def __init__(
        self, module: Module, kernel: str, launch: Launch | None, threads: int, machine: Machine,
        block: Three | None = None,
    ) -> None:  # fmt: skip
        self.module, self.kernel, self.launch = module, module.function(kernel), launch
        self.machine = machine
        self.block: Three = (block or (threads, 1, 1)) if launch is None else launch.block
        self.grid: Three | None = None if launch is None else launch.grid
        constants = self._constants()
        self._program = Program(module, machine, constants)
        self._code = Code(self._program, constants, self._textures())
        self._walked: dict[tuple[int, int], Walked] = {}

    @property
    def warps(self) -> int:
        """Of a block."""
        x, y, z = self.block
        return -(-x * y * z // LANES)

    @property
    def blocks(self) -> int:
        """Of the grid; one where nothing is known of it."""
        x, y, z = self.grid or (1, 1, 1)
        return x * y * z

    def threads(self, warp: int) -> range:
        """Numbers of a warp's threads in their block."""
        x, y, z = self.block
        return range(warp * LANES, min(x * y * z, (warp + 1) * LANES))

    def place(self, thread: int) -> Three:
        """Of a thread in its block."""
        return _place(thread, self.block)

    def walk(self, block: int, thread: int) -> Walked:
        """The thread of that number in the block of that number; walked once."""
        if (block, thread) not in self._walked:
            there = None if self.grid is None else _place(block, self.grid)
            special = special_values(self.place(thread), there, self.block, self.grid)
            self._walked[block, thread] = Walk(self._code, self.kernel.address, Values(special)).run()
        return self._walked[block, thread]

    def where(self, word: int) -> tuple[Function, int]:
        """The function and instruction that a code word is."""
        found = self._program.place(word)
        assert found is not None
        return found

    def view(self, word: int) -> View:
        """The instruction at a code word."""
        step = self._code.step(word)
        assert step is not None
        return step.seen

    def _constants(self) -> Constants:
        """Parameters, and variables that the launch fills."""
        launch = self.launch
        if launch is None:
            return Constants.build(dict(self.module.constants))
        filled = Symbols.of(launch, self.module, launch.make_symbols())
        return Constants.build(filled.banks(self.kernel, launch, launch.addresses, {}))

    def _textures(self) -> list[list[int]]:
        """Rows of the table of textures, each of which begins at address 0."""
        return [] if self.launch is None else [texture_row(a, 0) for a in self.launch.handled]


def _place(number: int, sides: Three) -> Three:
    x, y, _ = sides
    return number % x, number // x % y, number // (x * y)

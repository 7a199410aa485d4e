"""This module keeps a device: kernels of one module are launched one after the other over memory that stays.

Needs a module scheduled for the machine, and the first contents of its buffers. Leaves true: a first launch takes
exactly the cycles of `run`. Each later launch finds global memory and L2 as the one before left them, and everything
else empty. No time passes between launches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.host.kept import KeptDevice
from binalloc.emulator.host.memory.global_memory import GlobalMemory
from binalloc.emulator.host.resources import Resources
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import (
    Result,
    engine_of,
    find_function,
    placed,
    registers_of,
    resources_of,
    run_device,
)
from binalloc.emulator.state.memories import Array
from binalloc.isa.instruction import Function, Module
from binalloc.launch.numbers.dtypes import copied
from binalloc.launch.types import Launch
from binalloc.models.sharing.pairs import Pairing

Shape = tuple[str, int, int, str, int | None, str]
"""Properties of a launch that determine its resources: kernel, threads of a block, bytes of dynamic shared memory, and
the three options on shared memory that blocks get as they run, or share."""


class Session:
    """A session is one device with its memory.

    held: a launch with the arguments that have contents. buffers, textures: these contents. options: of every launch.
    launched: how many launches have ended.
    """

    def __init__(
        self, module: Module, held: Launch, buffers: Mapping[str, Array], textures: Mapping[str, Array],
        options: RunOptions,
    ) -> None:  # fmt: skip
        self.module, self.held, self.options = module, held, options
        host = {k: copied(v) for k, v in buffers.items()}
        self.memory = GlobalMemory(held, module, host, {k: np.ascontiguousarray(v) for k, v in textures.items()})
        self.launched = 0
        self._kept = KeptDevice()
        self._registers: dict[str, int] = {}
        self._needs: dict[Shape, tuple[Resources, int, Pairing | None]] = {}

    def addresses(self) -> dict[str, int]:
        """Return the present addresses of buffers and the handles of textures and surfaces, by argument."""
        return self.memory.addresses | self.memory.handles

    def changed(self, name: str) -> None:
        """Copy the changed contents of `memory.view` of the argument into its constant bank, if it has one."""
        self.memory.symbols.fill(name, self.memory.view(name))

    def registers(self, fn: Function) -> int:
        """Return the registers per thread of a kernel, after the checks that need no launch."""
        if fn.name not in self._registers:
            self._registers[fn.name] = registers_of(self.module, fn, self.options)
        return self._registers[fn.name]

    def launch(
        self, launch: Launch, parameters: bytes, options: RunOptions | None = None, *, contents: bool = False
    ) -> Result:
        """Run one launch to its end.

        launch: grid, block and dynamic shared memory of the kernel, which is named as in the binary. parameters: their
        bytes in constant bank 0. options: instead of the session's, with the same machine, engine and number of SMs.
        contents: as in `run_device`. Raises as `run_launch` does; memory is then what the launch made of it until then.
        """
        asked = self.options if options is None else options
        fn = find_function(self.module, launch.kernel)
        key = (fn.name, launch.threads_per_block, launch.dynamic_shared, asked.smm, asked.over, asked.sharing)
        if key not in self._needs:
            need = resources_of(self.module, fn, launch, self.registers(fn), asked)
            whole = replace(asked, blocks_per_sm=None, ideal_blocks=None)
            self._needs[key] = need, *placed(asked.machine, need, launch, self.module, fn, whole)
        need, resident, pairing = self._needs[key]
        self._kept.parameters = parameters
        blocks = math.prod(launch.grid)
        device = LaunchedDevice(
            engine_of(asked), self.module, fn, launch, asked.machine, need, min(resident, blocks), asked.sms,
            self.memory, self._kept, pairing,
        )  # fmt: skip
        if asked.log is not None:
            device.memories.program = device.memories.program.copy()  # the log enters breaks, and the program is kept
        result = run_device(device, resident, asked, contents=contents)
        self._kept.take(device.engine, device.g)
        self.launched += 1
        return result

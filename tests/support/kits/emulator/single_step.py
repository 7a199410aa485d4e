"""One instruction on a given warp state, for tests: what it really reads and writes.

Runs in the `python` engine, one warp of 32 lanes, hazards off. The state is what a program can see: 256 registers and 7
predicates of every lane, one shared, one local and one global memory, a constant bank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.host.engines.engine import engine
from binalloc.emulator.host.memory.global_memory import GlobalMemory
from binalloc.emulator.host.resources import Resources
from binalloc.emulator.host.staging import check_registers
from binalloc.emulator.policies.smm import open_public
from binalloc.emulator.sm.issue import begin_cycle
from binalloc.emulator.state import layout as L
from binalloc.isa.instruction import Function, FunctionInfo, Instr, Module, make
from binalloc.isa.kinds import Flow
from binalloc.launch.sampling import AddressMode, TextureFilter, TextureLayers
from binalloc.launch.types import Argument, ArgumentKind, Init, InitKind, Launch, Texture
from binalloc.models.machines.model import Machine

Array = np.ndarray[Any, np.dtype[Any]]
MEMORY_BYTES = 4096
CALLEE = 8
"""Code word of the function that calls may enter; the instruction itself stands at word 0."""


HELD, HELD_BYTES = 4352, 64
"""Address and size of the shared memory that the block holds before a BAR.FREE."""
SIDE = 4
TEXTURES = tuple(
    Argument(f"t{n}", ArgumentKind.TEXTURE, "f32", (SIDE,) * n, init=Init(InitKind.RANDOM, seed=n),
             texture=Texture((SIDE,) * n, filter=TextureFilter.LINEAR, address=(AddressMode.CLAMP,) * n, levels=3,
                             blend=TextureFilter.LINEAR))
    for n in (1, 2, 3)
)  # fmt: skip
"""Textures of one, two and three dimensions, mipmaps, whose handles are 1, 2 and 3."""
SURFACES = tuple(
    Argument(f"s{n}{layers}", ArgumentKind.SURFACE, "u32", (SIDE,) * n, texture=Texture((SIDE,) * n, layers=layers))
    for layers in (TextureLayers.NONE, TextureLayers.ARRAY) for n in (1, 2, 3)
)  # fmt: skip
"""Surfaces of one, two and three dimensions, and with the last of them layers; their handles are 4 and so on."""


@dataclass
class WarpState:
    """registers: uint32 [255, 32]. predicates: lane masks of P0..P6. memory: bytes of "global", "shared", "local" (per
    lane, uint32 [words, 32]). pc: word after the instruction, -1 if the warp ended or waits. fault: code, 0 if none."""

    registers: Array
    predicates: list[int]
    global_: Array
    shared: Array
    local: Array
    pc: int = 0
    depth: int = 0
    active: int = 0
    fault: int = 0


class SingleStep:
    """Executes `instr` alone; the state is set and read through `WarpState`."""

    def __init__(self, instr: Instr, machine: Machine, constants: bytes = bytes(256)) -> None:
        kernel = Function(
            "k", [instr, make("NOP"), make("NOP"), make("EXIT")],
            FunctionInfo(shared_bytes=MEMORY_BYTES, local_bytes=256, spill_local=256, registers=255, slot_bytes=256),
        )  # fmt: skip
        callee = Function("f", [make("RET")], FunctionInfo(kind="function"))  # at CALLEE, for calls
        module = Module([kernel, callee], constants=dict.fromkeys(range(18), constants))
        module.layout()
        buffer = Argument("x", ArgumentKind.BUFFER, "u8", (MEMORY_BYTES,))
        launch = Launch("k", (1, 1, 1), (32, 1, 1), 0, (buffer, *TEXTURES, *SURFACES))
        need = Resources.of(kernel, launch, check_registers([kernel], kernel, ""), [kernel])
        data = launch.make_buffers()
        memory = GlobalMemory(launch, module, data, launch.make_textures())
        self.frees = instr.control == Flow.FREE
        self.device = LaunchedDevice(engine("python"), module, kernel, launch, machine, need, 1, 1, memory)

    def run(self, before: WarpState) -> WarpState:
        """The state after the instruction."""
        d = self.device
        g, s, mem = d.g[0], d.sms[0], d.memories
        steps = 0
        begin_cycle(
            g, s, mem.program, mem.regs, mem.hazard, mem.shared, mem.local, mem.shadow, mem.shadow_local, mem.races
        )
        if self.frees:
            g.public_bytes = HELD_BYTES
            assert open_public(g, s, 0)
            assert s.region_base[s.allocated[0] - 1] == HELD
        mem.regs[0, :255] = before.registers
        for p, mask in enumerate(before.predicates):
            s.pred[0, p] = mask
        mem.global_[: len(before.global_)] = before.global_
        mem.shared[0, : len(before.shared)] = before.shared
        mem.local[0, : len(before.local)] = before.local
        s.last_time = g.cycle - 1
        counted = int(s.stat[0])
        while int(s.stat[0]) == counted and g.fault == 0 and steps < 4:
            d.step(1, 1 << 40)
            steps += 1
        sp = s.sp[0]
        return WarpState(
            mem.regs[0, :255].copy(),
            [int(s.pred[0, p]) for p in range(7)],
            mem.global_[: len(before.global_)].copy(),
            mem.shared[0, : len(before.shared)].copy(),
            mem.local[0, : len(before.local)].copy(),
            int(s.stack[0, sp, L.StackColumn.PC]) if sp >= 0 else -1,
            sp,
            int(s.stack[0, sp, L.StackColumn.MASK]) if sp >= 0 else 0,
            g.fault,
        )

"""Which instruction of which thread writes an element of a buffer: a watchpoint.

Needs a launch that runs to its end. The element's bytes are taken out of the buffer's span, so that the first access to
them stops the run as an access out of bounds would, with its place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from binalloc.emulator import layout as L
from binalloc.emulator.engine import engine as find_engine
from binalloc.emulator.launch import variable_name
from binalloc.emulator.launch_types import Launch
from binalloc.emulator.load import check_registers, reachable
from binalloc.emulator.run import Device, Resources
from binalloc.errors import KernelFault, LimitHit
from binalloc.isa.disassembler import format_instr
from binalloc.isa.instruction import Module
from binalloc.isa.interface import view
from binalloc.models.machine_model import Machine


@dataclass(frozen=True)
class Store:
    """The first store to a watched element: function, word index and text of the instruction; block, warp in the block
    and lane of the thread."""

    function: str
    index: int
    instruction: str
    block: int
    warp: int
    lane: int

    def __str__(self) -> str:
        where = f"block {self.block}, warp {self.warp}, lane {self.lane}"
        return f"{self.function}+{self.index} `{self.instruction}`, {where}"


def first_store(
    module: Module, kernel: str, launch: Launch, machine: Machine, buffer: str, offset: int, size: int, engine: str
) -> Store | None:
    """The first store to bytes offset to offset+size-1 of `buffer` (for a variable, its `variable_name`); None where
    there is none, or a load comes first."""
    fn = module.function(kernel)
    functions = reachable(module, fn)
    need = Resources.of(fn, launch, check_registers(functions, fn, module.path))
    resident = machine.occupancy(need.registers, need.shared, need.threads).blocks_per_sm
    buffers = launch.make_buffers()
    resident = min(resident, math.prod(launch.grid))
    device = Device(find_engine(engine), module, fn, launch, machine, need, resident, 1, buffers)
    device.put("hazards", 1)
    spans = []
    names = (buffer, variable_name(buffer))  # a variable may be one that the launch names
    for name, start, end in device.places():
        spans += [(start, start + offset), (start + offset + size, end)] if name in names else [(start, end)]
    spans = [s for s in spans if s[0] < s[1]]
    if len(spans) > L.MAX_BUFFERS:
        return None
    device.bound(spans)
    try:
        device.drive(None)
    except KernelFault:
        return _stopped(device)
    except LimitHit:
        return None
    return None


def _stopped(device: Device) -> Store | None:
    """Where the run stopped, if it was a store."""
    code, sm, warp, pc, lane = (
        int(device.engine.get(device.g, 0, n)) for n in ("fault", "fault_sm", "fault_warp", "fault_pc", "fault_lane")
    )
    place = device.program.place(pc)
    if code != L.F_GLOBAL or place is None:
        return None
    fn, index = place
    memory = view(fn.instrs[index]).memory
    if memory is None or memory.access == "load":
        return None
    slot = device.engine.get(device.sms, sm, "block_of")[warp]
    block = int(device.engine.get(device.sms, sm, "block_id")[slot])
    in_block = int(device.engine.get(device.sms, sm, "in_block")[warp])
    text = format_instr(fn.instrs[index], fn, index, device.module)
    return Store(fn.name, index, text, block, in_block, lane)

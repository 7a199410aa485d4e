"""Which instruction of which thread writes an element of a buffer: a watchpoint.

Needs a launch that runs to its end. The element's bytes are taken out of the buffer's span, so that the first access to
them stops the run as an access out of bounds would, with its place. Where that is a load, they are taken out just
before the cycle in which they first change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from binalloc.emulator.host.device import Device
from binalloc.emulator.host.engine import engine as find_engine
from binalloc.emulator.host.resources import Resources
from binalloc.emulator.host.run import QUANTUM, drive
from binalloc.emulator.host.staging import check_registers
from binalloc.emulator.schedulers.table import DEFAULT as DEFAULT_SCHEDULER
from binalloc.emulator.schedulers.table import policy_number
from binalloc.emulator.state import layout as L
from binalloc.errors import KernelFault, LimitHit
from binalloc.isa.instruction import Module
from binalloc.isa.kinds import Access
from binalloc.isa.loom.view import view
from binalloc.isa.text.disassembler import format_instr
from binalloc.launch.file import variable_name
from binalloc.launch.types import Launch
from binalloc.models.machines.model import Machine


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
    module: Module, kernel: str, launch: Launch, machine: Machine, buffer: str, offset: int, size: int, engine: str,
    scheduler: str = DEFAULT_SCHEDULER,
) -> Store | None:  # fmt: skip
    """The first store to bytes offset to offset+size-1 of `buffer` (for a variable, its `variable_name`); where a load
    comes before it, the first store that changes them. None where there is none."""
    watched = _Watched(module, kernel, launch, machine, buffer, offset, size, engine, policy_number(scheduler))
    stopped, store = watched.stopped(watched.device())
    if store is not None or not stopped:
        return store
    return watched.first_change()


@dataclass(frozen=True)
class _Watched:
    """An element of a buffer in runs of one launch."""

    module: Module
    kernel: str
    launch: Launch
    machine: Machine
    buffer: str
    offset: int
    size: int
    engine: str
    policy: int

    def device(self) -> Device:
        """The launch, not yet begun."""
        fn = self.module.function(self.kernel)
        functions = self.module.reached(fn)
        need = Resources.of(fn, self.launch, check_registers(functions, fn, self.module.path))
        resident = self.machine.occupancy(need.use).blocks_per_sm
        resident = min(resident, math.prod(self.launch.grid))
        buffers, engine = self.launch.make_buffers(), find_engine(self.engine)
        device = Device(engine, self.module, fn, self.launch, self.machine, need, resident, 1, buffers)
        device.put("hazards", 1)
        device.put("policy", self.policy)
        return device

    def stopped(self, device: Device) -> tuple[bool, Store | None]:
        """Run on to the first access to the element: whether there was one, and which store it was."""
        spans = []
        for start, end in self._spans(device):
            spans += [(start, start + self.offset), (start + self.offset + self.size, end)]
        spans += [(start, end) for name, start, end in device.places() if name not in self._names]
        spans = [s for s in spans if s[0] < s[1]]
        if len(spans) > L.MAX_BUFFERS:
            return False, None
        device.bound(spans)
        try:
            drive(device, None)
        except KernelFault:
            return True, _stopped(device)
        except LimitHit:
            return False, None
        return False, None

    def first_change(self) -> Store | None:
        """Look at the element after every so many cycles with events, then at those in which it changed one by one."""
        device, coarse, most = self.device(), 0, QUANTUM[self.engine]
        before, status = self._bytes(device), 0
        while status == 0 and self._bytes(device) == before:
            status = device.step(most, L.CLOCK_END)
            coarse += 1
        if self._bytes(device) == before:
            return None
        steps = (coarse - 1) * most
        device = self._run(steps)
        while self._bytes(device) == before:
            device.step(1, L.CLOCK_END)
            steps += 1
        return self.stopped(self._run(steps - 1))[1]

    def _run(self, steps: int) -> Device:
        """The launch after so many cycles with events."""
        device = self.device()
        for at in range(0, steps, QUANTUM[self.engine]):
            device.step(min(QUANTUM[self.engine], steps - at), L.CLOCK_END)
        return device

    @property
    def _names(self) -> tuple[str, str]:
        return self.buffer, variable_name(self.buffer)  # a variable may be one that the launch names

    def _spans(self, device: Device) -> list[tuple[int, int]]:
        return [(start, end) for name, start, end in device.places() if name in self._names]

    def _bytes(self, device: Device) -> bytes:
        raw = device.memories.global_.view("u1")
        starts = [start - device.base + self.offset for start, _ in self._spans(device)]
        return b"".join(raw[at : at + self.size].tobytes() for at in starts)


def _stopped(device: Device) -> Store | None:
    """Where the run stopped, if it was a store."""
    code, sm, warp, pc, lane = (
        int(device.engine.get(device.g, 0, n)) for n in ("fault", "fault_sm", "fault_warp", "fault_pc", "fault_lane")
    )
    place = device.program.place(pc)
    if code != L.Fault.GLOBAL or place is None:
        return None
    fn, index = place
    memory = view(fn.instrs[index]).memory
    if memory is None or memory.access == Access.LOAD:
        return None
    slot = device.engine.get(device.sms, sm, "block_of")[warp]
    block = int(device.engine.get(device.sms, sm, "block_id")[slot])
    in_block = int(device.engine.get(device.sms, sm, "in_block")[warp])
    text = format_instr(fn.instrs[index], fn, index, device.module)
    return Store(fn.name, index, text, block, in_block, lane)

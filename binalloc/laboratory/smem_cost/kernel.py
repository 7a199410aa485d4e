"""The smem-cost paper's kernel: shared loads of congestion k between two reads of the clock.

Okamoto, Ito, Nakano, Bordim, "Thorough Evaluation of GPU Shared Memory Load and Store Instructions": one block, a
barrier, a read of the clock, l loads of 64 bits per warp, a read of the clock (their figure 2).

Where the paper leaves it open: a load is as wide as a bank of the machine; lane t takes row t mod k of bank t div k, so
that bank 0 has congestion k and none has more; the values loaded are dropped (RZ), which leaves registers out of it; a
read of the clock holds its warp until the value is there, which makes two of them as far apart as the machine file
says; the second one waits until all loads have come. A warp stores what it read at once, by the port of the loads.

Needs the scheduling pass between `kernel` and `timed`, which is none of the emulator's rooms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import run_launch
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.memories import Array
from binalloc.isa.instruction import Control, Module
from binalloc.isa.interface.places import LANES
from binalloc.isa.sets.files import assemble
from binalloc.isa.timing import LONGEST_STALL
from binalloc.launch.types import Argument, ArgumentKind, Launch
from binalloc.models.machines.model import Machine

MOST = LANES
"""Largest w, l and k: those of the paper, as many as there are lanes."""
_NAME = "smem_cost"
_CLOCK, _LOADS = 5, 4  # scoreboards of the part that is timed
_BEFORE = """
.kernel smem_cost
.param place 8
.param start 8
.param end 8
.shared words {bytes} {size}
    S2R R0, SR_TID.X
    S2R R1, SR_LANEID
    MOV R2, c[0][place]
    MOV R3, c[0][place+4]
    IMAD.WIDE R2, R1, 4, R2
    LDG R4, [R2]
    MOV R5, R4
    BAR.SYNC 0
"""
_AFTER = """
    MOV R2, c[0][start]
    MOV R3, c[0][start+4]
    IMAD.WIDE R2, R0, 4, R2
    STG [R2], R6
    MOV R2, c[0][end]
    MOV R3, c[0][end+4]
    IMAD.WIDE R2, R0, 4, R2
    STG [R2], R7
    EXIT
.end
"""


class BankTimes:
    """An observer of `run` records when the shared accesses of SM 0 went through the banks."""

    def __init__(self) -> None:
        #: (cycle of issue, passes) of the shared accesses; several of one cycle are one here
        self.accesses: list[tuple[int, int]] = []
        self.arrivals: list[int] = []  #: cycles in which warps came to a barrier, one for each
        self._passes = 0

    def __call__(self, device: LaunchedDevice, cycle: int) -> None:
        """Record what the cycle just done added to the counters."""
        stat = device.engine.view(device.sms, 0, "stat")
        passes = int(stat[Stat.SHARED_PASSES])
        if passes > self._passes:
            self.accesses.append((cycle, passes - self._passes))
            self._passes = passes
        self.arrivals += [cycle] * (int(stat[Stat.BARRIERS]) - len(self.arrivals))

    def taken(self, first: int, last: int) -> int:
        """Return the cycles from `first` to before `last` in which the banks made a pass."""
        total = 0
        until = first
        for cycle, passes in self.accesses:
            until, before = max(until, min(cycle + passes, last)), max(until, cycle)
            total += max(until - before, 0)
        return total


@dataclass(frozen=True)
class ClockReads:
    """A run's reads of the clock, over its warps, and when the banks worked."""

    start: int
    last_start: int
    end: int
    times: BankTimes


def kernel(machine: Machine, loads: int) -> Module:
    """The kernel with `loads` loads, which is yet to be scheduled."""
    shared = machine.shared
    load = "LDS.64 RZ, [R5]" if shared.bank_bytes > 4 else "LDS RZ, [R5]"
    timed_part = ["S2R R6, SR_CLOCKLO", *[load] * loads, "S2R R7, SR_CLOCKLO"]
    size = MOST * shared.banks * shared.bank_bytes
    return assemble(_BEFORE.format(bytes=size, size=shared.bank_bytes) + "\n".join(timed_part) + _AFTER)


def timed(module: Module, loads: int) -> Module:
    """The scheduled kernel with the control codes of the experiment between barrier and stores: nothing there waits but
    for the first read of the clock and, in the end, for the loads."""
    (fn,) = module.functions
    first = _BEFORE.count("\n    ")
    last = first + loads + 1
    instrs = []
    for n, instr in enumerate(fn.instrs):
        code = instr.ctrl
        if n < first:
            code = code._replace(stall=LONGEST_STALL)
        elif n == first:
            code = Control(1, 1, wbar=_CLOCK)
        elif n < last:
            code = Control(1, 1, wbar=_LOADS, wait=code.wait | (1 << _CLOCK if n == first + 1 else 0))
        elif n == last:
            code = Control(1, 1, wbar=_CLOCK, wait=1 << _LOADS | 1 << _CLOCK)
        else:
            code = code._replace(wait=code.wait | 1 << _CLOCK)
        instrs.append(instr.replace(ctrl=code))
    return replace(module, functions=[replace(fn, instrs=instrs)])


def places(machine: Machine, k: int) -> Array:
    """Each lane's address in shared memory: row t mod k of bank t div k."""
    shared = machine.shared
    lanes = np.arange(LANES, dtype=np.uint32)
    return ((lanes % k * shared.banks + lanes // k) * shared.bank_bytes).astype(np.uint32)


def measure(module: Module, warps: int, k: int, options: RunOptions) -> ClockReads:
    """Run the kernel by one block of so many warps. Raises as `run_launch` does."""
    threads = warps * LANES
    buffers = {"place": places(options.machine, k)}
    buffers |= {name: np.zeros(threads, np.uint32) for name in ("start", "end")}
    arguments = tuple(Argument(name, ArgumentKind.BUFFER, "u32", array.shape) for name, array in buffers.items())
    launch = Launch(_NAME, (1, 1, 1), (threads, 1, 1), 0, arguments)
    times = BankTimes()
    found = run_launch(module, _NAME, launch, replace(options, observer=times), buffers=buffers).buffers
    return ClockReads(int(found["start"].min()), int(found["start"].max()), int(found["end"].max()), times)

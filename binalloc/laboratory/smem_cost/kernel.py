"""The smem-cost paper's kernel makes shared loads of congestion k between two reads of the clock.

Source: Okamoto, Ito, Nakano, Bordim, "Thorough Evaluation of GPU Shared Memory Load and Store Instructions", figure 2.
One block comes to a barrier, reads the clock, makes l loads of 64 bits per warp, and reads the clock again.

The paper leaves some things open, and here they are so:

- A load is as wide as a bank of the machine.
- Lane t takes row t mod k of bank t div k, so that bank 0 has congestion k and no bank has more.
- The loaded values are dropped (RZ), so registers play no part.
- A read of the clock holds its warp until the value is there, so two reads are as far apart as the machine file says.
- The second read waits until all loads have their values.
- A warp stores its two clocks at once, and stores use the loads' port.

The caller runs the scheduling pass between `kernel` and `timed`.
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
"""Upper limit of w, l and k: the paper's, as many as a warp has lanes."""
_NAME = "smem_cost"
_CLOCK, _LOADS = 5, 4  # scoreboards of the timed part: the highest ones, because scheduling takes the lowest first
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
    """A BankTimes is an observer of a run. It records the cycles in which the banks of SM 0 serve accesses."""

    def __init__(self) -> None:
        self.accesses: list[tuple[int, int]] = []  #: (cycle of issue, passes); all accesses of a cycle are one pair
        self.arrivals: list[int] = []  #: for each warp the cycle in which it came to a barrier, ascending
        self._passes = 0

    def __call__(self, device: LaunchedDevice, cycle: int) -> None:
        """Record the growth of the counters in the cycle that has just ended."""
        stat = device.engine.view(device.sms, 0, "stat")
        passes = int(stat[Stat.SHARED_PASSES])
        if passes > self._passes:
            self.accesses.append((cycle, passes - self._passes))
            self._passes = passes
        self.arrivals += [cycle] * (int(stat[Stat.BARRIERS]) - len(self.arrivals))

    def taken(self, first: int, last: int) -> int:
        """Return in how many of the cycles from `first` to `last`, without the latter, the banks made a pass."""
        total = 0
        until = first
        for cycle, passes in self.accesses:
            until, before = max(until, min(cycle + passes, last)), max(until, cycle)
            total += max(until - before, 0)
        return total


@dataclass(frozen=True)
class ClockReads:
    """A ClockReads has a run's reads of the clock, in cycles."""

    start: int  #: earliest first read of a warp
    last_start: int  #: latest first read of a warp
    end: int  #: latest second read of a warp
    times: BankTimes  #: cycles in which the banks worked


def kernel(machine: Machine, loads: int) -> Module:
    """Return the kernel with `loads` loads per warp. It has no control codes yet."""
    shared = machine.shared
    load = "LDS.64 RZ, [R5]" if shared.bank_bytes > 4 else "LDS RZ, [R5]"
    timed_part = ["S2R R6, SR_CLOCKLO", *[load] * loads, "S2R R7, SR_CLOCKLO"]
    size = MOST * shared.banks * shared.bank_bytes
    return assemble(_BEFORE.format(bytes=size, size=shared.bank_bytes) + "\n".join(timed_part) + _AFTER)


def timed(module: Module, loads: int) -> Module:
    """Return the scheduled kernel with the experiment's control codes between barrier and stores.

    The first load waits for the first read of the clock, and the second read waits for all loads. Nothing else there
    waits. loads: as given to `kernel`.
    """
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
    """Return each lane's address in shared memory, in bytes: row t mod k of bank t div k."""
    shared = machine.shared
    lanes = np.arange(LANES, dtype=np.uint32)
    return ((lanes % k * shared.banks + lanes // k) * shared.bank_bytes).astype(np.uint32)


def measure(module: Module, warps: int, k: int, options: RunOptions) -> ClockReads:
    """Run the kernel by one block of `warps` warps, with congestion k. Raises as `run_launch` does."""
    threads = warps * LANES
    buffers = {"place": places(options.machine, k)}
    buffers |= {name: np.zeros(threads, np.uint32) for name in ("start", "end")}
    arguments = tuple(Argument(name, ArgumentKind.BUFFER, "u32", array.shape) for name, array in buffers.items())
    launch = Launch(_NAME, (1, 1, 1), (threads, 1, 1), 0, arguments)
    times = BankTimes()
    found = run_launch(module, _NAME, launch, replace(options, observer=times), buffers=buffers).buffers
    return ClockReads(int(found["start"].min()), int(found["start"].max()), int(found["end"].max()), times)

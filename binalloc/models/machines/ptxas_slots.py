"""This module computes how many slots the vendor's compiler gives a thread when it spills to shared memory.

The formula is fitted to ptxas 13.0 on 32 spilling kernels of compute capability 7.5 to 10.0: slots = floor((min(48K, S
/ (T / B)) - R) / (4 B)). B is threads per block, T threads per SM, S the shared memory of an SM and R the part of it
that ptxas leaves free. So ptxas sizes for full thread occupancy. The kernel's own shared bytes count as R does: 40 KB
of them leave nothing, as measured. Kernels with dynamic shared memory are not accepted. Without launch bounds it
assumes 1,024 threads.
"""

from __future__ import annotations

from fractions import Fraction

from binalloc.isa.instruction import FunctionInfo
from binalloc.isa.interface.places import WORD
from binalloc.models.machines.model import Machine

KILOBYTE = 1024
MOST = 48 * KILOBYTE
"""The 48K of the formula: the shared memory that a block has without opting in."""
UNBOUNDED = 1024
"""Threads per block that ptxas assumes without launch bounds."""
_MEASURED = {"7.5": (64, 0), "8.0": (164, 0), "9.0": (164, 1), "10.0": (228, 1)}
"""S and R in kilobytes, by compute capability, as fitted to ptxas."""


def ptxas_slots(machine: Machine, kernel: FunctionInfo, dynamic_shared: int = 0) -> int:
    """Return the slots per thread for a kernel on a machine. dynamic_shared: bytes per block that a launch adds.

    For a capability that was not measured, S is the machine's, and R is 0, as on the oldest two measured.
    """
    if dynamic_shared:
        return 0
    x, y, z = (size or 1 for size in kernel.block)
    threads = x * y * z if any(kernel.block) else kernel.max_threads or UNBOUNDED
    shared, reserved = _MEASURED.get(machine.cc, (machine.sm.shared_per_sm / KILOBYTE, 0))
    share = min(Fraction(MOST), Fraction(shared) * KILOBYTE * threads / machine.sm.threads_per_sm)
    return max(0, int((share - reserved * KILOBYTE - kernel.shared_bytes) / (WORD * threads)))

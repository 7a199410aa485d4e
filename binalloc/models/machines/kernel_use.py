"""This module describes what a kernel takes of an SM, and where its slots lie in a block's shared memory.

Needs nothing of a machine. Slots are rows of `SLOT_ROW` bytes per warp behind the user's shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from binalloc.isa.instruction import FunctionInfo
from binalloc.isa.interface.places import LANES, SLOT_ROW


class CacheConfig(StrEnum):
    """A kernel may prefer one of these splits of shared memory and L1. They are in the order of CUDA's numbers."""

    NONE = "none"
    SHARED = "shared"
    L1 = "l1"
    EQUAL = "equal"


@dataclass(frozen=True, slots=True)
class KernelUse:
    """A kernel uses these resources, from which its occupancy is counted. The numbers are checked where they are used
    (`occupancy`)."""

    registers: int  #: registers per thread
    shared_bytes: int  #: bytes per block of the user's code, static and dynamic
    threads: int  #: threads per block
    slots: int = 0  #: slots per thread
    cache_config: str = CacheConfig.NONE  #: preference for the split of shared memory and L1
    carveout: int | None = None  #: wanted share of shared memory in per cent, in place of a preference

    @staticmethod
    def of(info: FunctionInfo, threads: int, dynamic_shared: int = 0) -> KernelUse:
        """Return the use that the kernel's record states, in blocks of `threads`."""
        return KernelUse(info.registers, info.shared_bytes + dynamic_shared, threads, info.slots)

    @property
    def warps(self) -> int:
        """Return the warps per block."""
        return -(-self.threads // LANES)

    @property
    def slot_region(self) -> int:
        """Return the byte offset of the slots in a block's shared memory: behind the user's, on a row border."""
        return -(-self.shared_bytes // SLOT_ROW) * SLOT_ROW

    @property
    def slot_row(self) -> int:
        """Return the shared bytes per block that one slot of every thread takes."""
        return SLOT_ROW * self.warps

    @property
    def block_shared(self) -> int:
        """Return the shared bytes per block, the slots included."""
        return self.slot_region + self.slot_row * self.slots if self.slots else self.shared_bytes

    def given(self, registers: int, slots: int = 0) -> KernelUse:
        """Return the same kernel with other registers and slots per thread."""
        return replace(self, registers=registers, slots=slots)

"""What a kernel takes of an SM, and where its slots lie in a block's shared memory.

Needs nothing of a machine. Slots are rows of `SLOT_ROW` bytes per warp behind the user's shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from binalloc.isa.instruction import FunctionInfo
from binalloc.isa.interface.places import LANES, SLOT_ROW


class CacheConfig(StrEnum):
    """A kernel's preference for the split of shared memory and L1, in the order of CUDA's numbers."""

    NONE = "none"
    SHARED = "shared"
    L1 = "l1"
    EQUAL = "equal"


@dataclass(frozen=True, slots=True)
class KernelUse:
    """What occupancy is counted from.

    registers: per thread. shared_bytes: of the user's code, static and dynamic, per block. threads: per block. slots:
    per thread. cache_config, or instead of it carveout: the share of shared memory wanted, in per cent. The numbers are
    checked where they are used (`occupancy`).
    """

    registers: int
    shared_bytes: int
    threads: int
    slots: int = 0
    cache_config: str = CacheConfig.NONE
    carveout: int | None = None

    @staticmethod
    def of(info: FunctionInfo, threads: int, dynamic_shared: int = 0) -> KernelUse:
        """As the kernel's record says, in blocks of `threads`."""
        return KernelUse(info.registers, info.shared_bytes + dynamic_shared, threads, info.slots)

    @property
    def warps(self) -> int:
        """Warps per block."""
        return -(-self.threads // LANES)

    @property
    def slot_region(self) -> int:
        """Byte offset of the slots in a block's shared memory: behind the user's, on a row border."""
        return -(-self.shared_bytes // SLOT_ROW) * SLOT_ROW

    @property
    def slot_row(self) -> int:
        """Shared bytes per block that one slot of every thread takes."""
        return SLOT_ROW * self.warps

    @property
    def block_shared(self) -> int:
        """Shared bytes per block, the slots included."""
        return self.slot_region + self.slot_row * self.slots if self.slots else self.shared_bytes

    def given(self, registers: int, slots: int = 0) -> KernelUse:
        """The same kernel with other registers and slots per thread."""
        return replace(self, registers=registers, slots=slots)

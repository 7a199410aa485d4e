"""This module has the limits of NVIDIA's occupancy rules for each compute capability, as data with sources.

Needs nothing. Leaves `LIMITS` (one row per compute capability, in ascending order) and `SHARED_STEPS` (the sizes that
the shared memory of an SM can be set to, from capability 7.0 on). The rules that read them are in
`binalloc.models.machines.occupancy`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from binalloc.isa.interface.places import LANES

KIB = 1024
REGISTER_FIELD_LIMIT = 255
"""Registers that a thread can name in an 8-bit operand field (255 itself is the zero register)."""

# this and the next five: sources that rows name
_HEADER = "NVIDIA cuda_occupancy.h, CUDA 13.0 (granularities, blocks per SM, sub-partitions)"
_CCCL = "NVIDIA/cccl@004ad19 libcudacxx cuda/__device/arch_traits.h"
_XMARTLABS = "xmartlabs/cuda-calculator@10380ec"
_DEVICE_HS = "tmcdonell/cuda@3bd40ff Analysis/Device.chs (spreadsheet, Nsight Compute GPU data)"
_PDPS = "thinkrain/PDPS_GPU@1c2918f cuda_occupancy.cu"
_GUIDE_SHARED = "CUDA Programming Guide 13.4 Table 31 (shared memory)"


class Granularity(StrEnum):
    """An SM allocates registers to whole blocks or to single warps."""

    BLOCK = "block"  #: to blocks, on capability 1.x
    WARP = "warp"  #: to warps


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one SM are its resources, and the units in which it allocates them. Registers are 32-bit."""

    cc: str  #: compute capability, as "3.0"
    threads_per_sm: int  #: most threads on an SM
    warps_per_sm: int  #: most warps on an SM
    blocks_per_sm: int  #: most blocks on an SM
    threads_per_block: int  #: most threads in a block
    registers_per_sm: int  #: registers of an SM
    register_unit: int  #: registers are allocated in multiples of this
    register_granularity: Granularity  #: whether registers are allocated per block (1.x) or per warp
    registers_per_thread: int  #: most registers of a thread
    registers_per_block: int  #: most registers of a block
    shared_per_sm: int  #: bytes of shared memory of an SM
    shared_per_block_default: int  #: bytes that a block may ask for without opting in
    shared_per_block: int  #: most bytes that a block may ask for, the opt-in included
    shared_unit: int  #: bytes are allocated in multiples of this
    warp_unit: int  #: warps are allocated in multiples of this
    sub_partitions: int  #: parts in which the register file is divided
    shared_reserved: int  #: bytes that the system takes per block on top of the request
    barriers_per_sm: int | None  #: limit on blocks with one barrier each, where it is known to bind; else None
    source: str  #: where the numbers come from
    note: str = ""  #: what is peculiar about them

    @property
    def major(self) -> int:
        """Return the major number of the compute capability."""
        return int(self.cc.split(".")[0])


def _row(
    cc: str,
    sm: tuple[int, int, int],
    registers: tuple[int, int, int, int],
    shared: tuple[int, int, int, int],
    units: tuple[int, int, int],
    source: str,
    note: str = "",
) -> Limits:
    """Return the limits of one capability.

    sm: threads per SM, blocks per SM, threads per block. registers: registers per SM, unit, per thread, per block.
    shared: shared bytes per SM, default per block, opt-in per block, unit. units: warp unit, sub-partitions, reserved
    bytes.
    """
    return Limits(
        cc=cc,
        threads_per_sm=sm[0],
        warps_per_sm=sm[0] // LANES,
        blocks_per_sm=sm[1],
        threads_per_block=sm[2],
        registers_per_sm=registers[0],
        register_unit=registers[1],
        register_granularity=Granularity.BLOCK if cc.startswith("1.") else Granularity.WARP,
        registers_per_thread=registers[2],
        registers_per_block=registers[3],
        shared_per_sm=shared[0],
        shared_per_block_default=shared[1],
        shared_per_block=shared[2],
        shared_unit=shared[3],
        warp_unit=units[0],
        sub_partitions=units[1],
        shared_reserved=units[2],
        barriers_per_sm=sm[1] if cc == "12.0" else None,
        source=source,
        note=note,
    )


# registers per SM, unit, per thread, per block, as most capabilities from 3.5 on have them
_R64K = (65536, 256, 255, 65536)
_OLD = f"{_HEADER}; {_XMARTLABS}; {_DEVICE_HS}"
_PASCAL = f"{_CCCL}; {_HEADER}; {_XMARTLABS}; {_DEVICE_HS}"
_RECENT = f"{_CCCL}; {_HEADER}; {_DEVICE_HS}; {_GUIDE_SHARED}"
_48K = 49152  # the most shared memory of a block without opting in, in bytes

# one per capability; a row's last two fields are its source and a note
_ROWS = (
    _row(
        "1.3", (1024, 8, 512), (16384, 512, 124, 16384), (16384, 16384, 16384, 512), (2, 1, 0),
        f"cuda_occupancy.h of the CUDA 7.0 era; {_XMARTLABS}; {_DEVICE_HS}; {_PDPS}",
        "the programming guide lists 128 registers per thread, the calculator uses 124: 124 is used",
    ),
    _row(
        "2.0", (1536, 8, 1024), (32768, 64, 63, 32768), (_48K, _48K, _48K, 128), (2, 2, 0),
        f"CUDA 8.0 cuda_occupancy.h (SciNim/nimcuda include/cuda8_0); {_XMARTLABS}; {_DEVICE_HS}; {_PDPS}",
        "register unit 128 for 21, 22, 29, 30, 37, 38, 45, 46 registers; 16 KB shared when L1 is preferred",
    ),
    _row(
        "3.0", (2048, 16, 1024), (65536, 256, 63, 65536), (_48K, _48K, _48K, 256), (4, 4, 0), _OLD,
        "NVIDIA's header lets 255 registers pass; the hardware's 63 is enforced here",
    ),
    _row("3.5", (2048, 16, 1024), _R64K, (_48K, _48K, _48K, 256), (4, 4, 0), _OLD),
    _row("3.7", (2048, 16, 1024), (131072, 256, 255, 65536), (114688, _48K, _48K, 256), (4, 4, 0), _OLD),
    _row("5.0", (2048, 32, 1024), _R64K, (65536, _48K, _48K, 256), (4, 4, 0), _OLD),
    _row(
        "5.2", (2048, 32, 1024), _R64K, (98304, _48K, _48K, 256), (4, 4, 0),
        f"{_HEADER}; {_XMARTLABS}; registers per block from deviceQuery (gpgpu-sim_distribution issue 169)",
        "the spreadsheet lists 32768 registers per block (partitioned global caching on): 65536 is used",
    ),
    _row(
        "6.0", (2048, 32, 1024), _R64K, (65536, _48K, _48K, 256), (2, 2, 0), _PASCAL,
        "the header also applies the launch check of 6.1 (four sub-partitions)",
    ),
    _row("6.1", (2048, 32, 1024), _R64K, (98304, _48K, _48K, 256), (4, 4, 0), _PASCAL),
    _row("7.0", (2048, 32, 1024), _R64K, (98304, _48K, 98304, 256), (4, 4, 0), _PASCAL),
    _row("7.5", (1024, 16, 1024), _R64K, (65536, _48K, 65536, 256), (4, 4, 0), _PASCAL),
    _row("8.0", (2048, 32, 1024), _R64K, (167936, _48K, 166912, 128), (4, 4, 1024), _PASCAL),
    _row("8.6", (1536, 16, 1024), _R64K, (102400, _48K, 101376, 128), (4, 4, 1024), _PASCAL),
    _row("8.9", (1536, 24, 1024), _R64K, (102400, _48K, 101376, 128), (4, 4, 1024), _RECENT),
    _row("9.0", (2048, 32, 1024), _R64K, (233472, _48K, 232448, 128), (4, 4, 1024), _RECENT),
    _row("10.0", (2048, 32, 1024), _R64K, (233472, _48K, 232448, 128), (4, 4, 1024), _RECENT),
    _row(
        "12.0", (1536, 24, 1024), _R64K, (102400, _48K, 101376, 128), (4, 4, 1024), _RECENT,
        "barriers and blocks bind together for a kernel with one barrier",
    ),
)

LIMITS: dict[str, Limits] = {row.cc: row for row in _ROWS}
"""Limits of each compute capability ("3.0")."""

_TO_100 = (0, 8, 16, 32, 64, 100)
# `SHARED_STEPS` in kilobytes
_STEPS_KIB: dict[str, tuple[int, ...]] = {
    "7.0": (0, 8, 16, 32, 64, 96),
    "7.5": (32, 64),
    "8.0": (*_TO_100, 132, 164),
    "8.6": _TO_100,
    "8.9": _TO_100,
    "9.0": (*_TO_100, 132, 164, 196, 228),
    "10.0": (*_TO_100, 132, 164, 196, 228),
    "12.0": _TO_100,
}

SHARED_STEPS: dict[str, tuple[int, ...]] = {cc: tuple(k * KIB for k in steps) for cc, steps in _STEPS_KIB.items()}
"""Bytes that the shared memory of an SM can be set to, ascending, from capability 7.0 on."""

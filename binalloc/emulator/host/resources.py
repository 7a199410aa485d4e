"""What a block of a launch needs, and how many blocks fit on an SM."""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.emulator.state import layout as L
from binalloc.errors import Refused, UsageError
from binalloc.isa.instruction import Function
from binalloc.launch.types import Launch
from binalloc.models.machines.model import Machine


@dataclass(frozen=True)
class Resources:
    """What a block of the launch needs: threads, warps, registers per thread, bytes of shared and local memory."""

    threads: int
    warps: int
    registers: int
    user_shared: int
    slot_base: int
    shared: int
    local_user: int
    local_total: int

    @staticmethod
    def of(kernel: Function, launch: Launch, registers: int) -> Resources:
        """From the kernel's record and the launch."""
        info = kernel.info
        threads = launch.block[0] * launch.block[1] * launch.block[2]
        warps = -(-threads // L.LANES)
        user = info.shared_bytes + launch.dynamic_shared
        base = -(-user // 128) * 128
        shared = base + info.slot_bytes * warps if info.slot_bytes else user
        local_user = -(-info.local_bytes // 4) * 4
        return Resources(
            threads, warps, registers, user, base, shared, local_user, local_user + -(-info.spill_local // 4) * 4
        )


def resident_blocks(machine: Machine, need: Resources, wanted: int | None) -> int:
    """Resident blocks per SM; Refused where not one fits."""
    answer = machine.occupancy(need.registers, need.shared, need.threads)
    if answer.blocks_per_sm < 1:
        raise Refused(
            f"no block fits on an SM of {machine.name}",
            found=f"{need.threads} threads, {need.registers} registers each, {need.shared} bytes of shared memory",
            expected="resources of one block within one SM; limited by " + ", ".join(answer.limiters),
            remedy="Use fewer registers, less shared memory or smaller blocks.",
        )
    if wanted is None:
        return answer.blocks_per_sm
    if not 1 <= wanted <= answer.blocks_per_sm:
        raise UsageError(
            "blocks_per_sm out of range", found=wanted, expected=f"1 to {answer.blocks_per_sm}, what occupancy allows"
        )
    return wanted

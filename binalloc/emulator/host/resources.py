"""What a block of a launch needs, and how many blocks fit on an SM."""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.errors import Refused, UsageError
from binalloc.isa.instruction import Function
from binalloc.launch.types import Launch
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.model import Machine


@dataclass(frozen=True)
class Resources:
    """What a block of the launch needs: what occupancy counts, and bytes of local memory per thread."""

    use: KernelUse
    local_user: int
    local_total: int

    @staticmethod
    def of(kernel: Function, launch: Launch, registers: int) -> Resources:
        """From the kernel's record and the launch."""
        info = kernel.info
        use = replace(KernelUse.of(info, launch.threads_per_block, launch.dynamic_shared), registers=registers)
        local_user = -(-info.local_bytes // 4) * 4
        return Resources(use, local_user, local_user + -(-info.spill_local // 4) * 4)


def resident_blocks(machine: Machine, need: Resources, wanted: int | None) -> int:
    """Resident blocks per SM; Refused where not one fits."""
    use = need.use
    answer = machine.occupancy(use)
    if answer.blocks_per_sm < 1:
        raise Refused(
            f"no block fits on an SM of {machine.name}",
            found=f"{use.threads} threads, {use.registers} registers each, {use.block_shared} bytes of shared memory",
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

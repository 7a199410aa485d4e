"""The resources that a block of a launch needs determine how many blocks fit on an SM."""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.errors import Hint, Refused, UsageError
from binalloc.isa.instruction import Function, FunctionInfo
from binalloc.launch.types import Launch
from binalloc.models.machines.author_bounds import block_size
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.model import Machine
from binalloc.models.machines.occupancy import Occupancy, registers_for_blocks
from binalloc.printable import count


@dataclass(frozen=True)
class Resources:
    """The resources of a launch are what one of its blocks needs."""

    use: KernelUse  #: all that counts for occupancy
    local_user: int  #: bytes of local memory per thread without spilled values
    local_total: int  #: bytes of local memory per thread

    @staticmethod
    def of(kernel: Function, launch: Launch, registers: int) -> Resources:
        """Compute the resources from the kernel's record and the launch."""
        info = kernel.info
        use = replace(KernelUse.of(info, launch.threads_per_block, launch.dynamic_shared), registers=registers)
        local_user = -(-info.local_bytes // 4) * 4
        return Resources(use, local_user, local_user + -(-info.spill_local // 4) * 4)


def resident_blocks(machine: Machine, need: Resources, launch: Launch, wanted: int | None) -> int:
    """Return the resident blocks per SM. Raises Refused where not one fits, UsageError where `wanted` is out of
    range."""
    answer = machine.occupancy(need.use)
    if answer.blocks_per_sm < 1:
        raise no_room(machine, need.use, answer, launch)
    if wanted is None:
        return answer.blocks_per_sm
    if not 1 <= wanted <= answer.blocks_per_sm:
        raise UsageError(
            "blocks_per_sm out of range", found=wanted, expected=f"1 to {answer.blocks_per_sm}, what occupancy allows"
        )
    return wanted


def require_together(machine: Machine, launch: Launch, resident: int, sms: int) -> None:
    """Raise Refused where the blocks of a cooperative launch are more than `sms` SMs hold at once, `resident` each."""
    if not launch.cooperative or launch.blocks <= resident * sms:
        return
    enough = -(-launch.blocks // resident)
    short = enough > machine.chip.sms
    remedy = "Launch fewer blocks." if short else Hint("Run it on more SMs ({sms}), or launch fewer blocks.")
    there = f"; {machine.name} has {count(machine.chip.sms, 'SM')}" if short else ""
    raise Refused(
        "the blocks of a cooperative launch do not run at once", file=launch.path or None, place="grid",
        found=count(launch.blocks, "block"),
        expected=f"at most {resident * sms:,}, {resident:,} on each of {count(sms, 'SM')}, "
        f"or {count(enough, 'SM')}{there}",
        remedy=remedy,
    )  # fmt: skip


def no_room(
    machine: Machine, use: KernelUse, answer: Occupancy, launch: Launch | None, info: FunctionInfo | None = None
) -> Refused:
    """Return the refusal of a block that does not fit on an SM. It names the launch's keys that ask for what is short.
    Without a launch it names the directive that sets the block's size; info: the kernel's record, which has it."""
    size, threads = block_size(info) if info is not None and launch is None else ("", 0)
    said = f" (as {size} has it)" if threads == use.threads else ""
    keys: set[str] = set()
    if launch is not None:
        asks = {"warps": "block", "registers": "block", "shared": "dynamic_shared" if launch.dynamic_shared else ""}
        keys = {asks.get(name, "") for name in answer.limiters} - {""}
    most = machine.sm.registers_per_thread
    thread = f" (at most {most} a thread)" if use.registers > most else ""
    return Refused(
        f"no block fits on an SM of {machine.name}",
        file=launch.path if launch is not None and keys and launch.path else None,
        place=", ".join(sorted(keys)) or None,
        found=f"{count(use.threads, 'thread')}{said}, {count(use.registers, 'register')} each, "
        f"{use.block_shared:,} bytes of shared memory",
        expected="resources of one block within one SM; limited by " + ", ".join(answer.limiters) + thread,
        remedy=_makes_room(machine, use, answer),
    )


def _makes_room(machine: Machine, use: KernelUse, answer: Occupancy) -> str:
    """Return the remedy where no block fits."""
    enough = registers_for_blocks(machine, use.given(0, use.slots), 1) if answer.limiters == ("registers",) else None
    if enough:
        fewer = f"Rewrite the kernel for {count(enough, 'register')} (what does not fit is spilled)"
        return f"{fewer}, or choose another machine."
    return "Use fewer registers, less shared memory or smaller blocks, or choose another machine."

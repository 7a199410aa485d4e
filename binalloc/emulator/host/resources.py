"""The resources that a block of a launch needs determine how many blocks fit on an SM.

A kernel with BAR.ALLOC has a private part of shared memory, which a block has from its start to its end, and a public
part, which it gets as it runs. After "Shared Memory Multiplexing" (PACT 2012), section 5: blocks are dispatched while
the private parts of all, and one public part, fit on the SM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from binalloc.errors import Hint, Refused, UsageError
from binalloc.isa.instruction import Function, FunctionInfo
from binalloc.isa.interface.places import SLOT_ROW, WORD
from binalloc.isa.kinds import Flow
from binalloc.isa.table.opcodes import FORM_IMM
from binalloc.launch.types import Launch
from binalloc.models.machines.author_bounds import block_size
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.model import Machine
from binalloc.models.machines.occupancy import Occupancy, Rule, registers_for_blocks
from binalloc.printable import count

DYNAMIC, STATIC = "dynamic", "static"
MANAGEMENTS = (DYNAMIC, STATIC)
"""How the shared memory that BAR.ALLOC asks for is managed: as blocks run, or for as long as a block lives."""
SIZE_REMEDY = "Give the size of BAR.ALLOC as an immediate."


@dataclass(frozen=True)
class PublicPart:
    """The public part is the shared memory that a block gets by BAR.ALLOC and gives back by BAR.FREE."""

    size: int  #: its bytes, by the immediates of the code (the largest of them); 0 where the code does not say it
    managed: bool  #: whether regions are opened and closed; otherwise it belongs to the block as its static memory does
    base: int = 0  #: its address in the block if it is not managed
    free: bool = False  #: whether there is one for each block (a what-if run)

    @staticmethod
    def of(functions: Sequence[Function], use: KernelUse, management: str) -> PublicPart | None:
        """Return the public part of a kernel that consists of `functions`, None if there is none. use: all else that
        its blocks need. Raises Refused where only a run would show the size, and it has to be known."""
        instrs = [i for fn in functions for i in fn.instrs if i.op.control in (Flow.ALLOC, Flow.FREE)]
        if not instrs:
            return None
        size = max((i.f["imm"] for i in instrs if i.op.control == Flow.ALLOC and i.form == FORM_IMM), default=0)
        if management == DYNAMIC:
            return PublicPart(size, True)
        if size == 0 and any(i.op.control == Flow.ALLOC for i in instrs):
            raise Refused(
                "the shared memory that BAR.ALLOC asks for is not known before the launch", place=functions[0].name,
                found="a size in a register or a constant", expected=f"an immediate, for static management ({STATIC})",
                remedy=SIZE_REMEDY,
            )  # fmt: skip
        return PublicPart(size, False, -(-use.shared_bytes // SLOT_ROW) * SLOT_ROW)

    def unit(self, machine: Machine) -> int:
        """Return the bytes of which a region has a whole number: those of the machine's allocation of shared memory, or
        of a row of slots, so that the bank of an address does not depend on the region's place."""
        return max(machine.limits.shared_unit if machine.occupancy_rule.rule == Rule.NVIDIA else 0, SLOT_ROW)


@dataclass(frozen=True)
class Resources:
    """The resources of a launch are what one of its blocks needs."""

    use: KernelUse  #: all that counts for occupancy
    local_user: int  #: bytes of local memory per thread without spilled values
    local_total: int  #: bytes of local memory per thread
    public: PublicPart | None = None  #: shared memory that blocks get as they run, None where no code asks for it

    @staticmethod
    def of(
        kernel: Function, launch: Launch, registers: int, functions: Sequence[Function] = (), management: str = DYNAMIC
    ) -> Resources:
        """Compute the resources from the kernel's record and the launch.

        functions: the code that it runs. management: one of `MANAGEMENTS`. Raises as `PublicPart.of`, and UsageError
        for another management.
        """
        if management not in MANAGEMENTS:
            raise UsageError(
                "unknown management of shared memory", place=Hint("{smm}"), found=management,
                expected=" or ".join(MANAGEMENTS),
            )  # fmt: skip
        info = kernel.info
        use = replace(KernelUse.of(info, launch.threads_per_block, launch.dynamic_shared), registers=registers)
        local_user = -(-info.local_bytes // 4) * 4
        public = PublicPart.of(functions, use, management)
        if public is not None and not public.managed:
            use = replace(use, shared_bytes=public.base + public.size)
        return Resources(use, local_user, local_user + -(-info.spill_local // 4) * 4, public)


def resident_blocks(
    machine: Machine, need: Resources, launch: Launch, wanted: int | None, over: int | None = None
) -> int:
    """Return the resident blocks per SM. Raises Refused where not one fits, UsageError where `wanted` or `over` is out
    of range.

    over: most blocks beyond those of static management, where blocks get shared memory as they run; None: no limit.
    """
    if over is not None and over < 0:
        raise UsageError("blocks beyond static management", place=Hint("{over}"), found=over, expected="at least 0")
    answer = machine.occupancy(need.use)
    if answer.blocks_per_sm < 1:
        raise no_room(machine, need.use, answer, launch)
    most = answer.blocks_per_sm
    if need.public is not None and need.public.managed:
        most = min(most, _beside_public(machine, need.use, need.public, launch, over))
    if wanted is None:
        return most
    if not 1 <= wanted <= most:
        raise UsageError("blocks_per_sm out of range", found=wanted, expected=f"1 to {most}, what occupancy allows")
    return wanted


def _beside_public(machine: Machine, use: KernelUse, public: PublicPart, launch: Launch, over: int | None) -> int:
    """Return how many blocks may be resident whose private parts leave room for a public part, and which are at most
    `over` more than static management would allow. Raises Refused as `resident_blocks`."""
    if public.size == 0:
        if over is not None:
            raise Refused(
                "the number of blocks of static management is not known before the launch", place=Hint("{over}"),
                found="a BAR.ALLOC with its size in a register or a constant", remedy=SIZE_REMEDY,
            )  # fmt: skip
        return machine.limits.blocks_per_sm
    whole = replace(use, shared_bytes=-(-use.shared_bytes // SLOT_ROW) * SLOT_ROW + public.size)
    static = machine.occupancy(whole)
    unit = public.unit(machine)
    left = machine.sm.shared_per_sm - -(-public.size // unit) * unit
    private = -(-machine.occupancy(use).shared_per_block // WORD) * WORD
    beside = left // SLOT_ROW * SLOT_ROW // private if private and left >= 0 else machine.limits.blocks_per_sm
    if static.blocks_per_sm < 1 or left < 0 or beside < 1:
        raise no_room(machine, whole, static, launch)
    return beside if over is None else min(beside, static.blocks_per_sm + over)


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

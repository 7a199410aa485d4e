"""A version of a kernel at a level, in figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from binalloc.pipeline.steps.sampling import Sampled
    from binalloc.transform.allocate.spill_cost import SpillCost

OK, INFEASIBLE, REFUSED, LIMIT, FAULT = "ok", "infeasible", "refused", "limit", "fault"
STATUSES = (OK, INFEASIBLE, REFUSED, LIMIT, FAULT)
"""How tasks and rows end. infeasible: the budget cannot be kept. refused: the kernel cannot be rewritten, or does not
run on the machine. limit: of cycles, memory, or what the checker follows. fault: the emulated kernel's."""


Figure = TypeVar("Figure")


def known(figure: Figure | None) -> Figure:
    """Return a figure of a row that has it: of a version that was built, or of a run that has ended."""
    assert figure is not None
    return figure


@dataclass(frozen=True)
class Row:
    """A version of a kernel at a level, in figures: what it may take, what it takes, and what its run came to.

    Levels that a search has looked at, allocators side by side, the rows of a sweep and of the demo are all such rows.
    None stands for a figure that does not apply or is not known. A row has no code: it travels between processes.
    """

    allocator: str = ""  #: by name; "" for the input where a search has looked at it
    blocks: int | None = None  #: the level: resident blocks aimed at
    registers_allowed: int | None = None  #: per thread
    slots_allowed: int | None = None  #: per thread
    status: str = OK  #: one of `STATUSES`
    reason: str = ""  #: why there are no figures, or what is special about them

    file: str = ""
    kernel: str = ""
    machine: str = ""
    scheduler: str = ""
    size: str = ""  #: which of the launch file's sizes

    program: str | None = None  #: `original`, or the first digits of the binary's hash
    registers: int | None = None  #: per thread
    slots: int | None = None  #: per thread
    idle_slots: int | None = None  #: slots per thread that nothing uses
    local_bytes: int | None = None  #: per thread
    shared_bytes: int | None = None  #: per block
    blocks_per_sm: int | None = None  #: resident blocks
    occupancy: float | None = None  #: resident warps over the most that an SM holds
    limiters: tuple[str, ...] = ()  #: resources that bind
    instructions: int | None = None  #: static, over the call graph
    instruction_change: float | None = None  #: instructions over the original's
    dispatch_interval: float | None = None  #: static, in cycles
    copies: int | None = None  #: new ones between registers
    allocated: str = ""  #: allocator where the original cannot run as it came
    proven: bool | None = None  #: whether the checker proved it; None for an original as it came

    cost: SpillCost | None = None  #: of the spill code
    bound: float | None = None  #: no allocation of the budget costs less; None where that is not proven
    seconds: float | None = None  #: CPU time of the allocation, the kernel's analysis left out

    same_results: bool | None = None  #: whether the run left the original's results
    cycles: int | None = None  #: emulated
    cycles_range: tuple[int, int] | None = None  #: the fewest and the most, with delays
    sampled: Sampled | None = None  #: what cycles are estimated from
    original_cycles: int | None = None  #: emulated, under the same scheduler
    speedup: float | None = None  #: emulated cycles of the original over those of this version
    expected_speedup: float | None = None  #: by policy `model`'s estimate
    spill_accesses: int | None = None  #: executed, to slots and local memory, by warp
    local_accesses: int | None = None  #: executed, to local memory, the input's own too
    slot_accesses: int | None = None  #: executed
    l1_accesses: int | None = None  #: lines that L1 was asked for, textures apart
    l1_misses: int | None = None
    stalls: dict[str, float] = field(default_factory=dict)  #: share of all issue slots lost, by reason

    @property
    def gap(self) -> float | None:
        """(cost - bound) / cost; None where there is no bound."""
        if self.cost is None or self.bound is None:
            return None
        return (self.cost.cost - self.bound) / self.cost.cost if self.cost.cost else 0.0

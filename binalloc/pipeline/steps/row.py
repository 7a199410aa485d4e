"""A row has the figures of a version of a kernel at a level."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from binalloc.pipeline.steps.sampling import Sampled
    from binalloc.transform.allocate.spill_cost import SpillCost

OK, INFEASIBLE, REFUSED, LIMIT, FAULT = "ok", "infeasible", "refused", "limit", "fault"
STATUSES = (OK, INFEASIBLE, REFUSED, LIMIT, FAULT)
"""Ways in which tasks and rows end. infeasible: no allocation fits the budget. refused: the kernel cannot be rewritten,
or does not run on the machine. limit: it exceeds a limit on cycles or memory, or a limit of the checker. fault: the
emulated kernel faults."""


Figure = TypeVar("Figure")


def known(figure: Figure | None) -> Figure:
    """Return a figure of a row that has it: of a version that was built, or of a run that has ended."""
    assert figure is not None
    return figure


@dataclass(frozen=True)
class Row:
    """A row has the figures of a version of a kernel at a level: its budget, its resources, and the results of its run.

    The levels of a search, the comparison of allocators, sweeps and the demo all have such rows. None stands for a
    figure that does not apply or is not known. A row has no code, so that it can be sent between processes.
    """

    allocator: str = ""  #: by name; "" for the input among the levels of a search
    blocks: int | None = None  #: the level: resident blocks aimed at
    registers_allowed: int | None = None  #: per thread
    slots_allowed: int | None = None  #: per thread
    #: of a version whose blocks use shared memory in turns: its scheme; "shorter" or "own" for shorter access
    #: regions or own words alone
    scheme: str | None = None
    merge: int | None = None  #: blocks that are merged into one
    barriers: str | None = None  #: barriers at which merged blocks take turns
    shorter_regions: bool | None = None  #: whether access regions were made shorter first; None without a scheme
    own_words: bool | None = None  #: whether words of one thread went to its local memory first; likewise
    sharing: str | None = None  #: how blocks share memory two by two: auto, a threshold, PAIRS:BYTES; None: they do not
    pairs: int | None = None  #: pairs of blocks on an SM
    private_bytes: int | None = None  #: bytes of a block of a pair that only it uses, its slots included
    status: str = OK  #: one of `STATUSES`
    reason: str = ""  #: why there are no figures, or a remark on them

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
    copies: int | None = None  #: new copies between registers
    allocated: str = ""  #: allocator that made the original, if it cannot run as it came
    proven: bool | None = None  #: whether the checker proved it; None for an original as it came

    cost: SpillCost | None = None  #: of the spill code
    bound: float | None = None  #: lower bound on the cost for the budget; None if none is proven
    seconds: float | None = None  #: CPU time of the allocation, the kernel's analysis left out

    same_results: bool | None = None  #: whether the run left the original's results
    cycles: int | None = None  #: emulated
    cycles_range: tuple[int, int] | None = None  #: fewest and most cycles over all delays
    sampled: Sampled | None = None  #: parts of the grid from which cycles are estimated; None if all of it was run
    original_cycles: int | None = None  #: emulated, under the same scheduler
    speedup: float | None = None  #: emulated cycles of the original over those of this version
    expected_speedup: float | None = None  #: by policy `model`'s estimate
    spill_accesses: int | None = None  #: executed spill accesses by warps, to slots and local memory
    local_accesses: int | None = None  #: executed accesses to local memory, the input's own included
    slot_accesses: int | None = None  #: executed accesses to slots
    l1_accesses: int | None = None  #: lines that L1 was asked for, without textures
    l1_misses: int | None = None
    stalls: dict[str, float] = field(default_factory=dict)  #: share of all issue slots lost, by reason

    @property
    def gap(self) -> float | None:
        """Return (cost - bound) / cost; None if there is no bound."""
        if self.cost is None or self.bound is None:
            return None
        return (self.cost.cost - self.bound) / self.cost.cost if self.cost.cost else 0.0

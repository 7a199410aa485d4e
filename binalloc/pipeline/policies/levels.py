"""The levels that policies look at one by one, and the versions there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from binalloc.errors import Refused
from binalloc.pipeline.steps.grid import reached, share_of
from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.models.machines.budget import Budget
    from binalloc.pipeline.request import Request
    from binalloc.pipeline.steps.version import Tried, Version


ANY = -1
"""Slots: as many as one likes."""


class Levels:
    """Of one kernel. original: what the levels are held against; where it has registers to spare, there is nothing to
    allocate, and levels below its own differ in what else is resident alone."""

    def __init__(self, module: Module, request: Request, original: Version) -> None:
        from binalloc.pipeline.directives import bounded_levels
        from binalloc.pipeline.steps.kernels import kernel_use

        self.module, self.request, self.original = module, request, original
        use = kernel_use(module.function(request.kernel), request.launch, request.block)
        self.every: list[Budget] = bounded_levels(module, request, use)
        if request.whole_gpu and request.launch is not None:
            share = share_of(request.launch, request.machine)
            self.every = reached(self.every, share, original.blocks_per_sm)
        self._known: dict[tuple[int, int, str], Version] = {}

    @property
    def upwards(self) -> list[Budget]:
        """Those where allocation has something to gain: above the original's own level, and at it where the original
        has values in local memory that registers or slots could take. Ascending."""
        lowest = self.original.blocks_per_sm + (self.original.local_bytes == 0)
        return [b for b in self.every if b.blocks >= lowest]

    @property
    def all_others(self) -> list[Budget]:
        """`upwards`, and those below the original's own level. Ascending."""
        own = self.original.blocks_per_sm
        return [b for b in self.every if b.blocks != own or self.original.local_bytes]

    def is_below(self, budget: Budget) -> bool:
        """Whether it is fewer blocks than the original's."""
        return budget.blocks < self.original.blocks_per_sm

    def version(self, budget: Budget, allocator: str | None = None) -> Version:
        """Unproven; below the original's level so that no more blocks are resident (`holding.hold`). Raises Refused
        where the budget is infeasible, or so few blocks are."""
        from binalloc.pipeline.steps.holding import hold

        if not self.is_below(budget):
            return self._built(budget, allocator)
        return hold(self.module, self._built(budget, allocator), self.request, budget.blocks)

    def _built(self, budget: Budget, allocator: str | None) -> Version:
        """As asked before; what needed neither slots nor local memory is the same with more slots."""
        from binalloc.pipeline.steps.build import build_unproven

        name = allocator or self.request.allocator
        for slots in (budget.slots, ANY):
            if (budget.registers, slots, name) in self._known:
                return self._known[budget.registers, slots, name]
        version = build_unproven(self.module, self.request, budget.registers, budget.slots, name)
        spilled = version.slots or version.local_bytes
        self._known[budget.registers, budget.slots if spilled else ANY, name] = version
        return version


def own_level(ordered: Version) -> Tried:
    """The original's own number of blocks, where `ordered` is the original in another order."""
    from binalloc.models.machines.budget import Budget
    from binalloc.pipeline.steps.version import Tried

    return Tried(Budget(ordered.blocks_per_sm, ordered.registers, 0), ordered, "the original in another order")


def the_same(version: Version, tried: Iterable[Tried]) -> Tried | None:
    """What was tried before and is the same program in the same room, run or not."""
    for t in tried:
        other = t.version
        if other is not None and _room(other) == _room(version) and _code(other) == _code(version):
            return t
    return None


def _room(version: Version) -> tuple[int, int, int]:
    return version.registers, version.slots + version.idle_slots, version.local_bytes


def _code(version: Version) -> list[list[object]]:
    return [list(fn.instrs) for fn in version.functions]


def run_level(version: Version, request: Request, original: Version) -> Version:
    """The version with its run. Refused where that leaves other results than the original's."""
    from binalloc.pipeline.steps.measure import measure, same_results

    ran = measure(version, request)
    if same_results(request, original, ran) is False:
        blocks = count(version.blocks_per_sm, "block")
        raise Refused(f"{request.kernel}: results differ at {blocks}", remedy="Nothing was written.")
    return ran


def cycles_of(version: Version) -> int:
    """Of a version that was run."""
    assert version.cycles is not None
    return version.cycles

"""This module has the levels that policies look at, and builds and runs their versions."""

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
"""In keys of versions, in place of a number of slots: the version uses no slots, so that it is the same for any number.
No number of slots is negative."""


class Levels:
    """These are the levels of one kernel.

    Levels below the original's own number of blocks have registers to spare. Allocation has nothing to do there, and
    such levels differ from the original only in how many blocks are resident.
    """

    def __init__(self, module: Module, request: Request, original: Version) -> None:
        """Find the levels. original: the version that levels are compared with."""
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
        """Return the levels where allocation may gain something, ascending.

        They are the levels above the original's own, and its own level if it has values in local memory, which
        registers or slots could take.
        """
        lowest = self.original.blocks_per_sm + (self.original.local_bytes == 0)
        return [b for b in self.every if b.blocks >= lowest]

    @property
    def all_others(self) -> list[Budget]:
        """Return the levels of `upwards` and the levels below the original's own, ascending."""
        own = self.original.blocks_per_sm
        return [b for b in self.every if b.blocks != own or self.original.local_bytes]

    def is_below(self, budget: Budget) -> bool:
        """Return whether a budget has fewer blocks than the original."""
        return budget.blocks < self.original.blocks_per_sm

    def version(self, budget: Budget, allocator: str | None = None) -> Version:
        """Build the version of a level, unproven.

        Below the original's level, idle slots keep more blocks from being resident (`holding.hold`). Raises Refused if
        the budget is infeasible, or if so few blocks cannot be enforced.
        """
        from binalloc.pipeline.steps.holding import hold

        if not self.is_below(budget):
            return self._built(budget, allocator)
        return hold(self.module, self._built(budget, allocator), self.request, budget.blocks)

    def _built(self, budget: Budget, allocator: str | None) -> Version:
        """Return the version for a budget, built once.

        A version that needs neither slots nor local memory is used for any number of slots.
        """
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
    """Return the level of the original in another order, at its own number of blocks."""
    from binalloc.models.machines.budget import Budget
    from binalloc.pipeline.steps.version import Tried

    return Tried(Budget(ordered.blocks_per_sm, ordered.registers, 0), ordered, "the original in another order")


def the_same(version: Version, tried: Iterable[Tried]) -> Tried | None:
    """Return the level tried before that has the same code, registers, slots and local memory; None if there is none.

    It may have been run or not.
    """
    for t in tried:
        other = t.version
        if other is not None and _room(other) == _room(version) and _code(other) == _code(version):
            return t
    return None


def _room(version: Version) -> tuple[int, int, int]:
    """Return the registers, slots (idle ones included) and bytes of local memory per thread."""
    return version.registers, version.slots + version.idle_slots, version.local_bytes


def _code(version: Version) -> list[list[object]]:
    """Return the instructions of each function."""
    return [list(fn.instrs) for fn in version.functions]


def run_level(version: Version, request: Request, original: Version) -> Version:
    """Run a version and return it with its figures. Raises Refused if its results differ from the original's."""
    from binalloc.pipeline.steps.measure import measure, same_results

    ran = measure(version, request)
    if same_results(request, original, ran) is False:
        blocks = count(version.blocks_per_sm, "block")
        raise Refused(f"{request.kernel}: results differ at {blocks}", remedy="Nothing was written.")
    return ran


def cycles_of(version: Version) -> int:
    """Return the cycles of a version that was run."""
    assert version.cycles is not None
    return version.cycles

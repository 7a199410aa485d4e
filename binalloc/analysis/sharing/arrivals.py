"""This module finds whether all threads of a block that run come to the same barriers, one after the other.

Needs a `SharedMemory`; leaves it untouched. Threads that end are not waited for. So a branch keeps nobody from a
barrier if all but one of its ways lead to no barrier any more: `if (i >= n) return;` is such a branch.
(`shared.barriers` knows that of guarded EXITs alone.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from binalloc.analysis.flow.cfg import BlockNumber
from binalloc.analysis.shared.barriers import Arrival, BarrierSite
from binalloc.analysis.shared.division import reached
from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.shared.place import Place
from binalloc.analysis.shared.uniformity import Scope
from binalloc.isa.interface.barriers import Barrier
from binalloc.isa.interface.places import LANES
from binalloc.isa.kinds import CALLS, Flow


@dataclass
class Arrivals:
    """The arrivals of a kernel's threads at its barriers."""

    memory: SharedMemory

    def keeping(self) -> tuple[BarrierSite, Place | None] | None:
        """Return a barrier at which not all running threads of the block wait for one another, and what keeps threads
        from it, if it is a branch. Return None if there is none."""
        for site in self.memory.barriers:
            if not self._whole(site):
                return site, None
            if site.arrival is Arrival.SOME:
                branch = self._parting(site.place)
                if branch is not None:
                    return site, branch
        return None

    def _whole(self, site: BarrierSite) -> bool:
        """Return whether a barrier, wherever it is, lets threads wait for all that run."""
        barrier: Barrier = site.barrier
        guarded = self.memory.program[site.place.function].cfg.views[site.place.word].guard is not None
        threads = self.memory.ranges.threads
        every = -(-threads.count // LANES) * LANES
        return not guarded and barrier.waits and barrier.threads in (0, every if threads.size is not None else 0)

    def _parting(self, place: Place) -> Place | None:
        """Return a branch at which threads part, some to a place, some to another barrier or past it; None if there is
        none."""
        cfg = self.memory.program[place.function].cfg
        decided_by = self.memory.scopes.functions[place.function].divisions.decided_by
        seen: set[BlockNumber] = set()
        work = [cfg.block_of[place.word]]
        while work:
            for b in decided_by[work.pop()]:
                if b not in seen:
                    seen.add(b)
                    work.append(b)
                    if self.parts(place.function, b) and len(self._going_on(place.function, b)) > 1:
                        return Place(place.function, cfg.blocks[b].end - 1)
        for site in self.memory.program.graph.sites_of(place.function):
            call = Place(site.caller, site.index)
            if self.memory.scopes.guard(*call) < Scope.BLOCK:
                return call
            branch = self._parting(call)
            if branch is not None:
                return branch
        return None

    def parts(self, name: str, block: BlockNumber) -> bool:
        """Return whether threads of a block of threads may part at the end of a basic block."""
        last = self.memory.program[name].cfg.blocks[block].end - 1
        return self.memory.scopes.guard(name, last) < Scope.BLOCK

    def leaving(self, block: BlockNumber) -> list[BlockNumber]:
        """Return the blocks of the kernel to which single threads go on from a block and come to no barrier any more,
        while others do."""
        kernel = self.memory.program.graph.kernel
        on = self._going_on(kernel, block)
        if not on or not self.parts(kernel, block):
            return []
        return [b for b in self.memory.program.kernel.cfg.succs[block] if b not in on]

    def _going_on(self, name: str, block: BlockNumber) -> list[int]:
        """Return the ways from a block that lead to a barrier, in this function or in one that called it."""
        cfg = self.memory.program[name].cfg
        on = self._barriers[name]
        ways: list[int] = [b for b in cfg.succs[block] if on & reached(cfg.succs, [b])]
        last = cfg.views[cfg.blocks[block].end - 1].control
        return [*ways, -1] if last == Flow.RETURN and name != self.memory.program.graph.kernel else ways

    @cached_property
    def _barriers(self) -> dict[str, set[BlockNumber]]:
        """Return by function the blocks with barriers, with calls that may come to one, or that return to a caller."""
        program = self.memory.program
        having = {site.place.function for site in self.memory.barriers}
        changed = True
        while changed:
            more = {name for name in program.functions if having & set(program.graph.callees(name))}
            changed = not more <= having
            having |= more
        found: dict[str, set[BlockNumber]] = {}
        for name, f in program.functions.items():
            found[name] = {f.cfg.block_of[site.place.word] for site in self.memory.barriers
                           if site.place.function == name}  # fmt: skip
            for word, seen in enumerate(f.cfg.views):
                if not f.cfg.reachable(word):
                    continue
                calls = seen.control in CALLS and f.webs.calls[word].callee in having
                returns = seen.control == Flow.RETURN and name != program.graph.kernel
                if calls or returns:
                    found[name].add(f.cfg.block_of[word])
        return found

"""This pass merges the blocks of one kernel; its subclasses keep the virtual blocks apart in access regions.

Needs what is known of a kernel's shared memory, and its regions; leaves the kernel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property

from binalloc.analysis.flow.cfg import BlockNumber
from binalloc.analysis.program import FunctionAnalysis
from binalloc.analysis.shared.barriers import Arrival, BarrierSite
from binalloc.analysis.shared.division import reached
from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.shared.regions import Region
from binalloc.analysis.shared.uniformity import Scope
from binalloc.analysis.shared.waiting import waiting_loops
from binalloc.errors import Refused
from binalloc.isa.instruction import Function
from binalloc.isa.kinds import Flow
from binalloc.launch.merged import Merge
from binalloc.transform.multiplex.copies import Copies
from binalloc.transform.multiplex.edit import Edit
from binalloc.transform.multiplex.free import free_predicates, unused_register
from binalloc.transform.multiplex.merge import UNMERGED, Merging
from binalloc.transform.multiplex.orders.counting import Uneven, barriers_in

_MET = "Let all threads of a block come to each barrier, as to __syncthreads() outside of branches."
"""The remedy for barriers for which no scheme has a proof."""


class VirtualBlocks(ABC):
    """This pass edits one kernel."""

    own = 1  #: registers of the order itself, the first of all that are added
    instead = ""  #: what to do where it needs regions with as many barriers on all ways

    def __init__(
        self, memory: SharedMemory, regions: list[Region], merge: Merge, copies: Copies, votes: bool = True
    ) -> None:
        """votes: the machine has barriers that say whether any thread has given "true"."""
        self.memory, self.regions, self.merge, self.copies, self.votes = memory, regions, merge, copies, votes
        self.function: FunctionAnalysis = memory.program.kernel
        self.isa = memory.program.isa
        self.edit = Edit(self.function.fn)
        #: the kernel's own barriers
        self.sites = [site for site in memory.barriers if site.place.function == self.function.name]
        self.free = free = unused_register(memory.program)
        self.merging = Merging(memory.program, merge, self.edit, free + self.own)
        self.next = self.merging.next + self.more  #: first register that nothing uses
        if self.next > self.isa.limits.zero:
            raise Refused(
                "the kernel has too many registers", place=self.function.name, found=f"{free} registers",
                expected=f"at most {self.isa.limits.zero - 4}", remedy="Rewrite it for fewer registers first.",
            )  # fmt: skip

    def run(self) -> tuple[Function, list[int]]:
        self._require_barriers()
        self._require_alignment()
        self._require_no_waiting()
        self._require_bounds()
        self.merging.run()
        for access in self.memory.reach.accesses:
            if access.place in self.memory.common.stores and access.may & self.memory.common.bytes:
                self._store_once(access.place.word)
        self.keep_apart()
        if self.copies.ranges:
            self.next = self.copies.address(self.edit, self.merging.number, self.next)
        return self.edit.done()

    @property
    def more(self) -> int:
        """Return how many registers the order needs behind those of the merge."""
        return 0

    @cached_property
    def inner(self) -> set[int]:
        """Return the words with barriers to which virtual blocks need not come in step."""
        return set()

    @cached_property
    def busy(self) -> set[BlockNumber]:
        """Return the basic blocks with another barrier, or where a region begins."""
        block_of, inner = self.function.cfg.block_of, self.inner
        busy = {block_of[site.place.word] for site in self.sites if site.place.word not in inner}
        return busy | {block_of[bound.word] for region in self.regions for bound in region.begins}

    @cached_property
    def meetings(self) -> set[int]:
        """Return the words in front of which threads that have parted meet."""
        fn = self.function.fn
        branches = (word for word, instr in enumerate(fn.instrs) if instr.control == Flow.BRANCH)
        return {point for word in branches if (point := fn.reconvergence(word)) is not None}

    @abstractmethod
    def keep_apart(self) -> None:
        """Insert what lets one virtual block alone be in an access region."""

    # -- what has to hold

    def _require_barriers(self) -> None:
        """Refuse barriers that cannot be of the merged block."""
        for site in self.memory.barriers:
            where = f"{site.place.function}+{site.place.word}"
            if site.arrival is Arrival.SOME:
                raise Refused("not all threads of a block come to a barrier", place=where, found="perhaps not all",
                              expected="all that run", remedy=_MET)  # fmt: skip
            if not site.barrier.plain:
                raise Refused("a barrier is not a plain one of the whole block", place=where,
                              found=f"barrier {site.barrier.number}", expected="BAR.SYNC 0",
                              remedy=_MET)  # fmt: skip
            if site.place.function != self.function.name:
                raise Refused("a function has a barrier", place=where, found="a barrier",
                              expected="barriers in the kernel alone", remedy="Inline the function.")  # fmt: skip
            if self.function.cfg.views[site.place.word].guard is not None:
                raise Refused("a barrier has a guard", place=where, found="a guard", expected="none", remedy=_MET)

    def parting(self) -> Iterator[tuple[BlockNumber, int]]:
        """Yield basic blocks behind which blocks of the grid may go different ways, or end, with their last words."""
        cfg, scopes = self.function.cfg, self.memory.scopes
        for block in cfg.rpo:
            last = cfg.blocks[block].end - 1
            parts = len(cfg.succs[block]) > 1 or cfg.views[last].control == Flow.EXIT
            if parts and scopes.guard(self.function.name, last) < Scope.GRID:
                yield block, last

    def _require_alignment(self) -> None:
        """Refuse branches at which virtual blocks part, if more than one way comes to barriers or regions."""
        cfg, together = self.function.cfg, self.function.post_dominators()
        for block, last in self.parting():
            ways = [reached(cfg.succs, [s]) & self.busy for s in cfg.succs[block]]
            meet = together.idom[block]
            until = [reached(cfg.succs, [s], meet) & self.busy for s in cfg.succs[block]]
            if sum(bool(way) for way in ways) > 1 and any(until):
                raise Refused(
                    "blocks of the grid may come to different barriers", place=f"{self.function.name}+{last}",
                    found="a branch that differs between blocks", expected="one that is the same in the grid",
                    remedy=UNMERGED,
                )  # fmt: skip

    def _require_no_waiting(self) -> None:
        """Refuse loops that wait for other threads: for those of a virtual block that waits for this one at a barrier,
        perhaps."""
        for name, word in waiting_loops(self.memory):
            raise Refused(
                "a loop may wait for what another block writes", place=f"{name}+{word}",
                found="nothing but loaded words that ends it", expected="independent blocks",
                remedy="Leave this kernel as it is.",
            )  # fmt: skip

    def _store_once(self, word: int) -> None:
        """Let the first virtual block alone store common bytes."""
        predicate = self.free_predicate([word])
        self.edit.insert(word, None, [self.isa.build.same(predicate, self.merging.number, self.isa.limits.zero)])
        self.edit.replaced[word] = self.function.fn.instrs[word].replace(guard=(predicate, False))

    def _require_bounds(self) -> None:
        """Refuse regions with no place in front of them, or behind them, where the threads of a block come together."""
        name, views = self.function.name, self.function.cfg.views
        for region in self.regions:
            words = [word for first, end in region.spans for word in range(first, end)]
            if not region.begins:
                raise Refused("threads do not come together in front of an access region", place=f"{name}+{words[0]}",
                              found="no such place", expected="one on each way to the region",
                              remedy=UNMERGED)  # fmt: skip
            if not region.ends:
                exits = [f"{name}+{word}" for word in words if views[word].control == Flow.EXIT]
                raise Refused(
                    "threads do not come together behind an access region", place=(exits or [f"{name}+{words[-1]}"])[0],
                    found=f"EXIT at {' and '.join(exits)}" if exits else "a loop without end",
                    expected="a place behind the accesses to which all threads of a block come", remedy=UNMERGED,
                )  # fmt: skip

    # -- regions

    def barriers_in(self, region: Region) -> int:
        """Return how many barriers a block comes to in a region, on every way through it."""
        try:
            return barriers_in(self.memory, region, {site.place.word for site in self.sites_in(region)})
        except Uneven as error:
            raise Refused(
                "blocks may come to a barrier in an access region more or less than once",
                place=f"{self.function.name}+{error.word}", found="a branch or a loop around it",
                expected="a barrier on the way through the region", remedy=self.instead,
            ) from None  # fmt: skip

    def sites_in(self, region: Region) -> list[BarrierSite]:
        """Return the barriers in a region."""
        return [site for site in self.sites if _within(region, site)]

    def uneven(self, region: Region) -> bool:
        """Return whether blocks may come to another number of barriers on another way through a region."""
        try:
            barriers_in(self.memory, region, {site.place.word for site in self.sites_in(region)})
        except Uneven:
            return True
        return False

    def free_predicate(self, words: list[int]) -> int:
        """Return a predicate that holds nothing in front of some words."""
        free = free_predicates(self.function.live.before[word] for word in words)
        if not free:
            where = f"{self.function.name}+{words[0]}"
            raise Refused("no predicate is free for virtual blocks to take turns", place=where, found="all in use",
                          expected="one that is free", remedy=UNMERGED)  # fmt: skip
        return free[0]


def _within(region: Region, site: BarrierSite) -> bool:
    return any(start <= site.place.word < end for start, end in region.spans)

"""Virtual blocks of a merged block take turns in the access regions (multiplex paper, section 4.1, Figure 3: VTB;
section 4.3, Figure 6: CO-VTB).

Needs a laid-out module; leaves another, in front of allocation. The code of a region is executed once for each virtual
block, as a loop over them. While one is in it, the others wait at as many barriers as the region has, and all meet
between two turns. Barriers are of the whole merged block: so cards without counted barriers can do it.

In CO-VTB each virtual block has a copy of the private bytes, and its regions are those of the other bytes alone
(`copies.py`).

This needs each virtual block to come to the same barriers and regions in the same order. Where blocks of the original
may take different ways, all but one of the ways must come to no more of them: blocks that have ended are not waited
for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.analysis.flow.loops import one_round
from binalloc.analysis.program import FunctionAnalysis, analyse
from binalloc.analysis.shared.barriers import Arrival, BarrierSite
from binalloc.analysis.shared.division import reached
from binalloc.analysis.shared.memory import SharedMemory, Three, shared_memory
from binalloc.analysis.shared.regions import Bound, Region, access_regions
from binalloc.analysis.shared.uniformity import Scope
from binalloc.analysis.shared.waiting import waiting_loops
from binalloc.errors import Refused
from binalloc.isa.instruction import Function, Module, Origin
from binalloc.isa.interface.view import ALWAYS
from binalloc.launch.merged import Merge
from binalloc.transform.multiplex.bounds import way_of
from binalloc.transform.multiplex.copies import Copies, copies_of
from binalloc.transform.multiplex.edit import Edit, Line, in_place
from binalloc.transform.multiplex.free import free_predicates, unused_register
from binalloc.transform.multiplex.merge import Merging, require_mergeable
from binalloc.transform.multiplex.moving import require_known
from binalloc.transform.multiplex.parts import with_private
from binalloc.transform.multiplex.public import require_plain


@dataclass
class Merged:
    """A merged module has a kernel whose blocks are several of the original's."""

    module: Module
    merge: Merge
    regions: list[Region]  #: the kernel's access regions, in words of the original
    copies: Copies  #: of the private bytes


def take_turns(module: Module, kernel: str, block: Three, count: int, axis: int = 0, private: int = 0) -> Merged:
    """Return the module with `count` blocks of a kernel merged into one, which take turns in the access regions.

    block: threads of the original's block. axis: of the grid, along which neighbours are merged. private: bytes of
    which each virtual block has a copy, as a bitset. Raises Refused where the kernel cannot be merged, with the place.
    """
    program = analyse(module, kernel)
    require_plain(module, kernel)
    merge = Merge(count, block, axis)
    require_mergeable(program, merge)
    memory = with_one_copy(shared_memory(program, block), private)
    copies = Copies(memory, [], count)
    if private:
        require_known(memory)
        copies = copies_of(memory, count)
        memory = copies.memory
    regions = access_regions(memory)
    if not regions and not private:
        raise Refused("no block waits for shared memory", place=kernel, found="no access region",
                      expected="at least one", remedy="Look at the kernel's view of shared memory.")  # fmt: skip
    work = _Turns(memory, regions, merge, copies)
    fn, index = work.run()
    info = replace(work.merging.info(fn.info), shared_bytes=copies.size)
    info = replace(info, registers=max(info.registers, work.next))
    made = replace(fn, info=info, shared=copies.variables(fn.shared), origin=Origin(kernel, index))
    return Merged(in_place(module, made, index), merge, regions, copies)


def with_one_copy(memory: SharedMemory, private: int) -> SharedMemory:
    """Return the shared memory with those common bytes alone of which the first virtual block's copy serves all. Where
    some bytes are private, the other common ones are private, too."""
    guarded = 0
    for access in memory.reach.accesses:
        if access.place in memory.common.stores:
            seen = memory.program.kernel.cfg.views[access.place.word]
            guarded |= access.may if seen.guard is not None else 0
    common = memory.common.only(memory.common.settled & ~guarded)
    return with_private(replace(memory, common=common), private and private | memory.common.bytes & ~common.bytes)


class _Turns:
    """This pass edits one kernel."""

    def __init__(self, memory: SharedMemory, regions: list[Region], merge: Merge, copies: Copies) -> None:
        self.memory, self.regions, self.merge, self.copies = memory, regions, merge, copies
        self.function: FunctionAnalysis = memory.program.kernel
        self.isa = memory.program.isa
        self.edit = Edit(self.function.fn)
        #: the kernel's own barriers
        self.sites = [site for site in memory.barriers if site.place.function == self.function.name]
        #: basic blocks with a barrier, or where a region begins
        self.busy = {self.function.cfg.block_of[site.place.word] for site in self.sites}
        self.busy |= {self.function.cfg.block_of[bound.word] for region in regions for bound in region.begins}
        free = unused_register(memory.program)
        self.turn = free  #: register with the virtual block whose turn it is
        self.merging = Merging(memory.program, merge, self.edit, free + 1)
        #: register with the end of a region that a virtual block has come to; the next one is for comparisons
        self.ways = self.merging.next
        several = any(len(region.ends) > 1 for region in regions)
        self.next = self.ways + (2 if several else 0)
        if self.next > self.isa.limits.zero:
            raise Refused(
                "the kernel has too many registers", place=self.function.name, found=f"{free} registers",
                expected=f"at most {self.isa.limits.zero - 4}", remedy="Rewrite it for fewer registers first.",
            )  # fmt: skip

    def run(self) -> tuple[Function, list[int]]:
        self._require_barriers()
        self._require_alignment()
        self._require_no_waiting()
        self.merging.run()
        for access in self.memory.reach.accesses:
            if access.place in self.memory.common.stores and access.may & self.memory.common.bytes:
                self._store_once(access.place.word)
        for k, region in enumerate(self.regions):
            self._region(k, region)
        if self.copies.ranges:
            self.next = self.copies.address(self.edit, self.merging.number, self.next)
        return self.edit.done()

    def _busy(self, block: int) -> bool:
        """Return whether a way from a basic block comes to a barrier or a region."""
        return bool(reached(self.function.cfg.succs, [block]) & self.busy)

    # -- what has to hold

    def _require_barriers(self) -> None:
        """Refuse barriers that cannot be of the merged block."""
        for site in self.memory.barriers:
            where = f"{site.place.function}+{site.place.word}"
            if site.arrival is Arrival.SOME:
                raise Refused("not all threads of a block come to a barrier", place=where, found="perhaps not all",
                              expected="all that run")  # fmt: skip
            if not site.barrier.plain:
                raise Refused("a barrier is not a plain one of the whole block", place=where,
                              found=f"barrier {site.barrier.number}", expected="BAR.SYNC 0")  # fmt: skip
            if site.place.function != self.function.name:
                raise Refused("a function has a barrier", place=where, found="a barrier",
                              expected="barriers in the kernel alone", remedy="Inline the function.")  # fmt: skip
            if self.function.cfg.views[site.place.word].guard is not None:
                raise Refused("a barrier has a guard", place=where, found="a guard", expected="none")

    def _require_alignment(self) -> None:
        """Refuse branches at which virtual blocks part, if more than one way comes to barriers or regions."""
        cfg, scopes = self.function.cfg, self.memory.scopes
        together = self.function.post_dominators()
        for block in cfg.rpo:
            last = cfg.blocks[block].end - 1
            if scopes.guard(self.function.name, last) >= Scope.GRID or len(cfg.succs[block]) < 2:
                continue
            ways = [reached(cfg.succs, [s]) & self.busy for s in cfg.succs[block]]
            meet = together.idom[block]
            until = [reached(cfg.succs, [s], meet) & self.busy for s in cfg.succs[block]]
            if sum(bool(way) for way in ways) > 1 and any(until):
                raise Refused(
                    "blocks of the grid may come to different barriers", place=f"{self.function.name}+{last}",
                    found="a branch that differs between blocks", expected="one that is the same in the grid",
                )  # fmt: skip

    def _require_no_waiting(self) -> None:
        """Refuse loops that wait for other threads: for those of a virtual block that waits for this one at a barrier,
        perhaps."""
        for name, word in waiting_loops(self.memory):
            raise Refused(
                "a loop may wait for what another block writes", place=f"{name}+{word}",
                found="nothing but loaded words that ends it", expected="independent blocks",
            )  # fmt: skip

    def _store_once(self, word: int) -> None:
        """Let the first virtual block alone store common bytes."""
        predicate = self._free_predicate([word])
        self.edit.insert(word, None, [self.isa.build.same(predicate, self.merging.number, self.isa.limits.zero)])
        self.edit.replaced[word] = self.function.fn.instrs[word].replace(guard=(predicate, False))

    # -- a region

    def _region(self, k: int, region: Region) -> None:
        """Put a loop over the virtual blocks around a region."""
        if len(region.begins) != 1 or not region.ends:
            raise Refused(
                "an access region begins in several places", place=f"{self.function.name}+{region.spans[0][0]}",
                found=f"{len(region.begins)} begins, {len(region.ends)} ends", expected="one begin",
            )  # fmt: skip
        (begin,), (first, *others) = region.begins, self._ends(region)
        predicate = self._free_predicate([begin.word, *(end.word for end in region.ends)])
        self.edit.insert(begin.word, way_of(self.memory, begin), self._ask(k, predicate))
        (end,) = first
        self.edit.insert(end.word, way_of(self.memory, end), self._pass_on(k, predicate, region))
        for e, ends in enumerate(others, 1):
            for end in ends:
                self.edit.insert(end.word, way_of(self.memory, end), self._other_end(k, e, len(ends) == 1))

    def _ask(self, k: int, predicate: int) -> list[Line]:
        """Return the code in front of a region: whose turn it is not waits."""
        build = self.isa.build
        skip = build.branch(guard=(predicate, True), target=0, reconvergence=0)
        target, meet = self.isa.links(skip)
        return [
            Line(build.number(self.turn, 0)),
            Line(build.same(predicate, self.turn, self.merging.number), label=f"again{k}"),
            Line(skip, to=((target, f"idle{k}"), (meet, f"next{k}"))),
        ]

    def _pass_on(self, k: int, predicate: int, region: Region) -> list[Line]:
        """Return the code behind a region: all meet, and the next one has its turn."""
        build, jump = self.isa.build, self.isa.build.jump()
        back = build.branch(guard=(predicate, False), target=0, reconvergence=0)
        target, meet = self.isa.links(back)
        (link,) = self.isa.links(jump)
        # a barrier of the original that follows anyway serves the last turn
        guard = (predicate, False) if self._followed_by_barrier(region) else ALWAYS
        others = self._ends(region)[1:]
        several = len(region.ends) > 1
        return [
            *([Line(build.number(self.ways, 0))] if several else []),
            Line(jump, to=((link, f"next{k}"),)),
            Line(build.nothing(), label=f"idle{k}"),
            *(Line(build.barrier()) for _ in range(self._barriers_in(region))),
            Line(build.plus(self.turn, self.turn, 1), label=f"next{k}"),
            Line(build.below(predicate, self.turn, self.merge.count)),
            Line(build.barrier(guard)),
            Line(back, to=((target, f"again{k}"), (meet, f"done{k}"))),
            Line(build.nothing(), label=f"done{k}"),
            *(line for e, ends in enumerate(others, 1) for line in self._to_end(k, e, ends, predicate)),
        ]

    def _ends(self, region: Region) -> list[list[Bound]]:
        """Return a region's ends. Several ways to one word are one end, except for the first: nothing else is on these
        ways."""
        begins = {bound for each in self.regions for bound in each.begins}
        found: dict[object, list[Bound]] = {}
        for end in region.ends[1:]:
            alone = end.source is None or end in begins
            found.setdefault(end if alone else end.word, []).append(end)
        return [[region.ends[0]], *found.values()]

    def _other_end(self, k: int, e: int, alone: bool) -> list[Line]:
        """Return the code at another end of a region: the virtual block goes on once all have had their turn. alone:
        it does so here, and not at the word to which the way leads."""
        build, jump = self.isa.build, self.isa.build.jump()
        (link,) = self.isa.links(jump)
        lines = [Line(build.number(self.ways, e)), Line(jump, to=((link, f"next{k}"),))]
        return [*lines, Line(build.nothing(), label=f"end{k}.{e}")] if alone else lines

    def _to_end(self, k: int, e: int, ends: list[Bound], predicate: int) -> list[Line]:
        """Return the code that lets a virtual block go on at the end of a region that it has come to."""
        build = self.isa.build
        there = f"end{k}.{e}" if len(ends) == 1 else ends[0].word
        go = build.branch(guard=(predicate, False), target=0, reconvergence=0)
        target, meet = self.isa.links(go)
        return [
            Line(build.plus(self.ways + 1, self.ways, -e)),
            Line(build.same(predicate, self.ways + 1, self.isa.limits.zero)),
            Line(go, to=((target, there), (meet, there))),
        ]

    def _followed_by_barrier(self, region: Region) -> bool:
        """Return whether a barrier lies on every way from a region's end to where a region begins, and to where some
        threads may end before others come there."""
        cfg, scopes = self.function.cfg, self.memory.scopes
        begins = {bound.word for each in self.regions for bound in each.begins}
        barriers = {site.place.word for site in self.sites}
        work, seen = [bound.word for bound in region.ends], set[int]()
        while work:
            word = work.pop()
            if word in seen or word in barriers:
                continue
            if word in begins:
                return False
            seen.add(word)
            block = cfg.block_of[word]
            last = word + 1 == cfg.blocks[block].end
            if last and scopes.guard(self.function.name, word) < Scope.GRID and any(map(self._busy, cfg.succs[block])):
                return False
            work += [cfg.blocks[s].start for s in cfg.succs[block]] if last else [word + 1]
        return True

    def _barriers_in(self, region: Region) -> int:
        """Return how many barriers a block comes to in a region, on every way through it."""
        tree, ends = self.function.dominators(), self.function.post_dominators()
        inside = [site for site in self.sites if _within(region, site)]
        (begin,) = region.begins
        for site in inside:
            block = self.function.cfg.block_of[site.place.word]
            last = [self.function.cfg.block_of[end.word] for end in region.ends]
            first = self.function.cfg.block_of[begin.word]
            through = all(tree.dominates(block, end) for end in last) and ends.dominates(block, first)
            once = through and self._once(block, region)
            if not once:
                where = f"{self.function.name}+{site.place.word}"
                raise Refused(
                    "a barrier in an access region is not met just once", place=where,
                    found="a branch or a loop around it", expected="a barrier on the way through the region",
                )  # fmt: skip
        return len(inside)

    def _once(self, block: int, region: Region) -> bool:
        """Return whether a block of the code is passed once in a region: no loop in the region contains it."""
        cfg = self.function.cfg
        inside = {cfg.block_of[w] for start, end in region.spans for w in range(start, end)}
        ways = one_round(cfg, sorted(inside), [cfg.block_of[bound.word] for bound in region.begins])
        return block not in reached(ways, ways[block])

    def _free_predicate(self, words: list[int]) -> int:
        """Return a predicate that holds nothing in front of some words."""
        free = free_predicates(self.function.live.before[word] for word in words)
        if not free:
            where = f"{self.function.name}+{words[0]}"
            raise Refused("no predicate is free for virtual blocks to take turns", place=where, found="all in use",
                          expected="one that is free")  # fmt: skip
        return free[0]


def _within(region: Region, site: BarrierSite) -> bool:
    return any(start <= site.place.word < end for start, end in region.spans)

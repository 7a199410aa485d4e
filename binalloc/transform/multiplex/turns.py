"""Virtual blocks of a merged block take turns in the access regions (multiplex paper, section 4.1, Figure 3: VTB).

Needs a laid-out module; leaves another, in front of allocation. The code of a region is executed once for each virtual
block, as a loop over them. While one is in it, the others wait at as many barriers as the region has, and all meet
between two turns. Barriers are of the whole merged block: so cards without counted barriers can do it.

This needs each virtual block to come to the same barriers and regions in the same order. Where blocks of the original
may take different ways, all but one of the ways must come to no more of them: blocks that have ended are not waited
for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.analysis.locations import location
from binalloc.analysis.program import FunctionAnalysis, analyse
from binalloc.analysis.shared.barriers import Arrival, BarrierSite
from binalloc.analysis.shared.division import reached
from binalloc.analysis.shared.memory import SharedMemory, Three, shared_memory
from binalloc.analysis.shared.regions import Region, access_regions
from binalloc.analysis.shared.uniformity import Scope
from binalloc.errors import Refused
from binalloc.isa.instruction import Function, Module, Origin
from binalloc.isa.interface.places import PRED, PREDICATES
from binalloc.isa.interface.view import ALWAYS
from binalloc.transform.multiplex.edit import Edit, Line, in_place
from binalloc.transform.multiplex.merge import Merge, Merging, require_mergeable
from binalloc.transform.multiplex.public import require_plain


@dataclass
class Merged:
    """A merged module has a kernel whose blocks are several of the original's."""

    module: Module
    merge: Merge
    regions: list[Region]  #: the kernel's access regions, in words of the original


def take_turns(module: Module, kernel: str, block: Three, count: int, axis: int = 0) -> Merged:
    """Return the module with `count` blocks of a kernel merged into one, which take turns in the access regions.

    block: threads of the original's block. axis: of the grid, along which neighbours are merged. Raises Refused where
    the kernel cannot be merged, with the place.
    """
    program = analyse(module, kernel)
    require_plain(module, kernel)
    merge = Merge(count, block, axis)
    require_mergeable(program, merge)
    memory = shared_memory(program, block)
    regions = access_regions(memory)
    if not regions:
        raise Refused("no block waits for shared memory", place=kernel, found="no access region",
                      expected="at least one", remedy="inspect --shared shows the regions")  # fmt: skip
    work = _Turns(memory, regions, merge)
    fn, index = work.run()
    made = replace(fn, info=work.merging.info(fn.info), origin=Origin(kernel, index))
    return Merged(in_place(module, made, index), merge, regions)


class _Turns:
    """This pass edits one kernel."""

    def __init__(self, memory: SharedMemory, regions: list[Region], merge: Merge) -> None:
        self.memory, self.regions, self.merge = memory, regions, merge
        self.f: FunctionAnalysis = memory.program.kernel
        self.isa = memory.program.isa
        self.edit = Edit(self.f.fn)
        every = [instr for f in memory.program.functions.values() for instr in f.fn.instrs]
        free = self.isa.highest_register(every) + 1
        self.turn = free  #: register with the virtual block whose turn it is
        self.merging = Merging(memory.program, merge, self.edit, free + 1)
        if self.merging.next > self.isa.limits.zero:
            raise Refused("the kernel has too many registers", place=self.f.name, found=f"{free} registers",
                          expected=f"at most {self.isa.limits.zero - 4}", remedy="Rewrite it for fewer registers first.")  # fmt: skip

    def run(self) -> tuple[Function, list[int]]:
        self._require_barriers()
        self._require_alignment()
        self.merging.run()
        for k, region in enumerate(self.regions):
            self._region(k, region)
        return self.edit.done()

    # -- what has to hold

    def _require_barriers(self) -> None:
        """Refuse barriers that cannot be of the merged block."""
        for site in self.memory.barriers:
            where = f"{site.place.function}+{site.place.word}"
            if site.arrival is Arrival.SOME:
                raise Refused("not all threads of a block come to a barrier", place=where, found="perhaps not all",
                              expected="all that run")  # fmt: skip
            barrier = site.barrier
            if barrier.number or barrier.threads != 0 or not barrier.waits or barrier.combines:
                raise Refused("a barrier is not a plain one of the whole block", place=where,
                              found=f"barrier {barrier.number}", expected="BAR.SYNC 0")  # fmt: skip
            if site.place.function != self.f.name:
                raise Refused("a function has a barrier", place=where, found="a barrier",
                              expected="barriers in the kernel alone", remedy="Inline the function.")  # fmt: skip
            if self.f.cfg.views[site.place.word].guard is not None:
                raise Refused("a barrier has a guard", place=where, found="a guard", expected="none")

    def _require_alignment(self) -> None:
        """Refuse branches at which virtual blocks part, if more than one way comes to barriers or regions."""
        cfg, scopes = self.f.cfg, self.memory.scopes
        together = self.f.post_dominators()
        busy = {cfg.block_of[site.place.word] for site in self.memory.barriers}
        busy |= {cfg.block_of[bound.word] for region in self.regions for bound in region.begins}
        for block in cfg.rpo:
            last = cfg.blocks[block].end - 1
            if scopes.guard(self.f.name, last) >= Scope.GRID or len(cfg.succs[block]) < 2:
                continue
            ways = [reached(cfg.succs, [s]) & busy for s in cfg.succs[block]]
            meet = together.idom[block]
            until = [reached(cfg.succs, [s], meet) & busy for s in cfg.succs[block]]
            if sum(bool(way) for way in ways) > 1 and any(until):
                raise Refused("blocks of the grid may come to different numbers of barriers", place=f"{self.f.name}+{last}",
                              found="a branch that differs between blocks", expected="one that is the same in the grid")  # fmt: skip

    # -- a region

    def _region(self, k: int, region: Region) -> None:
        """Put a loop over the virtual blocks around a region."""
        build, cfg = self.isa.build, self.f.cfg
        if len(region.begins) != 1 or len(region.ends) > 1:
            raise Refused("an access region begins or ends in several places", place=f"{self.f.name}+{region.spans[0][0]}",
                          found=f"{len(region.begins)} begins, {len(region.ends)} ends", expected="one of each")  # fmt: skip
        barriers = self._barriers_in(region)
        (begin,) = region.begins
        source = None if begin.source is None else cfg.blocks[begin.source].end - 1
        predicate = self._free_predicate(region)
        turn, number, again, wait, on = self.turn, self.merging.number, f"again{k}", f"wait{k}", f"next{k}"
        skip = build.branch(guard=(predicate, True), target=0, reconvergence=0)
        links = tuple(self.isa.links(skip))
        back = build.branch(guard=(predicate, False), target=0, reconvergence=0)
        self.edit.insert(begin.word, source, [
            build.number(turn, 0),
            Line(build.same(predicate, turn, number), label=again),
            Line(skip, to=((links[0], wait), (links[1], on))),
        ])  # fmt: skip
        jump = build.jump()
        waiting = [Line(build.nothing(), label=wait), *(Line(build.barrier()) for _ in range(barriers))]
        after = [
            Line(build.plus(turn, turn, 1), label=on),
            Line(build.below(predicate, turn, self.merge.count)),
            Line(build.barrier((predicate, False) if self._followed_by_barrier(region) else ALWAYS)),
            Line(back, to=((links[0], again), (links[1], f"done{k}"))),
            Line(build.nothing(), label=f"done{k}"),
        ]
        code = [Line(jump, to=((next(iter(self.isa.links(jump))), on),)), *waiting, *after]
        if region.ends:
            (end,) = region.ends
            source = None if end.source is None else cfg.blocks[end.source].end - 1
            self.edit.insert(end.word, source, code)
        else:
            raise Refused("an access region has no end", place=f"{self.f.name}+{begin.word}", found="threads end in it",
                          expected="a place behind it to which all come")  # fmt: skip

    def _followed_by_barrier(self, region: Region) -> bool:
        """Return whether a barrier lies on every way from a region's end to where a region begins."""
        cfg = self.f.cfg
        begins = {bound.word for each in self.regions for bound in each.begins}
        barriers = {site.place.word for site in self.memory.barriers}
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
            work += [cfg.blocks[s].start for s in cfg.succs[block]] if last else [word + 1]
        return True

    def _barriers_in(self, region: Region) -> int:
        """Return how many barriers a block comes to in a region, on every way through it."""
        tree, ends = self.f.dominators(), self.f.post_dominators()
        inside = [site for site in self.memory.barriers if _within(region, site)]
        (begin,) = region.begins
        for site in inside:
            block = self.f.cfg.block_of[site.place.word]
            last = self.f.cfg.block_of[region.ends[0].word] if region.ends else block
            first = self.f.cfg.block_of[begin.word]
            once = tree.dominates(block, last) and ends.dominates(block, first) and self._once(block, region)
            if not once:
                raise Refused("a barrier in an access region is not met just once", place=f"{self.f.name}+{site.place.word}",
                              found="a branch or a loop around it", expected="a barrier on the way through the region")  # fmt: skip
        return len(inside)

    def _once(self, block: int, region: Region) -> bool:
        """Return whether a block of the code is passed once in a region: no loop in the region contains it."""
        cfg = self.f.cfg
        words = {w for start, end in region.spans for w in range(start, end)}
        inside = {cfg.block_of[w] for w in words}
        (begin,) = region.begins
        head = cfg.block_of[begin.word]
        succs = [[s for s in cfg.succs[b] if s in inside and s != head] if b in inside else [] for b in range(len(cfg.blocks))]
        return block not in reached(succs, succs[block])

    def _free_predicate(self, region: Region) -> int:
        """Return a predicate that holds nothing at both ends of a region."""
        live = 0
        for bound in (*region.begins, *region.ends):
            live |= self.f.live.before[bound.word]
        free = [p for p in range(PREDICATES) if not live >> location(PRED, p) & 1]
        if not free:
            raise Refused("no predicate is free at the bounds of an access region", place=f"{self.f.name}+{bound.word}",
                          found="all in use", expected="one that is free")  # fmt: skip
        return free[0]


def _within(region: Region, site: BarrierSite) -> bool:
    return any(start <= site.place.word < end for start, end in region.spans)

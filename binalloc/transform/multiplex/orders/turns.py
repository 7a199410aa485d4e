"""Virtual blocks of a merged block take turns in the access regions (multiplex paper, section 4.1, Figure 3: VTB;
section 4.3, Figure 6: CO-VTB).

Needs a laid-out module; leaves another, in front of allocation. The code of a region is executed once for each virtual
block, as a loop over them. While one is in it, the others wait at as many barriers as the region has, and all meet
between two turns. Barriers are of the whole merged block: so cards without counted barriers can do it.

How often a block comes to a barrier in a loop, or behind a branch, only the block itself knows. Then all barriers of
the turn are *votes*: barriers that tell all threads whether any has given "true". Whose turn it is gives "true" at
those of its region, and "false" behind it. The others give "false", and wait for as long as they are told "true". So
blocks of the grid may also go different ways in the region. (The paper has no votes. GPUs have them since compute
capability 2.0.)

In CO-VTB each virtual block has a copy of the private bytes, and its regions are those of the other bytes alone
(`copies.py`).

This needs each virtual block to come to the same barriers and regions in the same order. Where blocks of the original
may take different ways, all but one of the ways must come to no more of them: blocks that have ended are not waited
for.
"""

from __future__ import annotations

from functools import cached_property

from binalloc.analysis.shared.division import reached
from binalloc.analysis.shared.regions import Bound, Region
from binalloc.analysis.shared.uniformity import Scope
from binalloc.errors import Refused
from binalloc.isa.instruction import Instr
from binalloc.isa.interface.view import ALWAYS
from binalloc.isa.kinds import Flow
from binalloc.transform.multiplex.bounds import way_of
from binalloc.transform.multiplex.edit import Line
from binalloc.transform.multiplex.late_exits import accessed
from binalloc.transform.multiplex.merge import UNMERGED
from binalloc.transform.multiplex.orders.virtual_blocks import VirtualBlocks


class Turns(VirtualBlocks):
    """This pass puts a loop over the virtual blocks around each region."""

    instead = "Choose a machine of compute capability 2.0 or higher, whose barriers can vote."

    @property
    def turn(self) -> int:
        """Return the register with the virtual block whose turn it is."""
        return self.free

    @property
    def ways(self) -> int:
        """Return the register with the end of a region that a virtual block has come to. The next one is for
        comparisons, and the one behind it has the begin from which it came."""
        return self.merging.next

    @property
    def more(self) -> int:
        if any(len(region.begins) > 1 for region in self.regions):
            return 3
        return 2 if any(len(region.ends) > 1 for region in self.regions) else 0

    @cached_property
    def voting(self) -> list[bool]:
        """Return by region whether its barriers are votes."""
        return [self.votes and self.uneven(region) for region in self.regions]

    @cached_property
    def inner(self) -> set[int]:
        return {
            site.place.word
            for region, votes in zip(self.regions, self.voting, strict=True)
            for site in (self.sites_in(region) if votes else ())
        }

    def keep_apart(self) -> None:
        self._require_order()
        predicates = [
            self.free_predicate([bound.word for bound in (*region.begins, *region.ends)]) for region in self.regions
        ]
        for k, region in enumerate(self.regions):  # where a region ends and one begins, the end is first
            self._behind(k, predicates[k], region)
        for k, region in enumerate(self.regions):
            for b, begin in enumerate(region.begins):
                code = self._ask(k, b, predicates[k], len(region.begins) > 1)
                self.edit.insert(begin.word, way_of(self.memory, begin), code)
        for word in sorted(self.inner):
            self.edit.insert(word, None, [*self._together(word), self.isa.build.vote(True)])
            self.edit.removed.add(word)

    def _require_order(self) -> None:
        """Refuse threads that end in the midst of a turn with votes, if no barrier orders what they have accessed."""
        cfg = self.function.cfg
        for region, votes in zip(self.regions, self.voting, strict=True):
            for first, end in region.spans if votes else ():
                for word in range(first, end):
                    if cfg.views[word].control == Flow.EXIT and cfg.reachable(word) and accessed(cfg, word):
                        raise Refused(
                            "threads may end in an access region right behind accesses",
                            place=f"{self.function.name}+{word}", found="no barrier between an access and the EXIT",
                            expected="one, which orders it before those of the next turn", remedy=UNMERGED,
                        )  # fmt: skip

    def _behind(self, k: int, predicate: int, region: Region) -> None:
        """Insert the code behind a region."""
        first, *others = self._ends(region)
        (end,) = first
        self.edit.insert(end.word, way_of(self.memory, end), self._pass_on(k, predicate, region))
        for e, ends in enumerate(others, 1):
            for end in ends:
                self.edit.insert(end.word, way_of(self.memory, end), self._other_end(k, e, len(ends) == 1))

    def _ask(self, k: int, b: int, predicate: int, several: bool) -> list[Line]:
        """Return the code at begin `b` of a region: whose turn it is not waits. several: it has more begins."""
        build = self.isa.build
        skip = build.branch(guard=(predicate, True), target=0, reconvergence=0)
        target, meet = self.isa.links(skip)
        return [
            *([Line(build.number(self.ways + 2, b))] if several else []),
            Line(build.number(self.turn, 0)),
            Line(build.same(predicate, self.turn, self.merging.number), label=f"again{k}.{b}"),
            Line(skip, to=((target, f"idle{k}"), (meet, f"next{k}"))),
        ]

    def _pass_on(self, k: int, predicate: int, region: Region) -> list[Line]:
        """Return the code behind a region: all meet, and the next one has its turn."""
        build = self.isa.build
        others = self._ends(region)[1:]
        several = len(region.ends) > 1
        return [
            *([Line(build.number(self.ways, 0))] if several else []),
            *(self._meet_in_votes(k, predicate, region) if self.voting[k] else self._meet(k, predicate, region)),
            *self._again(k, predicate, len(region.begins)),
            Line(build.nothing(), label=f"done{k}"),
            *(line for e, ends in enumerate(others, 1) for line in self._to_number(
                predicate, self.ways, e, f"way{k}.{e}" if len(ends) == 1 else ends[0].word)),
        ]  # fmt: skip

    def _again(self, k: int, predicate: int, begins: int) -> list[Line]:
        """Return the code that goes back to the begin of a region if there is another turn. begins: how many it has."""
        build, jump = self.isa.build, self.isa.build.jump()
        back = build.branch(guard=(predicate, begins > 1), target=0, reconvergence=0)
        target, meet = self.isa.links(back)
        if begins == 1:
            return [Line(back, to=((target, f"again{k}.0"), (meet, f"done{k}")))]
        (link,) = self.isa.links(jump)
        return [
            Line(back, to=((target, f"done{k}"), (meet, f"done{k}"))),
            *(line for b in range(1, begins)
              for line in self._to_number(predicate, self.ways + 2, b, f"again{k}.{b}")),
            Line(jump, to=((link, f"again{k}.0"),)),
        ]  # fmt: skip

    def _together(self, word: int) -> list[Instr]:
        """Return the code in front of a barrier at which threads that have parted come together in front of a word."""
        return [self.isa.build.nothing()] if word in self.meetings else []

    def _meet(self, k: int, predicate: int, region: Region) -> list[Line]:
        """Return the code that lets the virtual blocks meet behind a turn. It leaves in the predicate whether there is
        another one."""
        build, jump = self.isa.build, self.isa.build.jump()
        (link,) = self.isa.links(jump)
        # a barrier of the original that follows anyway serves the last turn
        guard = (predicate, False) if self._followed_by_barrier(region) else ALWAYS
        return [
            Line(jump, to=((link, f"next{k}"),)),
            Line(build.nothing(), label=f"idle{k}"),
            *(Line(build.barrier()) for _ in range(self.barriers_in(region))),
            Line(build.plus(self.turn, self.turn, 1), label=f"next{k}"),
            Line(build.below(predicate, self.turn, self.merge.count)),
            Line(build.barrier(guard)),
        ]

    def _meet_in_votes(self, k: int, predicate: int, region: Region) -> list[Line]:
        """Return the code that lets the virtual blocks meet behind a turn whose end the others are told by a vote. It
        leaves in the predicate whether there is another one."""
        build, jump = self.isa.build, self.isa.build.jump()
        (link,) = self.isa.links(jump)
        wait = build.branch(guard=(predicate, False), target=0, reconvergence=0)
        target, meet = self.isa.links(wait)
        return [
            *map(Line, self._together(region.ends[0].word)),
            Line(build.vote(False), label=f"end{k}"),
            Line(jump, to=((link, f"next{k}"),)),
            Line(build.vote(False, predicate), label=f"idle{k}"),
            Line(wait, to=((target, f"idle{k}"), (meet, f"next{k}"))),
            Line(build.plus(self.turn, self.turn, 1), label=f"next{k}"),
            Line(build.below(predicate, self.turn, self.merge.count)),
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
        there = f"end{k}" if self.voting[k] else f"next{k}"
        lines = [Line(build.number(self.ways, e)), Line(jump, to=((link, there),))]
        return [*lines, Line(build.nothing(), label=f"way{k}.{e}")] if alone else lines

    def _to_number(self, predicate: int, register: int, number: int, there: str | int) -> list[Line]:
        """Return the code that goes to a place if a register has a number."""
        build = self.isa.build
        go = build.branch(guard=(predicate, False), target=0, reconvergence=0)
        target, meet = self.isa.links(go)
        return [
            Line(build.plus(self.ways + 1, register, -number)),
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
            if word + 1 < cfg.blocks[block].end:
                work.append(word + 1)
                continue
            if scopes.guard(self.function.name, word) < Scope.GRID and any(map(self._is_busy, cfg.succs[block])):
                return False
            work += [cfg.blocks[s].start for s in cfg.succs[block]]
        return True

    def _is_busy(self, block: int) -> bool:
        """Return whether a way from a basic block comes to a barrier or a region."""
        return bool(reached(self.function.cfg.succs, [block]) & self.busy)

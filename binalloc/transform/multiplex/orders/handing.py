"""Virtual blocks of a merged block hand the turn from one to the next at named barriers.

Needs a laid-out module; leaves another, in front of allocation. (The multiplex paper does without named barriers.) The
code of a region is executed once, by each virtual block in its turn: in front of it a virtual block waits until the one
before it has arrived at the barrier of this hand-over, and behind it arrives at the next one's, without waiting. The
last virtual block that the grid has hands over to the first, also at the kernel's start. Other barriers of a virtual
block are its own, from the first region on. So virtual blocks wait for nothing but their turns.

Counted barriers wait for warps that have ended, too. So no thread may end in front of a region's end, and all blocks of
the grid come to the same regions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from binalloc.analysis.shared.barriers import Arrival, BarrierSite
from binalloc.analysis.shared.division import reached
from binalloc.errors import Hint, Refused
from binalloc.isa.instruction import Instr
from binalloc.isa.interface.view import Guard
from binalloc.transform.multiplex.bounds import way_of
from binalloc.transform.multiplex.orders.virtual_blocks import VirtualBlocks

BARRIERS = 16  # of a block, one of them for the whole block
MOST = (BARRIERS - 1) // 2
"""Most virtual blocks: each has a barrier of its own, and one at which it gets the turn."""
_OTHER = Hint("Use {barriers} block.")


class Handing(VirtualBlocks):
    """This pass puts named barriers around the regions of one kernel."""

    @property
    def next_one(self) -> int:
        """Return the register with the virtual block to which a thread's hands over."""
        return self.free

    @cached_property
    def inner(self) -> set[int]:
        behind = self._behind_regions()
        return {site.place.word for site in self.sites if site.place.word in behind}

    def keep_apart(self) -> None:
        if self.merge.count > MOST:
            raise Refused("a block has too few barriers", place=self.function.name,
                          found=f"{self.merge.count} virtual blocks", expected=f"at most {MOST}",
                          remedy=Hint("Merge fewer ({merge}), or use {barriers} block."))  # fmt: skip
        if not self.regions:  # nobody would take the turn
            return
        own = [site for site in self.sites if site.place.word in self.inner]
        self._require_all_threads(own)
        self._require_all_blocks()
        self._find_next()
        for site in own:
            self._own(site.place.word)
        for end in (end for region in self.regions for end in region.ends):
            self.edit.insert(end.word, way_of(self.memory, end), self._give(end.word))
        for begin in (begin for region in self.regions for begin in region.begins):
            self.edit.insert(begin.word, way_of(self.memory, begin), self._wait(begin.word))

    # -- what has to hold

    def _require_all_threads(self, own: list[BarrierSite]) -> None:
        """Refuse regions, and barriers that become a virtual block's own, to which not all threads come."""
        for region in self.regions:
            where = f"{self.function.name}+{region.spans[0][0]}"
            if region.ended is not None or region.exits:
                found = "EXIT in it" if region.ended is None else f"EXIT at {region.ended.function}+{region.ended.word}"
                raise Refused("threads may end in front of the end of an access region", place=where, found=found,
                              expected="that all threads come to its end", remedy=_OTHER)  # fmt: skip
        for site in own:
            if site.arrival is not Arrival.ALL:
                raise Refused(
                    "threads may have ended in front of a barrier", place=f"{self.function.name}+{site.place.word}",
                    found="a barrier of those that run", expected="one of all threads", remedy=_OTHER,
                )  # fmt: skip

    def _require_all_blocks(self) -> None:
        """Refuse branches and ends that keep some blocks of the grid from a region, or from a barrier."""
        cfg, together = self.function.cfg, self.function.post_dominators()
        for block, last in self.parting():
            if reached(cfg.succs, cfg.succs[block], together.idom[block]) & self.busy:
                raise Refused(
                    "some blocks of the grid may come to a region or barrier, and others not",
                    place=f"{self.function.name}+{last}", found="a branch or an EXIT that differs between blocks",
                    expected="one that is the same in the grid", remedy=_OTHER,
                )  # fmt: skip

    def _behind_regions(self) -> set[int]:
        """Return the words to which threads come in or behind a region. Barriers there are a virtual block's own."""
        cfg = self.function.cfg
        found = {word for region in self.regions for first, end in region.spans for word in range(first, end)}
        blocks = set[int]()
        for bound in (end for region in self.regions for end in region.ends):
            block = cfg.block_of[bound.word]
            found |= set(range(bound.word, cfg.blocks[block].end))
            blocks |= reached(cfg.succs, cfg.succs[block])
        return found | {word for b in blocks for word in range(cfg.blocks[b].start, cfg.blocks[b].end)}

    # -- code

    def _turn(self, virtual: int) -> int:
        """Return the number of the barrier at which a virtual block gets the turn."""
        return 1 + self.merge.count + virtual

    def _find_next(self) -> None:
        """Insert what finds the next virtual block, and gives the first one the turn."""
        build, merging, first = self.isa.build, self.merging, self.isa.limits.zero
        self.edit.insert(0, None, [
            build.plus(self.next_one, merging.number, 1),
            build.plus(merging.scratch, merging.scratch, 1),
            build.less(0, merging.scratch, merging.extent_register),
            build.number(self.next_one, 0, (0, True)),
            build.below(0, merging.number, self.merge.count - 1),
            build.number(self.next_one, 0, (0, True)),
            build.same(0, self.next_one, first),
            build.arrival(self._turn(0), 2 * self.merge.padded, (0, False)),
        ])  # fmt: skip

    def _own(self, word: int) -> None:
        """Let a barrier of the original be one of the virtual block."""
        build, threads = self.isa.build, self.merge.padded
        lines = self._each(word, self.merging.number, lambda v, guard: build.counted_barrier(1 + v, threads, guard))
        self.edit.insert(word, None, lines)
        self.edit.removed.add(word)

    def _wait(self, word: int) -> list[Instr]:
        """Return the code that waits for the turn, in front of a word."""
        build, threads, number = self.isa.build, 2 * self.merge.padded, self.merging.number
        return self._each(word, number, lambda v, guard: build.counted_barrier(self._turn(v), threads, guard))

    def _give(self, word: int) -> list[Instr]:
        """Return the code that hands the turn over, in front of a word."""
        build, threads = self.isa.build, 2 * self.merge.padded
        return self._each(word, self.next_one, lambda v, guard: build.arrival(self._turn(v), threads, guard))

    def _each(self, word: int, register: int, make: Callable[[int, Guard], Instr]) -> list[Instr]:
        """Return a word for each virtual block, in front of a word, under the guard that a register has its number."""
        predicate, lines = self.free_predicate([word]), list[Instr]()
        for v in range(self.merge.count):
            if v < 1 or self.merge.count > 2:
                lines.append(self.isa.build.equal(predicate, register, v))
            lines.append(make(v, (predicate, v > 0 and self.merge.count == 2)))
        return lines

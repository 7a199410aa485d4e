"""Two virtual blocks of a merged block are a pipe: one computes while the other is in an access region (multiplex
paper, section 4.2, Figure 5: VTB_pipe).

Needs a laid-out module; leaves another, in front of allocation. Each virtual block executes its own code once. The
second one is behind by a *slot*: as many barriers as it takes to go through a region and to meet behind it. In front of
its first region it waits for so many. In front of any other, both wait for so many besides the one behind the last
region. So the second is between two regions whenever the first is in one, and the other way round.

A virtual block comes to the last barrier of a slot directly in front of its region, and to the others in its *stage*:
the code that leads to the region, behind loads from memory and barriers of the original (`stages.py`). So it computes
while the other one stores, and while it reads what it has stored. In Figure 5 a stage is one piece, annotated by hand,
and runs while the other one reads; here it is cut, in proportion to the lengths of what it runs beside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from binalloc.analysis.shared.regions import Region
from binalloc.errors import Hint, Refused
from binalloc.isa.instruction import Instr
from binalloc.isa.interface.view import ALWAYS
from binalloc.transform.multiplex.bounds import way_of
from binalloc.transform.multiplex.free import free_predicates
from binalloc.transform.multiplex.orders.stages import Stages
from binalloc.transform.multiplex.orders.virtual_blocks import VirtualBlocks

_TWO = 2  # virtual blocks of a pipe


@dataclass(frozen=True)
class _Wait:
    """A wait is a barrier in front of a word: on all ways, or on the one from a branch alone."""

    word: int
    way: int | None
    first: bool  #: threads may come there before they come to a region
    later: bool  #: threads may come there from a region


class Pipe(VirtualBlocks):
    """This pass puts barriers of the merged block around the regions of one kernel."""

    instead = "Choose vtb."

    @property
    def waits(self) -> int:
        """Return the register that is 0 in threads of the first virtual block until they come to a region, if it is
        needed."""
        return self.free

    def keep_apart(self) -> None:
        if self.merge.count != _TWO:
            raise Refused("a pipe is of two virtual blocks", place=self.function.name,
                          found=f"{self.merge.count} virtual blocks", expected="2",
                          remedy=Hint("Leave out {merge}."))  # fmt: skip
        self._require_regions()
        build = self.isa.build
        stages = Stages(self.memory, self.regions, {site.place.word for site in self.sites})
        most = max((self.barriers_in(region) for region in self.regions), default=0)
        for region in self.regions:
            if not stages.is_followed(region):
                for end in region.ends:
                    self._insert(_Wait(end.word, way_of(self.memory, end), False, True))
        waits = [wait for region in self.regions for wait in self._waits(region, most, stages)]
        asked = any(wait.first and wait.later for wait in waits)
        for w, wait in enumerate(waits):
            self._insert(wait, asks=w == 0 or waits[w - 1].word != wait.word)
        if asked:
            for (begin,) in (region.begins for region in self.regions):
                if stages.is_first(begin.word):
                    self.edit.insert(begin.word, way_of(self.memory, begin), [build.number(self.waits, 1)])
            self.edit.insert(0, None, [build.plus(self.waits, self.merging.number, 0)])

    def _require_regions(self) -> None:
        """Refuse regions that begin in several places, or in which not all barriers are on all ways."""
        for region in self.regions:
            begins = [f"{self.function.name}+{bound.word}" for bound in region.begins]
            if len(begins) > 1:
                raise Refused("an access region begins in several places", place=begins[0],
                              found=" and ".join(begins), expected="one of them alone",
                              remedy=self.instead)  # fmt: skip
            sites = self.sites_in(region)
            if self.barriers_in(region) < len(sites):
                raise Refused("not all ways through an access region have the same barriers",
                              place=f"{self.function.name}+{sites[0].place.word}", found=f"{len(sites)} barriers",
                              expected="barriers on all ways", remedy=self.instead)  # fmt: skip

    def _waits(self, region: Region, most: int, stages: Stages) -> Iterator[_Wait]:
        """Yield the waits in front of a region: at its stage, and directly in front of it. most: barriers in one of the
        regions."""
        (begin,) = region.begins
        way = way_of(self.memory, begin)
        cuts = [[begin.word]] * most if way is not None else stages.cuts(region, most, self._usable)
        # the original's own barriers serve as well; one of them, or an inserted one, is behind the last region
        served = max(stages.barriers_before(begin.word) - 1, 0)
        for c, places in enumerate([*cuts, [begin.word]]):
            for place in places:
                first, later = stages.is_first(place), stages.is_later(place)
                if first or c >= served:
                    yield _Wait(place, way if place == begin.word else None, first, later)

    def _usable(self, word: int) -> bool:
        """Return whether a predicate is free for a wait in front of a word."""
        return bool(free_predicates([self.function.live.before[word]]))

    def _insert(self, wait: _Wait, asks: bool = True) -> None:
        """Insert a wait. The first virtual block leaves it out as long as it was in no region. asks: the code in front
        of it does not show this yet."""
        build, guard, lines = self.isa.build, ALWAYS, list[Instr]()
        if wait.first:
            predicate = self.free_predicate([wait.word])
            guard = (predicate, True)
            register = self.waits if wait.later else self.merging.number
            lines = [build.same(predicate, register, self.isa.limits.zero)] if asks else []
        elif asks and wait.word in self.meetings:
            lines = [build.nothing()]  # threads come together in front of the barrier
        lines.append(build.barrier(guard))
        self.edit.insert(wait.word, wait.way, lines)

"""This module finds the stage in front of an access region, code that computes what the region stores, and cuts it.

Needs a kernel with its regions; leaves it untouched. A stage waits for nothing: it is behind the loads, calls and
barriers that lead to the region, and behind the regions before. Threads come to one of its begins, and once, on each
way to the region, and from there to no other region (multiplex paper, section 4.2, where stages are named by hand).

The barriers of a region cut it into *steps*. A stage that runs beside them is cut into as many pieces, which are in
proportion to the steps' lengths. Lengths are estimated in words, with ten rounds for each loop.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from itertools import accumulate

from binalloc.analysis.flow.cfg import BlockNumber
from binalloc.analysis.shared.division import reached
from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.shared.regions import Region
from binalloc.isa.kinds import CALLS, Access, Flow, Space

_NEAR = (Space.SHARED, Space.CONST)
"""Memory whose loads are not waited for by other code than the next."""


class Stages:
    """The stages of a kernel."""

    def __init__(self, memory: SharedMemory, regions: list[Region], barriers: Collection[int]) -> None:
        """barriers: words of the kernel."""
        kernel = memory.program.kernel
        self.cfg, self.tree, self.weight = kernel.cfg, kernel.dominators(), kernel.loops.weight
        self.barriers = set(barriers)
        self.begins = {bound.word for region in regions for bound in region.begins}
        self.ends = {bound.word for region in regions for bound in region.ends}
        self._inside = {word for region in regions for first, end in region.spans for word in range(first, end)}

    def cuts(self, region: Region, count: int, usable: Callable[[int], bool]) -> list[list[int]]:
        """Return the places of some barriers at which a virtual block waits in the stage of a region: for each of them
        words in front of which it is, of which every way to the region passes one. The region begins on all ways to a
        word. usable: whether a barrier can be in front of a word."""
        (begin,) = region.begins
        found = [self.begins_of(begin.word)]
        if len(found[0]) > 1:
            return found * count
        steps = self._steps(region)
        passed = [length / sum(steps) for length in accumulate(steps)]
        words = self._chain(found[0][0], begin.word)
        whole = self._length(words[0], begin.word)
        return [
            [self._cut(words, whole * (1 - passed[k]), usable)] if k + 1 < len(passed) else [begin.word]
            for k in range(count)
        ]

    def _cut(self, words: list[int], left: float, usable: Callable[[int], bool]) -> int:
        """Return the first place with at most the length `left` to the last one. words: all places, in order."""
        first, last = 0, len(words) - 1
        while first < last:
            middle = (first + last) // 2
            if self._length(words[middle], words[-1]) <= left:
                last = middle
            else:
                first = middle + 1
        return next((w for w in words[first:-1] if usable(w) and self._good([w], words[-1])), words[-1])

    def _chain(self, first: int, word: int) -> list[int]:
        """Return the words from one place to another of which all ways between them pass each."""
        found = list[int]()
        block, last = self.cfg.block_of[word], word
        while block != self.cfg.block_of[first]:
            found += range(last, self.cfg.blocks[block].start - 1, -1)
            block = BlockNumber(self.tree.idom[block])
            last = self.cfg.blocks[block].end - 1
        return [*found, *range(last, first - 1, -1)][::-1]

    def _steps(self, region: Region) -> list[float]:
        """Return the estimated lengths of a region's steps."""
        (begin,) = region.begins
        inside = {w for first, end in region.spans for w in range(first, end)}
        barriers = sorted(self.barriers & inside, key=lambda w: (self.tree.depth[self.cfg.block_of[w]], w))
        stops = self.barriers | {bound.word for bound in region.ends}
        starts = [begin.word, *(after for barrier in barriers for after in self._succs(barrier)[:1])]
        return [self._weight(self._after([start], stops) - stops) for start in starts]

    def _length(self, first: int, word: int) -> float:
        """Return the estimated length of the code from one place to another."""
        return self._weight(self._after([first], [word]) - {word})

    def _weight(self, words: Iterable[int]) -> float:
        return sum(self.weight[self.cfg.block_of[word]] for word in words)

    def begins_of(self, word: int) -> list[int]:
        """Return the words in front of which the stage of a region begins; `word` alone where there is none.

        word: at which the region begins, on all ways.
        """
        best = [word]
        for place in self._places(self.cfg.block_of[word], word):
            if self._good([place], word):
                best = [place]
        block = self.cfg.block_of[word]
        if best == [self.cfg.blocks[block].start] and len(self.cfg.preds[block]) > 1:
            best = self._of_ways(block, best, word)
        return best

    def is_first(self, word: int) -> bool:
        """Return whether threads come in front of a word before they come to a region."""
        return word in self._before_all

    def is_later(self, word: int) -> bool:
        """Return whether threads come in front of a word from a region, before they come to the next."""
        return word in self._between

    def is_followed(self, region: Region) -> bool:
        """Return whether a barrier of the original is on all ways from a region to the next, or to the end."""
        behind = self._after([bound.word for bound in region.ends], self.barriers | self.begins)
        return not behind & self.begins and all(self.cfg.views[word].control != Flow.EXIT for word in behind)

    def barriers_before(self, word: int) -> int:
        """Return the least number of the original's barriers on ways from a region to the begin of the next; 0 if there
        is no such way."""
        return self._passed.get(word, 0)

    @cached_property
    def _before_all(self) -> set[int]:
        """Return the words in front of which threads come before they come to a region."""
        return self._after([0], self.begins)

    @cached_property
    def _between(self) -> set[int]:
        """Return the words in front of which threads come from a region, before they come to the next."""
        return self._after(self.ends, self.begins)

    @cached_property
    def _passed(self) -> dict[int, int]:
        """Return by word behind regions the least number of the original's barriers on ways from a region to it."""
        least = dict.fromkeys(self.ends, 0)
        work = deque(sorted(self.ends))
        while work:
            at = work.popleft()
            if at in self.begins:
                continue
            passed = least[at] + (at in self.barriers)
            for after in self._succs(at):
                if passed < least.get(after, passed + 1):
                    least[after] = passed
                    (work.append if at in self.barriers else work.appendleft)(after)
        return least

    def _of_ways(self, block: BlockNumber, best: list[int], word: int) -> list[int]:
        """Return the begins of the stage on each way that leads to a basic block; `best` where there are none."""
        found = []
        for before in sorted(self.cfg.preds[block]):
            last = self.cfg.blocks[before].end - 1
            found.append(min(self._places(before, last), default=last))
        return sorted(set(found)) if self._good(found, word) else best

    def _places(self, block: BlockNumber, word: int) -> Iterator[int]:
        """Yield places from which code leads to a word of a basic block and waits for nothing: latest ones first."""
        while True:
            start = self.cfg.blocks[block].start
            for at in range(word - 1, start - 1, -1):
                if self._waits(at):
                    yield at + 1
                    return
                if at in self.ends:
                    yield at
                    return
            yield start
            if start in self.ends:
                return
            above = BlockNumber(self.tree.idom[block])
            if block == self.tree.root or above == block:
                return
            between = reached(self.cfg.succs, self.cfg.succs[above], block) - {block}
            if any(map(self._waits, self._words(between))) or self.ends & set(self._words(between)):
                return
            block, word = above, self.cfg.blocks[above].end

    def _waits(self, word: int) -> bool:
        """Return whether a word lets what follows wait, or is in a region."""
        seen = self.cfg.views[word]
        memory = seen.memory
        loads = memory is not None and memory.access != Access.STORE and memory.space not in _NEAR
        return loads or word in self.barriers or word in self._inside or seen.control in CALLS

    def _good(self, places: list[int], word: int) -> bool:
        """Return whether threads come to one of several places, once, on each way to a region and in front of no
        other."""
        if word not in places and word in self._after([0, *self.ends], places):
            return False
        others = (self.begins | set(places) | self._inside) - {word}
        behind = self._after([after for at in places if at != word for after in self._succs(at)], [word])
        return not others & behind

    def _words(self, blocks: Iterable[int]) -> Iterator[int]:
        for block in blocks:
            yield from range(self.cfg.blocks[block].start, self.cfg.blocks[block].end)

    def _succs(self, word: int) -> list[int]:
        block = self.cfg.block_of[word]
        if word + 1 < self.cfg.blocks[block].end:
            return [word + 1]
        return [self.cfg.blocks[s].start for s in self.cfg.succs[block]]

    def _after(self, starts: Iterable[int], stops: Collection[int]) -> set[int]:
        """Return the words in front of which threads come from some places, up to those where they stop."""
        work, seen = list(starts), set(starts)
        while work:
            at = work.pop()
            if at in stops:
                continue
            for after in self._succs(at):
                if after not in seen:
                    seen.add(after)
                    work.append(after)
        return seen

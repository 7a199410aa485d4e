"""The new kernel's control flow has this form: blocks, loops, and where threads that parted meet again.

Needs the successors of each word; leaves the graph unchanged. Sets of blocks are masks.
"""

from __future__ import annotations

from binalloc.bitset import bits


class TooTangled(Exception):
    """`TooTangled` is raised where a loop has two entries."""


class Graph:
    """A graph has blocks of words: `starts` has their first words. after: successors of each block, in the order of the
    last word's successors."""

    def __init__(self, after: list[tuple[int, ...]], leaders: set[int], entry: int) -> None:
        reached = _closure(after, entry)
        heads = {entry} | (leaders & reached)
        before: dict[int, int] = {}
        for n in reached:
            for to in after[n]:
                before[to] = before.get(to, 0) + 1
            if len(after[n]) != 1 or after[n] != (n + 1,):
                heads |= set(after[n])
        heads |= {to for to, count in before.items() if count > 1}
        self.words: list[list[int]] = []
        self.number: dict[int, int] = {}
        for head in sorted(heads & reached):
            chain = [head]
            while len(after[chain[-1]]) == 1 and after[chain[-1]][0] not in heads:
                chain.append(after[chain[-1]][0])
            self.number[head] = len(self.words)
            self.words.append(chain)
        self.entry = self.number[entry]
        self.after = [[self.number[to] for to in after[chain[-1]]] for chain in self.words]
        self.rank = self._ranks()
        self.loops = self._loops()  # by the block at the head: mask of the loop's blocks
        inside = [
            sorted((h for h, mask in self.loops.items() if mask >> b & 1), key=lambda h: self.rank[h])
            for b in range(len(self.words))
        ]
        self.chains: list[list[int]] = inside  # heads of the loops around each block, outermost first

    def _ranks(self) -> list[int]:
        """Return the blocks' places in reverse postorder."""
        order: list[int] = []
        seen = {self.entry}
        work: list[tuple[int, int]] = [(self.entry, 0)]
        while work:
            b, k = work.pop()
            if k < len(self.after[b]):
                work.append((b, k + 1))
                to = self.after[b][k]
                if to not in seen:
                    seen.add(to)
                    work.append((to, 0))
            else:
                order.append(b)
        rank = [0] * len(self.words)
        for at, b in enumerate(reversed(order)):
            rank[b] = at
        return rank

    def _loops(self) -> dict[int, int]:
        before: list[list[int]] = [[] for _ in self.words]
        for b, out in enumerate(self.after):
            for to in out:
                before[to].append(b)
        dominators = dominated(self.after, before, self.entry, self.rank)
        loops: dict[int, int] = {}
        for b, out in enumerate(self.after):
            for head in out:
                if self.rank[head] > self.rank[b]:
                    continue
                if not dominators[b] >> head & 1:
                    raise TooTangled
                mask, work = loops.get(head, 0) | 1 << head, [b]
                while work:
                    at = work.pop()
                    if not mask >> at & 1:
                        mask |= 1 << at
                        work += before[at]
                loops[head] = mask
        return loops


def dominated(after: list[list[int]], before: list[list[int]], entry: int, rank: list[int]) -> list[int]:
    """Return the dominators of each block, itself among them, as masks."""
    every = (1 << len(after)) - 1
    found = [every] * len(after)
    found[entry] = 1 << entry
    order = sorted(range(len(after)), key=lambda b: rank[b])
    changed = True
    while changed:
        changed = False
        for b in order:
            if b == entry:
                continue
            mask = every
            for at in before[b]:
                mask &= found[at]
            mask |= 1 << b
            if mask != found[b]:
                found[b], changed = mask, True
    return found


class Meetings:
    """`Meetings` says where threads that part at a block meet again before the next barrier.

    edges: edges that some thread may take. barriers: mask of the blocks that begin with a barrier. Ends of threads do
    not count: lanes that have ended are not waited for.
    """

    def __init__(self, edges: list[set[int]], barriers: int) -> None:
        self.edges, self.barriers = edges, barriers
        count = len(edges)
        self.sink = count
        self.out: list[list[int]] = [sorted(out) for out in edges]
        before: list[set[int]] = [set() for _ in range(count)]
        for b, ways in enumerate(self.out):
            for t in ways:
                before[t].add(b)
        self.coming = self._coming(before)
        self.passed = self._passed()

    def _coming(self, before: list[set[int]]) -> int:
        """Return the blocks from which threads may come to a barrier, those that begin with one among them."""
        mask, work = 0, bits(self.barriers)
        while work:
            b = work.pop()
            if mask >> b & 1:
                continue
            mask |= 1 << b
            work += before[b]
        return mask

    def region(self, b: int, stop: int) -> int:
        """Return the blocks that threads which part at the end of `b` may be in before they come to `stop`; no further
        than barriers."""
        mask, work = 0, list(self.out[b])
        while work:
            at = work.pop()
            if mask >> at & 1 or at == stop:
                continue
            mask |= 1 << at
            if not self.barriers >> at & 1:
                work += self.out[at]
        return mask

    def meeting(self, b: int) -> int | None:
        """Return the first block that all ways from the end of `b` to a barrier pass; `sink` where there is none, None
        where no way leads to a barrier."""
        ways = [to for to in self.out[b] if self.coming >> to & 1]
        if not ways:
            return None
        passed = self.passed[ways[0]]
        for to in ways[1:]:
            passed &= self.passed[to]
        return max(bits(passed), key=lambda at: self.passed[at].bit_count(), default=self.sink)

    def _passed(self) -> list[int]:
        """Return, for each block, the blocks that all ways from its start to a barrier pass, as masks. They lie one
        behind the other, so that the next one passes most of the others."""
        every = (1 << self.sink) - 1
        found = [1 << b if self.barriers >> b & 1 else every for b in range(self.sink)]
        order, changed = bits(self.coming & ~self.barriers), True
        while changed:
            changed = False
            for b in reversed(order):
                mask = every
                for to in self.out[b]:
                    if self.coming >> to & 1:
                        mask &= found[to]
                mask |= 1 << b
                if mask != found[b]:
                    found[b], changed = mask, True
        return found

    def beyond(self, b: int) -> int:
        """Return the blocks that threads may come to from the end of `b`, through barriers, too."""
        mask, work = 0, list(self.out[b])
        while work:
            at = work.pop()
            if not mask >> at & 1:
                mask |= 1 << at
                work += self.out[at]
        return mask

    def phases(self, entry: int) -> list[int]:
        """Return sets of blocks in which threads may be at one time: those behind a barrier, or behind the entry."""
        found = []
        for b in [*bits(self.barriers), entry]:
            found.append(self.region(b, -1) & ~self.barriers | 1 << b)
        return found


def _closure(after: list[tuple[int, ...]], entry: int) -> set[int]:
    seen, work = {entry}, [entry]
    while work:
        for to in after[work.pop()]:
            if to not in seen:
                seen.add(to)
                work.append(to)
    return seen

"""The proof of loops that are written out: each round has words of its own, and the branch that leaves is decided.

    report = check_unrolled(original, made, "kernel", (128, 1, 1), {65: 3})

- *Rounds*. All threads of one block walk the original at once (`verify.multiplex.walk`), for any launch with blocks of
  this size. Whenever threads come to a loop, all leave it in the round that is claimed, and in no other.
- *Lockstep*. Both kernels are followed word by word, as the instruction map proposes, with the rounds in which the
  original is. The new kernel has the same words. It may lack jumps, and branches that are decided by the round; it may
  have more jumps. Lanes that part meet again where the original's do, whatever the reconvergence stack (`stacks.py`).

Kernels that the walk cannot follow to the end, such as ones with named barriers, are not proven.
"""

from __future__ import annotations

from collections.abc import Mapping

from binalloc.isa.instruction import Module
from binalloc.isa.interface.view import View
from binalloc.isa.kinds import Flow
from binalloc.verify.multiplex.check import walked
from binalloc.verify.multiplex.course import Course
from binalloc.verify.report import CheckReport
from binalloc.verify.shorten.sides import INSERTED, Sides, proven, ways
from binalloc.verify.stacks import MatchedWay, StacksDiffer, compare_all
from binalloc.verify.stacks import Pair as Points

Rounds = tuple[tuple[int, int], ...]
"""By head of a loop that is written out, (head's word, round), in order of heads."""
Pair = tuple[int, int, Rounds]
"""A new word and an old one that come next, and the rounds in which the original is."""


def check_unrolled(
    original: Module, made: Module, kernel: str, block: tuple[int, int, int], last: Mapping[int, int]
) -> CheckReport:
    """Prove that `made`'s kernel does what `original`'s does. last: by the first word of a loop's head the round, from
    0, in which all threads leave. Raises nothing."""

    def prove(sides: Sides) -> None:
        report, course = walked(original, kernel, block)
        if course is None or course.walk is None or not report.ok:
            found = report.errors[0] if report.errors else None
            sides.fail("not proven", f"the original cannot be followed: {found.message if found else 'no way'}")
            return
        loops = _Loops(course, last)
        for head in loops.wrong():
            sides.fail("rounds", "threads may leave a loop in another round", -1, head)
        if not sides.findings:
            _Lockstep(sides, loops).run()

    return proven(original, made, kernel, prove)


class _Loops:
    """The loops that are written out, as the walk of the original has them."""

    def __init__(self, course: Course, last: Mapping[int, int]) -> None:
        self.graph, self.walk, self.fixed, self.last = course.graph, course.walk, course.fixed, dict(last)
        self.block_of = {word: b for b, words in enumerate(self.graph.words) for word in words}

    def wrong(self) -> list[int]:
        """Return the heads of loops that threads may leave in another round."""
        assert self.walk is not None
        found = set()
        for word in sorted(self.last):
            head = self.graph.number.get(word)
            if head is None or head not in self.graph.loops or head in self.fixed:
                found.add(word)
                continue
            for (b, rounds), to in self.walk.taken.items():
                if not self.graph.loops[head] >> b & 1:
                    continue
                now = rounds[self.graph.chains[b].index(head)]
                inside = [bool(self.graph.loops[head] >> t & 1) for t in self.graph.after[b]]
                for t in to:
                    stays = bool(self.graph.loops[head] >> t & 1)
                    if not all(inside) and stays is (now >= self.last[word]):
                        found.add(word)
        return sorted(found)

    def rounds(self, source: int, rounds: Rounds, to: int) -> Rounds:
        """Return the rounds in which the original is at word `to`, which it comes to from another word."""
        before, b = dict(rounds), self.block_of.get(to)
        if b is None:
            return ()
        found = []
        around = self.graph.chains[self.block_of[source]] if source >= 0 else []
        for head in self.graph.chains[b]:
            word = self.graph.words[head][0]
            if word in self.last:
                again = head in around and word == to
                found.append((word, before.get(word, 0) + again if head in around else 0))
        return tuple(sorted(found))

    def decided(self, m: int, rounds: Rounds) -> int | None:
        """Return the word to which a branch goes in these rounds, None where that is not decided."""
        b = self.block_of.get(m)
        if b is None or self.graph.words[b][-1] != m:
            return None
        for word, now in rounds:
            loop = self.graph.loops[self.graph.number[word]]
            inside = [t for t in self.graph.after[b] if loop >> t & 1]
            outside = [t for t in self.graph.after[b] if not loop >> t & 1]
            if inside and outside:
                return self.graph.words[(outside if now == self.last[word] else inside)[0]][0]
        return None


class _Lockstep:
    """The lockstep of two kernels."""

    def __init__(self, sides: Sides, loops: _Loops) -> None:
        self.sides, self.old, self.new, self.label, self.loops = sides, sides.old, sides.new, sides.label, loops
        self.most = 4 * (len(sides.new) + len(sides.old))
        #: by pair of words that both execute the ways to the next ones; of None the way to the first
        self.after: dict[Pair | None, list[MatchedWay[Pair]]] = {}

    def run(self) -> None:
        first = self._come(0, 0, -1, ())
        self.after[None] = [] if first is None else [first]
        work = [way.target for way in self.after[None]]
        while work:
            pair = work.pop()
            if pair in self.after:
                continue
            if len(self.after) > self.most:
                self.sides.fail("limit", "the proof takes too long", pair[0], pair[1])
                return
            self.after[pair] = [way for n, m in self._ways(pair) if (way := self._come(n, m, *pair[1:])) is not None]
            work += [way.target for way in self.after[pair]]
        if not self.sides.findings:
            self._meet()

    def _ways(self, pair: Pair) -> list[tuple[int, int]]:
        """Return where the kernels go behind a pair of words."""
        n, m, rounds = pair
        if not self.sides.same(n, m):
            self.sides.fail("order", "not the original's instruction", n, m)
            return []
        falls, jumps = ways(self.old.views[m])
        if jumps and (self.new.fn.reconvergence(n) is None) != (self.old.fn.reconvergence(m) is None):
            self.sides.fail("reconvergence", "only one of the branches may diverge", n, m)
        found = [(n + 1, m + 1)] * falls
        if jumps:
            found.append((self.new.fn.target(n), self.old.fn.target(m)))
        decided = self.loops.decided(m, rounds)
        return found if decided is None else [(to, at) for to, at in found if at == decided]

    def _come(self, n: int, m: int, source: int, rounds: Rounds) -> MatchedWay[Pair] | None:
        """Follow both kernels to the next words that they have in common."""
        new, old = list[int](), list[int]()
        while 0 <= n < len(self.new) and self.label[n] == INSERTED and self.new.jump(n) and n not in new:
            new.append(n)
            n = self.new.fn.target(n)
        wanted = self.label[n] if 0 <= n < len(self.new) else INSERTED
        rounds = self.loops.rounds(source, rounds, m)
        seen = set[tuple[int, Rounds]]()
        while 0 <= m < len(self.old) and m != wanted and (m, rounds) not in seen:
            seen.add((m, rounds))
            old.append(m)
            to = self.old.fn.target(m) if _jump(self.old.views[m]) else self.loops.decided(m, rounds)
            if to is None:
                break
            rounds = self.loops.rounds(m, rounds, to)
            m = to
        if wanted == INSERTED or m != wanted:
            self.sides.fail("order", "comes to another word than the original", n, m)
            return None
        return MatchedWay((n, m, rounds), (*new, n), (*old, m))

    def _meet(self) -> None:
        """Check that lanes that part meet again where the original's do."""
        try:
            compare_all(self.after, self._pushes)
        except StacksDiffer as e:
            self.sides.fail("reconvergence", e.message, *e.at[:2])

    def _pushes(self, pair: Pair) -> Points | None:
        """Return the points where lanes that part at a pair of words meet again."""
        n, m, rounds = pair
        if self.old.views[m].control != Flow.BRANCH or self.loops.decided(m, rounds) is not None:
            return None
        new, old = self.new.fn.reconvergence(n), self.old.fn.reconvergence(m)
        return None if new is None or old is None else (new, old)


def _jump(view: View) -> bool:
    """Return whether a word jumps in any case."""
    return view.control == Flow.BRANCH and view.guard is None

"""Loops with a known number of rounds are written out here: each round gets words of its own, in a row.

Needs a laid-out module and, by loop, the round in which all threads leave it; leaves another module. The branch that
leaves a loop is decided in every copy, so it goes, and so do jumps to what follows anyway. What the last round does not
come to any more is not copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from binalloc.analysis.flow.loops import Loop
from binalloc.analysis.program import FunctionAnalysis
from binalloc.errors import Refused
from binalloc.isa.instruction import Function, Instr, Module, Origin
from binalloc.isa.kinds import Flow
from binalloc.isa.sets.table import set_of
from binalloc.isa.sets.table import view as view_of
from binalloc.transform.multiplex.edit import in_place, link_of

MOST_WORDS = 8192
"""Most words of a kernel whose loops are written out: 128 KiB, the level 1.5 instruction cache of Volta (Jia et al.,
"Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018, section 3.1)."""

Copy = tuple[int, tuple[tuple[int, int], ...]]
"""A basic block, and for each loop around it that is written out, outer ones first, (loop, round)."""


def written_out(module: Module, function: FunctionAnalysis, last: Mapping[int, int]) -> Module:
    """Return the module with some loops of a function written out.

    last: by number of the loop the round, from 0, in which every thread that enters it leaves it. These loops have one
    entry and one exit. Raises Refused if the code becomes too long, or a branch's lanes would not meet in it again.
    """
    fn, index = _Unrolling(function, dict(last)).run()
    return in_place(module, replace(fn, origin=Origin(fn.name, index)), index)


@dataclass
class _Unrolling:
    """This pass writes one function's loops out."""

    function: FunctionAnalysis
    last: dict[int, int]
    instrs: list[Instr] = field(default_factory=list)
    index: list[int] = field(default_factory=list)  #: by new word the old one, -1 for inserted jumps
    place: dict[Copy, int] = field(default_factory=dict)  #: where each copy of a block begins
    links: list[tuple[int, str, Copy]] = field(default_factory=list)  #: (word, link, where it leads)

    def run(self) -> tuple[Function, list[int]]:
        cfg = self.function.cfg
        reached = self._reached()
        order = [copy for copy in self._layout(list(range(len(cfg.blocks))), ()) if copy in reached]
        for copy, following in zip(order, [*order[1:], None], strict=True):
            self._write(copy, following)
            if len(self.instrs) > MOST_WORDS:
                raise Refused("loops written out are too long", place=self.function.name,
                              found=f"more than {MOST_WORDS:,} words", expected="less")  # fmt: skip
        for word, _, copy in self.links:
            if copy not in self.place:
                raise Refused("lanes would not meet again where a loop is written out", place=self.function.name,
                              found=f"a branch at word {self.index[word]}", expected="a place behind it")  # fmt: skip
        offsets: dict[int, dict[str, int]] = {}
        for word, link, copy in self.links:
            offsets.setdefault(word, {})[link] = self.place[copy] - word - 1
        for word, links in offsets.items():
            self.instrs[word] = set_of(self.instrs[word]).relink(self.instrs[word], links)
        fn = self.function.fn
        lines = {n: fn.lines[old] for n, old in enumerate(self.index) if old in fn.lines}
        firsts = {old: n for n, old in reversed(list(enumerate(self.index))) if old >= 0}
        labels = {firsts[old]: name for old, name in sorted(fn.labels.items()) if old in firsts}
        touches = fn.touches_of(self.instrs, self.index)
        return replace(fn, instrs=self.instrs, lines=lines, touches=touches, labels=labels), self.index

    # -- the graph of copies

    def _loops(self, block: int) -> list[int]:
        """Return the loops around a block that are written out, outer ones first."""
        nest, found = self.function.loops, []
        k = nest.loop_of[block]
        while k >= 0:
            if k in self.last:
                found.append(k)
            k = nest.loops[k].parent
        return found[::-1]

    def _to(self, copy: Copy, block: int) -> Copy:
        """Return the copy of a block to which a way from a copy leads."""
        _, rounds = copy
        at = dict(rounds)
        found = []
        for k in self._loops(block):
            loop, now = self.function.loops.loops[k], at.get(k, 0)
            again = k in at and block == loop.header
            found.append((k, now + again))
        return block, tuple(found)

    def _ways(self, copy: Copy) -> list[int]:
        """Return the blocks that follow a copy: one where a loop's exit is decided."""
        block, rounds = copy
        ways = [int(s) for s in self.function.cfg.succs[block]]
        for k, now in rounds:
            inside = set(self.function.loops.loops[k].blocks)
            out = [s for s in ways if s not in inside]
            if out and len(ways) > len(out):
                ways = out if now == self.last[k] else [s for s in ways if s in inside]
        return ways

    def _reached(self) -> set[Copy]:
        work: list[Copy] = [self._to((-1, ()), 0)]
        seen: set[Copy] = set()
        while work:
            copy = work.pop()
            if copy not in seen:
                seen.add(copy)
                work += [self._to(copy, s) for s in self._ways(copy)]
        return seen

    def _layout(self, blocks: list[int], rounds: tuple[tuple[int, int], ...]) -> Iterator[Copy]:
        """Yield copies of blocks in the order of the code, the rounds of a loop in a row."""
        done: set[int] = set()
        for block in blocks:
            if block in done:
                continue
            inner = self._loops(block)[len(rounds) :]
            if not inner:
                yield block, rounds
                continue
            loop: Loop = self.function.loops.loops[inner[0]]
            done |= set(loop.blocks)
            for now in range(self.last[inner[0]] + 1):
                yield from self._layout([int(b) for b in loop.blocks], (*rounds, (inner[0], now)))

    # -- words

    def _write(self, copy: Copy, following: Copy | None) -> None:
        """Write the words of a copy. following: what stands behind it."""
        cfg, block = self.function.cfg, copy[0]
        self.place[copy] = len(self.instrs)
        end = cfg.blocks[block].end
        for word in range(cfg.blocks[block].start, end - 1):
            self._add(self.function.fn.instrs[word], word)
        instr, ways = self.function.fn.instrs[end - 1], self._ways(copy)
        if instr.control != Flow.BRANCH:
            self._add(instr, end - 1)
            falls = int(cfg.fall[block])
        elif len(ways) == len(cfg.succs[block]) and view_of(instr).guard is not None:
            self._add(instr, end - 1)
            self._link(copy, end - 1)
            falls = int(cfg.fall[block])
        else:
            falls = ways[0]
        if falls >= 0 and self._to(copy, falls) != following:
            jump = set_of(instr).build.jump()
            self.links.append((len(self.instrs), link_of(jump), self._to(copy, falls)))
            self._add(jump, -1)

    def _link(self, copy: Copy, word: int) -> None:
        """Note where a branch's links lead."""
        fn, cfg = self.function.fn, self.function.cfg
        for name, distance in set_of(fn.instrs[word]).links(fn.instrs[word]).items():
            target = self._to(copy, int(cfg.block_of[word + 1 + distance]))
            self.links.append((len(self.instrs) - 1, name, target))

    def _add(self, instr: Instr, old: int) -> None:
        self.instrs.append(instr)
        self.index.append(old)

"""Pairs by seed: programs whose instructions a plain scrambler puts into another order, elsewhere, or in twice.

`scramble` takes any module and answers a right rewrite with a map. It goes by registers and spaces alone and shares
nothing with checker, allocator or scheduler. Per block, at random: values that begin and end there get registers of
their own; neighbours that do not depend on each other change places; pure instructions move from the end of a block to
the beginnings of the two behind it; a value is made again for its reader; two registers change places for a while.
"""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass

from binalloc.isa.instruction import Function, Instr, Module, Origin, make
from binalloc.isa.interface.places import REG
from binalloc.isa.loom.view import links, relink, rename, view
from binalloc.isa.validate import highest_register
from tests.support.pairs.dependent_words import ENDS, block_starts, places, reads, writes
from tests.support.programs.calls import Calls, calls_of, link

Word = tuple[Instr, int]


@dataclass
class _Fresh:
    """Registers that nothing else uses."""

    next: int

    def take(self) -> int:
        self.next += 1
        return self.next - 1


def scramble(original: Module, seed: int) -> Module:
    rng = random.Random(seed)
    top = max(highest_register(fn.instrs) for fn in original.functions) + 1
    out = copy.copy(original)
    out.functions = []
    calls: Calls = {}
    old_calls = calls_of(original)
    for fn in original.functions:
        # a callee's registers stay apart from its callers'
        fresh = _Fresh(top + 40 * len(out.functions))
        new = _Scrambler(rng, fn, fresh, fresh.next + 40).run()
        out.functions.append(new)
        assert new.origin is not None
        calls[fn.name] = {n: old_calls[fn.name][k] for n, k in enumerate(new.origin.index) if k in old_calls[fn.name]}
    link(out, calls)
    registers = max(highest_register(fn.instrs) + 1 for fn in out.functions)
    for fn in out.functions:
        fn.info.registers = registers if fn.info.is_kernel else highest_register(fn.instrs) + 1
    return out


def independent(a: Instr, b: Instr) -> bool:
    """May two neighbours change places?"""
    if writes(a) & (reads(b) | writes(b)) or reads(a) & writes(b):
        return False
    va, vb = view(a), view(b)
    if va.pure or vb.pure:
        return va.control not in ENDS and vb.control not in ENDS
    ma, mb = va.memory, vb.memory
    if ma is None or mb is None or va.control or vb.control or "atomic" in (ma.access, mb.access):
        return False
    if ma.ordered or mb.ordered:
        return False
    if ma.access == mb.access == "load":
        return True
    same_base = ma.base is not None and mb.base is not None and ma.base.registers() == mb.base.registers()
    if ma.space == mb.space == "global" and same_base:
        return ma.offset + ma.size <= mb.offset or mb.offset + mb.size <= ma.offset
    return ma.space != mb.space and "generic" not in (ma.space, mb.space) and "texture" not in (ma.space, mb.space)


class _Scrambler:
    def __init__(self, rng: random.Random, fn: Function, fresh: _Fresh, limit: int) -> None:
        self.rng, self.fn, self.fresh, self.limit = rng, fn, fresh, min(limit, 250)
        instrs = fn.instrs
        self.before: dict[int, int] = {}
        self.starts = block_starts(fn)
        self.blocks: list[list[Word]] = [
            [(instrs[i], i) for i in range(a, b)] for a, b in zip(self.starts, self.starts[1:], strict=False)
        ]

    def run(self) -> Function:
        for block in self.blocks:
            self.rename(block)
            self.shuffle(block)
        self.sink()
        for block in self.blocks:
            self.make_again(block)
            self.exchange(block)
        return self.finish()

    def room(self) -> bool:
        return self.fresh.next < self.limit

    def rename(self, block: list[Word]) -> None:
        """A value of one register that is defined and overwritten here gets a register of its own."""
        for at in range(len(block)):
            v = view(block[at][0])
            if v.guard is not None or len(v.defs) != 1 or v.defs[0].units != 1 or v.defs[0].file != REG:
                continue
            place = (str(REG), v.defs[0].index)
            readers = []
            for later in range(at + 1, len(block)):
                instr, w = block[later][0], view(block[later][0])
                if w.control in ENDS or any(place in places((r,)) and r.units > 1 for r in (*w.uses, *w.defs)):
                    break
                if place in reads(instr):
                    readers.append(later)
                if place in writes(instr):
                    if w.guard is None and self.room() and self.rng.random() < 0.7:
                        self._rename(block, at, readers, place[1])
                    break

    def _rename(self, block: list[Word], at: int, readers: list[int], old: int) -> None:
        new = self.fresh.take()
        instr, k = block[at]
        block[at] = rename(instr, {view(instr).defs[0].field: new}), k
        for reader in readers:
            instr, k = block[reader]
            fields = {r.field: new for r in view(instr).uses if r.file == REG and r.index == old}
            block[reader] = rename(instr, fields), k

    def shuffle(self, block: list[Word]) -> None:
        for _ in range(3 * len(block)):
            at = self.rng.randrange(len(block) - 1) if len(block) > 1 else 0
            if len(block) > 1 and independent(block[at][0], block[at + 1][0]):
                block[at], block[at + 1] = block[at + 1], block[at]

    def sink(self) -> None:
        """Pure words at the end of a block go behind its branch, where both ways have no other entrance."""
        entered: dict[int, int] = {}
        for i, instr in enumerate(self.fn.instrs):
            if view(instr).control == "branch":
                for to in (self.fn.target(i), self.fn.reconvergence(i) or -1):
                    entered[to] = entered.get(to, 0) + 1
        for b, block in enumerate(self.blocks):
            if len(block) < 2 or view(block[-1][0]).control != "branch" or view(block[-1][0]).guard is None:
                continue
            i = block[-1][1]
            ways = self.starts[b + 1], self.fn.target(i)
            falls_in = view(self.fn.instrs[ways[1] - 1]) if ways[1] else None
            alone = falls_in is not None and falls_in.control in ENDS and falls_in.guard is None
            alone = alone and falls_in is not None and falls_in.control != "call" and entered.get(ways[1]) == 1
            if not alone or entered.get(ways[0], 0) or ways[0] == ways[1]:
                continue
            instr, k = block[-2]
            v = view(instr)
            apart = not writes(instr) & (reads(block[-1][0]) | reads(instr))
            if v.pure and apart and self.rng.random() < 0.8:
                del block[-2]
                for way in ways:
                    self.blocks[self.starts.index(way)].insert(0, (instr, k))

    def make_again(self, block: list[Word]) -> None:
        at = 0
        while at < len(block):
            instr, k = block[at]
            v = view(instr)
            again = v.pure and v.guard is None and len(v.defs) == 1 and v.defs[0].units == 1 and v.defs[0].file == REG
            if again and not writes(instr) & reads(instr) and self.room():
                for later in range(at + 1, len(block)):
                    reader = view(block[later][0])
                    uses = [r for r in reader.uses if r.file == REG and r.units == 1 and r.index == v.defs[0].index]
                    if uses and self.rng.random() < 0.5 and not reader.control:
                        new = self.fresh.take()
                        block[later] = rename(block[later][0], {uses[0].field: new}), block[later][1]
                        origin = k if self.rng.random() < 0.5 else -1
                        block.insert(later, (rename(instr, {v.defs[0].field: new}), origin))
                        break
                    if writes(block[later][0]) & (reads(instr) | writes(instr)) or reader.control in ENDS:
                        break
            at += 1

    def exchange(self, block: list[Word]) -> None:
        if len(block) < 4 or self.rng.random() < 0.3:
            return
        start = self.rng.randrange(len(block) - 2)
        end = self.rng.randrange(start + 1, len(block) - 1)
        span = [view(instr) for instr, _ in block[start:end]]
        refs = [r for v in span for r in (*v.defs, *v.uses) if r.file == REG]
        wide = {n for r in refs if r.units > 1 for n in r.registers()}
        single = sorted({r.index for r in refs} - wide)
        if any(v.control for v in span) or len(single) < 2:
            return
        a, b = self.rng.sample(single, 2)
        swapped = {a: b, b: a}
        for at in range(start, end):
            instr, k = block[at]
            v = view(instr)
            fields = {r.field: swapped[r.index] for r in (*v.defs, *v.uses) if r.file == REG and r.index in swapped}
            block[at] = rename(instr, fields), k
        fold = [(make("LOP3", rd=x, ra=x, rb=y, lut=0x3C), -1) for x, y in ((a, b), (b, a), (a, b))]
        block[start:end] = [*fold, *block[start:end], *fold]

    def finish(self) -> Function:
        at, first = 0, {}
        for start, block in zip(self.starts, self.blocks, strict=False):
            first[start] = at
            at += len(block)
        first[self.starts[-1]] = at
        instrs: list[Instr] = []
        origin: list[int] = []
        for block in self.blocks:
            for instr, k in block:
                if view(instr).control == "branch":
                    here = len(instrs)
                    instr = relink(instr, {f: first[k + 1 + v] - here - 1 for f, v in links(instr).items()})
                instrs.append(instr)
                origin.append(k)
        return Function(self.fn.name, instrs, copy.copy(self.fn.info), origin=Origin(self.fn.name, origin))

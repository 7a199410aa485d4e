"""Stores to shared memory wait here: words are kept in registers, and stored directly in front of the next barrier.

Needs a laid-out module; leaves another. A store moves across other basic blocks, loops included, if every way from it
comes to the new place, once, and nothing between accesses shared memory, orders accesses, or ends a thread. Until a
barrier no other thread may count on the word. Registers that are overwritten meanwhile are copied to ones that nobody
uses. Stores keep their order among each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from binalloc.analysis.flow.cfg import BlockNumber
from binalloc.analysis.ranges.value import WORDS, Value
from binalloc.analysis.shared.division import reached
from binalloc.analysis.shared.memory import SharedMemory, Three, shared_memory_of
from binalloc.analysis.shared.pieces import plain_store
from binalloc.bitset import mask_from
from binalloc.isa.instruction import Instr, Module, Origin
from binalloc.isa.interface.places import REG
from binalloc.isa.interface.view import Ref, View
from binalloc.isa.kinds import Access, Flow, Space
from binalloc.isa.source_facts import LOOM
from binalloc.transform.multiplex.edit import Edit, Line, in_place
from binalloc.transform.multiplex.free import unused_register

_NEVER_BETWEEN = (Space.SHARED, Space.GENERIC)


def with_late_stores(module: Module, kernel: str, block: Three) -> Module:
    """Return the module with a kernel's stores to shared memory as late as they can be, as far as there are registers.

    block: threads of a block along each axis.
    """
    work = _LateStores(shared_memory_of(module, kernel, block))
    work.run()
    fn, index = work.edit.done()
    registers = max(fn.info.registers, work.next)
    made = replace(fn, info=replace(fn.info, registers=registers, machine=""), origin=Origin(kernel, index))
    return in_place(module, made, index)


@dataclass(frozen=True)
class _Moved:
    """A moved store comes in front of another word."""

    word: int
    place: int
    written: int  #: registers that words between may write, as a bitset


class _LateStores:
    """This pass edits one kernel."""

    def __init__(self, memory: SharedMemory) -> None:
        self.memory, self.program = memory, memory.program
        self.function, self.isa = self.program.kernel, self.program.isa
        self.cfg = self.function.cfg
        self.lanes = self.program.module.memory_model == LOOM  #: the order of a warp's accesses counts
        self.edit = Edit(self.function.fn)
        self.next = unused_register(self.program)  #: first register that nobody uses
        self.tree, self.ends = self.function.dominators(), self.function.post_dominators()
        self.moved: dict[int, _Moved] = {}  #: by word

    def run(self) -> None:
        stores = [w for w in range(len(self.cfg.views)) if self.cfg.reachable(w) and plain_store(self.memory, w)]
        for word in sorted(stores, key=lambda w: (self.tree.depth[self.cfg.block_of[w]], w), reverse=True):
            place = self._latest(word)
            if place != word + 1:
                self.moved[word] = _Moved(word, place, self._written(word, place))
        places: dict[int, list[_Moved]] = {}
        for one in self.moved.values():  # later ones first
            places.setdefault(one.place, []).append(one)
        for place in sorted(places):
            self._store(place, places[place])

    # -- how far a store may go

    def _latest(self, word: int) -> int:
        """Return the word in front of which a store may come at the latest: the one behind it if it has to stay."""
        home = block = self.cfg.block_of[word]
        place = self._along(word + 1, self.cfg.blocks[block].end)
        while place == self.cfg.blocks[block].end:
            following = BlockNumber(self.ends.idom[block])
            if following >= len(self.cfg.blocks) or not self._may_come_to(home, block, following):
                return max(place - 1, word + 1)  # in front of the block's last word
            block = following
            place = self._along(self.cfg.blocks[block].start, self.cfg.blocks[block].end)
        return place

    def _may_come_to(self, home: BlockNumber, block: BlockNumber, following: BlockNumber) -> bool:
        """Return whether a store may go on from the end of a basic block to the begin of one behind it. home: block of
        the store."""
        nest = self.function.loops
        if nest.loop_of[following] != nest.loop_of[home] or not self.tree.dominates(home, following):
            return False
        for between in reached(self.cfg.succs, self.cfg.succs[block], following):
            words = range(self.cfg.blocks[between].start, self.cfg.blocks[between].end)
            if between == home or any(w in self.moved or self._stops(w) for w in words):
                return False
        return not self.lanes or self._same_lanes(block, following)

    def _same_lanes(self, block: BlockNumber, following: BlockNumber) -> bool:
        """Return whether the lanes at the end of a basic block are those at the begin of one behind it: all that part
        on the way have met again, and no others have come."""
        between = reached(self.cfg.succs, self.cfg.succs[block], following)
        points = {branch: point for branch, point in self.cfg.points.items() if self.cfg.reachable(branch)}
        inside = {branch for branch in points if self.cfg.block_of[branch] in between | {block}}
        return all((branch in inside) == (point in between | {following}) for branch, point in points.items())

    def _along(self, word: int, end: int) -> int:
        """Return the first word of a stretch that no store passes, or its end."""
        while word < end and not self._stops(word):
            word += 1
        return word

    def _stops(self, word: int) -> bool:
        """Return whether no store may pass a word."""
        if word in self.moved:
            return False
        seen = self.cfg.views[word]
        if seen.memory is not None:
            ordering = seen.memory.ordered or seen.memory.access == Access.ATOMIC
            return ordering or seen.memory.space in _NEVER_BETWEEN
        exchange = seen.convergent and not seen.control and self.isa.barrier(seen.instr) is None
        return not (seen.pure or exchange or seen.control == Flow.BRANCH)

    def _written(self, word: int, place: int) -> int:
        """Return the registers that may be written between a store and its new place."""
        home, target = self.cfg.block_of[word], self.cfg.block_of[place]
        spans = [(word + 1, place)]
        if home != target:
            between = reached(self.cfg.succs, self.cfg.succs[home], target)
            spans = [(self.cfg.blocks[b].start, self.cfg.blocks[b].end) for b in between]
            spans += [(word + 1, self.cfg.blocks[home].end), (self.cfg.blocks[target].start, place)]
        return mask_from(
            register
            for start, end in spans for w in range(start, end)
            for ref in self.cfg.views[w].defs if ref.file == REG for register in ref.registers()
        )  # fmt: skip

    # -- stores at their new places

    def _store(self, place: int, stores: list[_Moved]) -> None:
        """Put stores in front of a word. stores: later ones first."""
        bases = self._bases(place)
        lines: list[Line] = []
        for one in stores:
            line = self._line(one, bases)
            if line is None:
                break  # earlier ones may not pass it
            lines.append(line)
        self.edit.insert(place, None, lines[::-1])

    def _bases(self, place: int) -> list[tuple[int, Value]]:
        """Return registers with addresses that are read at a place, and what is in them."""
        seen = self.cfg.views[place]
        operand = seen.address_operand
        if operand is None:
            return []
        return [(seen.uses[operand].index, self._value(place, operand))]

    def _value(self, word: int, operand: int) -> Value:
        f = self.memory.ranges.functions[self.function.name]
        return f.word(word, self.function.webs.web_of_use[word, operand, 0])

    def _line(self, one: _Moved, bases: list[tuple[int, Value]]) -> Line | None:
        """Return a store with its operands at its new place, and let copies be made; None if registers do not suffice:
        it stays then."""
        seen = self.cfg.views[one.word]
        before, copies, names = self.next, list[Instr](), dict[str, int]()
        assert seen.memory is not None
        for ref in seen.memory.data(seen.uses):
            names[ref.field] = self._kept(ref, one.written, copies)
        instr = self.isa.rename(seen.instr, {f: r for f, r in names.items() if f})
        instr = self._addressed(one, seen, instr, bases, copies)
        if self.next >= self.isa.limits.zero:
            self.next = before
            return None
        self.edit.removed.add(one.word)
        self.edit.behind(one.word, copies)
        return Line(instr, old=one.word)

    def _kept(self, ref: Ref, written: int, copies: list[Instr]) -> int:
        """Return the first register in which an operand's words are at the new place."""
        if not mask_from(ref.registers()) & written:
            return ref.index
        first = -(-self.next // ref.alignment) * ref.alignment
        self.next = first + ref.units
        copies += [self.isa.build.copy(first + k, r) for k, r in enumerate(ref.registers())]
        return first

    def _addressed(
        self, one: _Moved, seen: View, instr: Instr, bases: list[tuple[int, Value]], copies: list[Instr]
    ) -> Instr:
        """Return a store with an address that is counted from a register with a known distance, if there is any."""
        operand = seen.address_operand
        assert seen.memory is not None
        if operand is None:
            return instr
        value = self._value(one.word, operand)
        for register, there in bases:
            distance = value.plus(there, -1)
            if distance.known and np.ptp(distance.base) == 0:
                offset = seen.memory.offset + _signed(int(np.min(distance.base)))
                try:
                    return self.isa.readdress(instr, register, offset)
                except ValueError:
                    continue
        register = self._kept(seen.uses[operand], one.written, copies)
        bases.append((register, value))
        return self.isa.readdress(instr, register, seen.memory.offset)


def _signed(word: int) -> int:
    """Return a word as a signed number."""
    return word - WORDS if word >= WORDS // 2 else word

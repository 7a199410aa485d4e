"""This module turns coloured virtual code with placed memory values back into a function of the binary.

It needs a register for every value, a place (slot or local word) for every memory value, and per call the slot
pointer's shift with the moves that pack live slots below it. It leaves instructions with relinked branches, and
the instruction map. Control codes still have to be set. Call offsets are fixed once all functions have addresses.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property

from binalloc.analysis.locations import Location
from binalloc.errors import Refused
from binalloc.isa.instruction import Function, Instr, Origin
from binalloc.isa.interface.instruction_set import InstructionSet
from binalloc.isa.interface.view import ALWAYS, Guard
from binalloc.isa.postdom import unusual_points
from binalloc.models.allocation.terms import Register
from binalloc.transform.allocate.functions.registers import RegisterAllocation
from binalloc.transform.rewrite.normalise import Normalised
from binalloc.transform.virtual.code import (
    ARRIVE,
    COPY,
    ENTRY,
    EXCHANGE,
    PASS,
    RELOAD,
    STORE,
    Item,
    VBlock,
    VCode,
    VOperand,
)


@dataclass
class CallPlan:
    """A call plan says how slots move around one call."""

    shift: int = 0  #: slots between our slot pointer and the callee's
    moves: list[tuple[int, int]] = field(default_factory=list)  #: (from, to) slots, moved before the call
    back: list[tuple[int, int]] = field(default_factory=list)  #: moved behind it
    #: argument that the callee has in memory -> slot, counted from our own first one
    slots: dict[Location, int] = field(default_factory=dict)
    #: argument that the callee has in memory -> byte of local memory
    words: dict[Location, int] = field(default_factory=dict)


@dataclass
class MemoryPlan:
    """A memory plan says where the memory values of a function are."""

    slot_of: dict[int, int] = field(default_factory=dict)  #: memory value -> slot relative to the slot pointer
    local_of: dict[int, int] = field(default_factory=dict)  #: memory value -> byte in local memory
    #: reload or store, by number in code order -> slot that it goes to instead
    moved: dict[int, int] = field(default_factory=dict)
    calls: list[CallPlan] = field(default_factory=list)  #: one plan per call item, in code order
    pointer: int = -1  #: the slot pointer register, or -1 where the function and all its callees use no slots
    is_kernel: bool = False


@dataclass
class Emitted:
    """An emitted function is a finished function body, except for the offsets of its calls."""

    function: Function
    calls: dict[int, str]  #: word index -> callee name, to be linked when addresses are known


class _Emitter:
    """This pass emits the instructions of one function."""

    def __init__(
        self,
        isa: InstructionSet,
        alloc: RegisterAllocation,
        source: Normalised,
        plan: MemoryPlan,
        scratch: list[tuple[int, int]],
    ) -> None:
        self.isa, self.build = isa, isa.build
        self.code: VCode = alloc.code
        self.colour = alloc.colour
        self.source = source
        self.plan = plan
        self.scratch = scratch
        self.instrs: list[Instr] = []
        self.origin: list[int] = []
        self.calls: dict[int, str] = {}
        self.branches: list[tuple[int, Item, VBlock]] = []
        self.call_number = self.access_number = 0

    def run(self) -> Emitted:
        starts: list[int] = []
        if self.plan.is_kernel and self.plan.pointer >= 0:
            self._insert(self.build.slot_pointer(self.plan.pointer))
        for block in self.code.blocks:
            starts.append(len(self.instrs))
            waiting: list[tuple[Register, Register]] = []  # successive exchanges of different registers
            for item in block.items:
                if item.kind == EXCHANGE:
                    pair = self._register(item.defs[0]), self._register(item.defs[1])
                    if any(register in pair for other in waiting for register in other):
                        self._exchange(waiting)
                    waiting.append(pair)
                    continue
                self._exchange(waiting)
                self._item(item, block)
            self._exchange(waiting)
            if starts[-1] == len(self.instrs) and block.leader in self._points:
                self._insert(self.build.nothing())
            if self._only_a_call(block.leader, starts[-1]):
                starts[-1] = self._guard_call(starts[-1])
        leaders = {block.leader: start for block, start in zip(self.code.blocks, starts, strict=True)}
        self._link(starts, leaders)
        fn = self.source.function
        to_original = self.source.origin
        origin = [to_original[o] if o >= 0 else -1 for o in self.origin]
        out = Function(fn.name, self.instrs, fn.info, list(fn.shared), self._labels(leaders), self._lines())
        out.touches = fn.touches_of(self.instrs, self.origin)
        out.origin = Origin(fn.name, origin)
        return Emitted(out, self.calls)

    @cached_property
    def _points(self) -> set[int]:
        """Return the words of the source that are reconvergence points and must stay words of their own. Otherwise
        lanes that never came to the point, or waited for another, would come to it with the word behind it. The set is
        empty if all points are the immediate post-dominators of their branches: lanes then come to both words in any
        case."""
        return set(unusual_points(self.source.function).values())

    def _only_a_call(self, leader: int, start: int) -> bool:
        """Say whether the block just emitted from `start` is nothing but the call of a detour that `normalise` made."""
        return (
            start + 1 == len(self.instrs)
            and start in self.calls
            and self.source.origin[leader - 1] < 0
            and bool(self.branches)
            and (self.branches[-1][0], self.branches[-1][1].origin) == (start - 1, leader - 1)
        )

    def _guard_call(self, at: int) -> int:
        """Replace the branch before `at` and the call there by one guarded call, as it was; return its place. This
        saves a word and an entry of the reconvergence stack."""
        branch, call = self.instrs[at - 1], self.instrs[at]
        self.instrs[at - 1 :] = [call.replace(guard=(branch.guard, not branch.guard_neg))]
        del self.origin[at - 1]
        self.branches.pop()
        self.calls[at - 1] = self.calls.pop(at)
        return at - 1

    def _insert(self, instr: Instr, origin: int = -1) -> None:
        self.instrs.append(instr)
        self.origin.append(origin)

    def _register(self, operand: VOperand) -> Register:
        return self.colour[operand.values[0]]

    def _item(self, item: Item, block: VBlock) -> None:
        """Emit one item."""
        guard = item.guard or ALWAYS
        if item.kind in (ENTRY, ARRIVE):
            return
        if item.kind == COPY:
            target, source = self._register(item.defs[0]), self._register(item.uses[0])
            if target != source:
                self._insert(self.build.copy(target, source, guard), item.origin)
        elif item.kind == RELOAD:
            self._insert(self._reload(self._register(item.defs[0]), item.memory, guard))
        elif item.kind == STORE:
            self._insert(self._store(self._register(item.uses[0]), item.memory, guard))
        elif item.kind == PASS:
            self._pass(item)
        elif item.callee:
            self._call(item)
        else:
            self._plain(item, block)

    def _exchange(self, pairs: list[tuple[Register, Register]]) -> None:
        """Let pairs exchange their contents, and empty the list. All pairs go step by step together, since each step of
        one waits for its last."""
        steps = [self.build.exchange(one, other) for one, other in pairs]
        for step in zip(*steps, strict=True):
            for instr in step:
                self._insert(instr)
        pairs.clear()

    def _plain(self, item: Item, block: VBlock) -> None:
        assert item.instr is not None
        fields: dict[str, int] = {o.field: self._register(o) for o in (*item.uses, *item.defs) if o.field}
        if self.isa.links(item.instr):
            self.branches.append((len(self.instrs), item, block))
        instr = self.isa.rename(item.instr, fields)
        if item.guard is not None and not instr.guarded:  # an inserted instruction under its original's guard
            instr = instr.replace(guard=item.guard)
        self._insert(instr, item.origin)

    def _reload(self, target: int, value: int, guard: Guard) -> Instr:
        slot = self._slot(value)
        if slot is not None:
            return self.build.load_slot(target, self.plan.pointer, slot, guard)
        return self.build.load_local(target, self.plan.local_of[value], guard)

    def _store(self, source: int, value: int, guard: Guard) -> Instr:
        slot = self._slot(value)
        if slot is not None:
            return self.build.store_slot(source, self.plan.pointer, slot, guard)
        return self.build.store_local(source, self.plan.local_of[value], guard)

    def _slot(self, value: int) -> int | None:
        """Return the slot of the next access, an access to that value; None for local memory."""
        self.access_number += 1
        return self.plan.moved.get(self.access_number - 1, self.plan.slot_of.get(value))

    def _pass(self, item: Item) -> None:
        """Store an argument of the next call where its callee has it, if the callee reads it at all."""
        call, source = self.plan.calls[self.call_number], self._register(item.uses[0])
        if item.passes in call.slots:
            self._insert(self.build.store_slot(source, self.plan.pointer, call.slots[item.passes], ALWAYS))
        elif item.passes in call.words:
            self._insert(self.build.store_local(source, call.words[item.passes], ALWAYS))

    def _call(self, item: Item) -> None:
        """Emit a call with its moves of slots and shifts of the slot pointer."""
        assert item.instr is not None
        call = self.plan.calls[self.call_number] if self.plan.calls else CallPlan()
        before, after = self.scratch[self.call_number]
        self.call_number += 1
        pointer = self.plan.pointer
        self._move(call.moves, before)
        if call.shift:
            self._insert(self.build.shift_pointer(pointer, call.shift))
        self.calls[len(self.instrs)] = item.callee
        self._insert(item.instr, item.origin)
        if call.shift:
            self._insert(self.build.shift_pointer(pointer, -call.shift))
        self._move(call.back, after)

    def _move(self, moves: list[tuple[int, int]], through: int) -> None:
        for source, target in moves:
            self._insert(self.build.load_slot(through, self.plan.pointer, source))
            self._insert(self.build.store_slot(through, self.plan.pointer, target))

    def _link(self, starts: list[int], leaders: dict[int, int]) -> None:
        """Set the targets of every branch: the first word of its target block, and that of its reconvergence point."""
        for index, item, block in self.branches:
            offsets = {}
            for place, (name, offset) in enumerate(self.isa.links(self.instrs[index]).items()):
                leader = item.origin + 1 + offset
                if place == 0:
                    offsets[name] = starts[block.taken] - index - 1
                elif leader in leaders:
                    offsets[name] = leaders[leader] - index - 1
                else:
                    word = f"{self.source.function.name}+{item.origin}"
                    raise Refused("branch into code that was dropped", place=word)
            self.instrs[index] = self.isa.relink(self.instrs[index], offsets)

    def _labels(self, start_of: dict[int, int]) -> dict[int, str]:
        return {start_of[i]: name for i, name in sorted(self.source.function.labels.items()) if i in start_of}

    def _lines(self) -> dict[int, tuple[str, int]]:
        """Return the line table of the new code. A word has the line of its original, an inserted word that of the word
        before."""
        old_lines = self.source.function.lines
        if not old_lines:
            return {}
        starts = sorted(old_lines)
        out: dict[int, tuple[str, int]] = {}
        last: tuple[str, int] | None = None
        for index, old in enumerate(self.origin):
            if old < 0:
                continue
            position = bisect_right(starts, old)
            line = old_lines[starts[position - 1]] if position else None
            if line is not None and line != last:
                out[index] = line
                last = line
        return out


def emit(
    isa: InstructionSet,
    alloc: RegisterAllocation,
    source: Normalised,
    plan: MemoryPlan,
    scratch: list[tuple[int, int]],
) -> Emitted:
    """Return the function of `alloc` as instructions of `isa`; see the module docstring."""
    return _Emitter(isa, alloc, source, plan, scratch).run()

"""This module lowers calls of recursive functions, and the functions' frames: everything is passed in local memory.

It needs an optimised routine whose predicates are allocated. Afterwards calls of recursive functions have no arguments
and results. Across a call within this routine's own cycle, values live in memory only. So such a function can be
allocated before its callees are. The convention in local memory is:

- The word at `Stack.pointer` says where the next frame begins. A kernel sets it to `Stack.start`.
- A caller leaves the arguments in the first words of the next frame, and finds the results there.
- A recursive function moves the pointer behind its frame, and back when it returns. If that would be behind the stack's
  end it traps, before it has written anything.
- A caller in the same cycle saves in its frame the values that it needs after the call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from binalloc.frontend.allocate.flat_routine import FIRST_LINE, flat_routine
from binalloc.frontend.emitter import Emitter, Guard, imm
from binalloc.frontend.ir import FIRST_REGISTER, RZ, Routine, RoutineBlock, Stack, VirtualNode
from binalloc.isa.instruction import WORD
from binalloc.isa.interface.places import REG
from binalloc.isa.kinds import Flow
from binalloc.isa.runtime import STACK_TRAP
from binalloc.transform.virtual.live_ranges import live_ranges, lives_at

_PROLOGUE = 0
"""The predicate of the check against the stack's end. A function has no live predicates when it begins."""


def use_stack(
    routine: Routine, stack: Stack, recursive: Callable[[str], bool], predicates: dict[int, int], *, begins: bool
) -> None:
    """Make a routine use the stack, in place: its calls of recursive functions, and its own frame if it is recursive.

    recursive: whether a routine is recursive. predicates: virtual predicates -> P0..P6, to which one is added. begins:
    whether it is a kernel that calls recursive functions, directly or through others.
    """
    _Work(routine, stack, recursive, predicates).run(begins)


@dataclass
class _Work:
    """`_Work` makes one routine use the stack, and keeps the state of that."""

    routine: Routine
    stack: Stack
    recursive: Callable[[str], bool]
    predicates: dict[int, int]
    #: id of a call within the cycle -> units that are live across it
    saved: dict[int, list[int]] = field(default_factory=dict)
    kept: int = 0  #: byte of the frame at which they are saved
    size: int = 0  #: bytes of the frame

    def run(self, begins: bool) -> None:
        routine = self.routine
        self.emitter = Emitter(routine.registers)
        if routine.cycle:
            self._find_saved()
            self.kept = routine.info.local_frame
            most = max(map(len, self.saved.values()), default=0)
            align = self.stack.align
            self.size = -(-(self.kept + WORD * most) // align) * align
            routine.info.local_frame = self.size
        for block in routine.blocks:
            self.emitter.block = RoutineBlock(block.number, label=block.label)
            for node in block.nodes:
                self._node(node)
            block.nodes = self.emitter.block.nodes
        if routine.cycle or begins:
            self._begin(begins)
        if routine.cycle:
            routine.arguments, routine.results = [], []

    def _find_saved(self) -> None:
        routine = self.routine
        calls = [(k, n) for k, n in enumerate(routine.nodes(), FIRST_LINE) if n.callee in routine.cycle]
        live = live_ranges(flat_routine(routine, REG), len(routine.registers.base))
        for line, node in calls:
            others = {routine.frame, *node.results}
            self.saved[id(node)] = [
                unit
                for unit, intervals in enumerate(live.intervals, FIRST_REGISTER)
                if unit not in others and lives_at(intervals, 2 * line + 1)
            ]

    def _begin(self, kernel: bool) -> None:
        """Add a block in front. No branch goes to it."""
        routine, emitter = self.routine, self.emitter
        first = RoutineBlock(max(block.number for block in routine.blocks) + 1)
        emitter.block, emitter.loc = first, routine.nodes()[0].loc
        routine.blocks.insert(0, first)
        if kernel:
            self._store(RZ, self.stack.pointer, emitter.unit(imm(self.stack.start)))
            return
        frame, *arguments = routine.arguments
        behind, overflow = emitter.new(), emitter.predicate()
        self.predicates[overflow] = _PROLOGUE
        self._load(frame, RZ, self.stack.pointer)
        emitter.emit("IADD3", rd=behind, a=frame, b=imm(self.size), c=RZ)
        emitter.emit("ISETP", pd0=overflow, a=behind, b=imm(self.stack.end), icmp="GT", u32cmp="U32")
        emitter.emit("ST", ra=RZ, moff=STACK_TRAP, rb=RZ, width="32", guard=(overflow, False))
        self._store(RZ, self.stack.pointer, behind)
        for k, unit in enumerate(arguments):
            self._load(unit, frame, WORD * k)

    def _node(self, node: VirtualNode) -> None:
        self.emitter.loc = node.loc
        nodes = self.emitter.block.nodes
        if node.callee in self.routine.cycle:
            self._call_back(node)
        elif node.callee and self.recursive(node.callee):
            self._call(node)
        else:
            if self.routine.cycle and node.instr.control == Flow.RETURN:
                guard = (node.instr.guard, node.instr.guard_neg)
                for k, unit in enumerate(self.routine.results):
                    self._store(self.routine.frame, WORD * k, unit, guard)
                self._store(RZ, self.stack.pointer, self.routine.frame, guard)
            nodes.append(node)

    def _call(self, node: VirtualNode) -> None:
        """Emit a call from outside of the callee's cycle. Values that are live across it may be in registers."""
        emitter = self.emitter
        if node.args:
            there = emitter.new()
            self._load(there, RZ, self.stack.pointer)
            for k, unit in enumerate(node.args):
                self._store(there, WORD * k, unit)
        emitter.block.nodes.append(VirtualNode(node.instr, node.loc, callee=node.callee))
        if node.results:
            there = emitter.new()
            self._load(there, RZ, self.stack.pointer)
            self._take(node, there, 0)

    def _call_back(self, node: VirtualNode) -> None:
        """Emit a call within the cycle of this routine."""
        emitter, frame = self.emitter, self.routine.frame
        saved = self.saved[id(node)]
        for k, unit in enumerate(saved):
            self._store(frame, self.kept + WORD * k, unit)
        for k, unit in enumerate(node.args):
            self._store(frame, self.size + WORD * k, unit)
        emitter.block.nodes.append(VirtualNode(node.instr, node.loc, callee=node.callee))
        self._load(frame, RZ, self.stack.pointer)
        emitter.emit("IADD3", rd=frame, a=frame, b=imm(-self.size), c=RZ)
        self._take(node, frame, self.size)
        for k, unit in enumerate(saved):
            self._load(unit, frame, self.kept + WORD * k)

    def _take(self, node: VirtualNode, base: int, offset: int) -> None:
        """Load results from the words that begin at base + offset."""
        for k, unit in enumerate(node.results):
            if unit != RZ:
                self._load(unit, base, offset + WORD * k)

    def _load(self, unit: int, base: int, offset: int) -> None:
        self.emitter.emit("LDL", rd=unit, ra=base, moff=offset, width="32")

    def _store(self, base: int, offset: int, unit: int, guard: Guard | None = None) -> None:
        self.emitter.emit("STL", ra=base, moff=offset, rb=unit, width="32", guard=guard)

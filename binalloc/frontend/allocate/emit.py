"""From an allocated routine to a Loom function: registers, calls, block layout, branches, reconvergence, lines.

Needs a register for every unit and a place for every predicate. Leaves branch offsets and reconvergence points set;
CALL offsets are set when all functions have addresses (`program`).
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.frontend.allocate.assign import Registered
from binalloc.frontend.allocate.block_order import order_blocks
from binalloc.frontend.allocate.calls import Contract, parallel_copy
from binalloc.frontend.ir import FIRST_PREDICATE, FIRST_REGISTER, Node, Routine
from binalloc.isa.instruction import Function, Instr, make
from binalloc.isa.kinds import LEAVES
from binalloc.isa.loom.view import rename

_REGISTER_FIELDS = ("rd", "ra", "rb", "rc")
_PREDICATE_FIELDS = ("pd0", "pd1", "ps0", "ps1", "ps2")


@dataclass
class Emitted:
    """function: its CALLs still point nowhere. calls: word -> callee's name."""

    function: Function
    calls: dict[int, str]


class _Emitter:
    def __init__(
        self,
        routine: Routine,
        registers: Registered,
        predicates: dict[int, int],
        contracts: dict[str, Contract],
        locations: list[tuple[str, int]],
    ) -> None:
        self.routine = routine
        self.register = registers.register
        self.registered = registers
        self.predicates = predicates
        self.contracts = contracts
        self.locations = locations
        self.order = order_blocks(routine)
        self.instrs: list[Instr] = []
        self.locs: list[int] = []
        self.calls: dict[int, str] = {}
        self.branches: list[tuple[int, int, int]] = []  # word, block number, target block number

    def run(self) -> Emitted:
        starts: dict[int, int] = {}
        labels: dict[int, str] = {}
        for block in self.order.blocks:
            starts[block.number] = len(self.instrs)
            if block.label and len(self.instrs) not in labels:
                labels[len(self.instrs)] = block.label
            for node in block.nodes:
                self._node(node, block.number)
        last = self.instrs[-1] if self.instrs else None
        if last is None or last.guarded or last.op.control not in LEAVES:
            self._append(make("EXIT" if self.routine.is_kernel else "RET"), -1)
        self._link(starts)
        fn = Function(self.routine.name, self.instrs, self.routine.info, list(self.routine.shared), labels)
        fn.lines = self._lines()
        return Emitted(fn, self.calls)

    def _append(self, instr: Instr, loc: int) -> None:
        self.instrs.append(instr)
        self.locs.append(loc)

    def _node(self, node: Node, block: int) -> None:
        if node.callee:
            self._call(node)
            return
        instr = self._physical(node.instr)
        if instr.op.name == "MOV" and instr.f.get("rb") == instr.f["rd"] and not instr.f.get("form"):
            return  # a copy of a register to itself
        if node.target >= 0:
            self.branches.append((len(self.instrs), block, self.order.target(node.target)))
            if node.uniform:
                self.branches[-1] = (len(self.instrs), -1, self.order.target(node.target))
        self._append(instr, node.loc)

    def _physical(self, instr: Instr) -> Instr:
        f = dict(instr.f)
        for name in _REGISTER_FIELDS:
            number = f.get(name, 0)
            if number >= FIRST_REGISTER:
                f[name] = self.register[number - FIRST_REGISTER]
        for name in _PREDICATE_FIELDS:
            number = f.get(name, 0)
            if number >= FIRST_PREDICATE:
                f[name] = self.predicates.get(number, 0)
        guard = instr.guard
        if guard >= FIRST_PREDICATE:
            guard = self.predicates.get(guard, 0)
        return Instr(instr.op, f, guard, instr.guard_neg, instr.ctrl)

    def _call(self, node: Node) -> None:
        contract = self.contracts[node.callee]
        sources = [self.registered.of(unit) for unit in node.args]
        for instr in parallel_copy(list(zip(contract.arguments, sources, strict=True))):
            self._append(instr, node.loc)
        self.calls[len(self.instrs)] = node.callee
        self._append(self._physical(node.instr), node.loc)
        fetched: dict[int, int] = {}
        for unit, register in zip(node.results, contract.results, strict=True):
            if unit >= FIRST_REGISTER:
                fetched[self.registered.of(unit)] = register
        for instr in parallel_copy(sorted(fetched.items())):
            self._append(instr, node.loc)

    def _link(self, starts: dict[int, int]) -> None:
        end = len(self.instrs) - 1
        for word, block, target in self.branches:
            instr = self.instrs[word]
            fields = {"target": starts[target] - word - 1}
            if instr.guarded and block >= 0:
                meeting = self.order.meeting.get(block, -1)
                where = starts[meeting] if meeting >= 0 else end
                fields |= {"diverges": 1, "reconv": where - word - 1}
            self.instrs[word] = rename(instr, fields)

    def _lines(self) -> dict[int, tuple[str, int]]:
        out: dict[int, tuple[str, int]] = {}
        last = -1
        for word, loc in enumerate(self.locs):
            if loc >= 0 and loc != last:
                out[word] = self.locations[loc]
                last = loc
        return out


def emit(
    routine: Routine,
    registers: Registered,
    predicates: dict[int, int],
    contracts: dict[str, Contract],
    locations: list[tuple[str, int]],
) -> Emitted:
    """The function `routine` describes, as Loom instructions; see the module docstring."""
    return _Emitter(routine, registers, predicates, contracts, locations).run()

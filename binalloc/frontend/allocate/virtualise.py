"""This module turns a routine in sequence into the virtual code for register allocation.

The routine's predicates must be allocated, and its callees must have contracts. In the virtual code every unit is a
value. Each call names the registers in which its callee's contract expects arguments and leaves results. Callers know
the words of arguments and results by their numbers, in order.
"""

from __future__ import annotations

from collections.abc import Mapping

from binalloc.analysis.flow.cfg import NO_BLOCK, build_cfg
from binalloc.analysis.flow.loops import find_loops
from binalloc.analysis.locations import Location
from binalloc.bitset import mask_from
from binalloc.frontend.allocate.layout import LaidOut
from binalloc.frontend.ir import FIRST_REGISTER, RZ, Routine, VirtualNode
from binalloc.isa.interface.banks import bank_bytes
from binalloc.isa.interface.places import PRED, REG
from binalloc.isa.interface.view import Ref, View
from binalloc.isa.kinds import Flow
from binalloc.isa.sets.loom import LOOM
from binalloc.isa.sets.table import may_fault
from binalloc.models.allocation.terms import Value
from binalloc.transform.virtual.code import ANYWHERE, COPY, ENTRY, INSTR, Item, VBlock, VCode, VOperand
from binalloc.transform.virtual.contract import Contract


def virtualise(
    routine: Routine,
    laid: LaidOut,
    contracts: Mapping[str, Contract],
    changed: Mapping[str, int],
    constants: Mapping[int, bytes],
) -> VCode:
    """Return the virtual code of `routine`.

    contracts: by callee. changed: by callee, the predicates that it may change. constants: the program's banks.
    """
    made = _Virtualising(routine, laid, contracts, changed)
    # For a function, the parameters in bank 0 are unknown: several kernels may call it.
    made.code.banks = bank_bytes(constants, routine.info.params)
    return made.run()


def _value(unit: int) -> Value:
    return Value(unit - FIRST_REGISTER)


class _Virtualising:
    """`_Virtualising` makes the virtual code of one routine."""

    def __init__(
        self, routine: Routine, laid: LaidOut, contracts: Mapping[str, Contract], changed: Mapping[str, int]
    ) -> None:
        self.routine, self.laid, self.contracts, self.changed = routine, laid, contracts, changed
        self.code = VCode(laid.function, [])
        self.code.names += [f"v{k}" for k in range(len(routine.registers.base))]
        #: the routine's results, as RET reads them
        self.returned = tuple(
            VOperand("", (_value(unit),), location=Location(k)) for k, unit in enumerate(routine.results)
        )
        self.definitions: dict[Value, int] = {}  #: value -> number of its definitions
        self.operands: dict[Ref, VOperand] = {}  #: reference -> its operand, made once

    def run(self) -> VCode:
        """Make the virtual code: an entry block that defines the arguments, then the blocks of the function in
        order."""
        entry = tuple(
            VOperand("", (_value(unit),), location=Location(k)) for k, unit in enumerate(self.routine.arguments)
        )
        self.definitions = dict.fromkeys((o.values[0] for o in entry), 1)
        cfg = build_cfg(self.laid.function)
        loops = find_loops(cfg)
        kept = [b for b in range(len(cfg.blocks)) if cfg.rpo_number[b] >= 0 or b in cfg.points.values()]
        number = {b: k + 1 for k, b in enumerate(kept)}
        self.code.blocks.append(VBlock(-1, [Item(ENTRY, defs=entry)], (1,)))
        for b in kept:
            block = VBlock(cfg.blocks[b].start, weight=float(loops.weight[b]), loop=loops.loop_of[b])
            block.succs = tuple(number[s] for s in cfg.succs[b])
            block.taken = number[cfg.taken[b]] if cfg.taken[b] >= 0 else -1
            meeting = cfg.points.get(cfg.blocks[b].end - 1, NO_BLOCK)
            block.meeting = number[meeting] if meeting >= 0 else -1
            for i in range(cfg.blocks[b].start, cfg.blocks[b].end):
                self._instruction(i, cfg.views[i], block.weight, block.items)
            self.code.blocks.append(block)
        self.code.constants = {v: i for v, i in self.code.constants.items() if self.definitions.get(v, 0) <= 1}
        if not self.routine.is_kernel:
            self.code.predicates = 0
            for item in self.code.items():
                self.code.predicates |= item.predicate_defs
        return self.code

    def _instruction(self, i: int, view: View, weight: float, out: list[Item]) -> None:
        instr = self.laid.function.instrs[i]
        if i in self.laid.calls:
            self._call(i, self.laid.calls[i], weight, out)
            return
        uses = self._operands(view.uses)
        if view.control == Flow.RETURN:
            uses += self.returned
        defs = self._operands(view.defs)
        for operand in defs:
            for value in operand.values:
                self.definitions[value] = self.definitions.get(value, 0) + 1
        single = len(view.defs) == 1 and view.defs[0].units == 1
        if view.constant and single and defs and not may_fault(instr, self.code.banks):
            self.code.constants[defs[0].values[0]] = instr
        written, read = _predicates(view.defs), _predicates(view.uses)
        kind = COPY if view.copy else INSTR
        out.append(Item(kind, instr, i, defs, uses, view.guard, written, weight=weight, predicate_uses=read))

    def _operands(self, refs: tuple[Ref, ...]) -> tuple[VOperand, ...]:
        """Return the register operands. Equal references give the same object."""
        found: list[VOperand] = []
        for ref in refs:
            if ref.file == REG:
                operand = self.operands.get(ref)
                if operand is None:
                    values = tuple(map(_value, ref.registers()))
                    operand = self.operands[ref] = VOperand(ref.field, values, alignment=ref.alignment)
                found.append(operand)
        return tuple(found)

    def _call(self, i: int, node: VirtualNode, weight: float, out: list[Item]) -> None:
        contract = self.contracts[node.callee]
        uses = tuple(
            VOperand("", (self._argument(unit, weight, out),), contract.arguments[Location(k)])
            for k, unit in enumerate(node.args)
        )
        defs: list[VOperand] = []
        for k, unit in enumerate(node.results):
            # A callee that never returns has no results in its contract, but the units are still redefined here.
            if unit != RZ:
                value = _value(unit)
                defs.append(VOperand("", (value,), contract.results.get(Location(k), ANYWHERE)))
                self.definitions[value] = self.definitions.get(value, 0) + 1
        instr = self.laid.function.instrs[i]
        call = Item(INSTR, instr, i, tuple(defs), uses, None, self.changed[node.callee], weight=weight)
        call.callee = node.callee
        out.append(call)

    def _argument(self, unit: int, weight: float, out: list[Item]) -> Value:
        """Return the value of an argument. Zero gets a value of its own."""
        if unit != RZ:
            return _value(unit)
        value = self.code.value()
        zero, field = LOOM.build.zero()
        out.append(Item(INSTR, zero, defs=(VOperand(field, (value,)),), weight=weight))
        self.code.constants[value] = zero
        return value


def _predicates(refs: tuple[Ref, ...]) -> int:
    return mask_from(ref.index for ref in refs if ref.file == PRED)

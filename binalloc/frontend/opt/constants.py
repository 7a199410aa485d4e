"""This module makes constants anew where they are used, instead of keeping them in registers.

A MOV of an immediate or a constant-bank word costs one instruction and no memory access. A register that holds it over
a long range costs occupancy. Each block, and each window of nodes within it, makes its own constants.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Source
from binalloc.frontend.ir import Routine, VirtualNode
from binalloc.frontend.opt import operands as ops
from binalloc.frontend.opt.facts import UnitFacts
from binalloc.isa.instruction import Instr, make
from binalloc.isa.interface.places import REG

WINDOW = 24
"""Nodes after a use during which a constant stays in its register. A larger window saves instructions and costs
registers; chosen by hand."""


def rematerialise(routine: Routine) -> None:
    """Replace reads of units that MOV sets to constants by reads of fresh units, set just before the read."""
    facts = UnitFacts(routine)
    constant: dict[int, Source] = {}
    for node in routine.nodes():
        instr = node.instr
        if instr.op.name == "MOV" and facts.is_stable(instr.f["rd"]):
            source = ops.read(instr).b
            if not isinstance(source, int) and source is not None:
                constant[instr.f["rd"]] = source
    if constant:
        for block in routine.blocks:
            block.nodes = _Block(routine, constant).run(block.nodes)


class _Block:
    """`_Block` makes the constants of one block where they are used."""

    def __init__(self, routine: Routine, constant: dict[int, Source]) -> None:
        self.routine = routine
        self.constant = constant  #: unit -> its constant
        #: constants -> (the first unit that holds them in this block, index of its last use)
        self.made: dict[tuple[Source, ...], tuple[int, int]] = {}
        self.out: list[VirtualNode] = []

    def run(self, nodes: list[VirtualNode]) -> list[VirtualNode]:
        for place, node in enumerate(nodes):
            instr = node.instr
            if instr.op.name == "MOV" and instr.f["rd"] in self.constant:
                self.out.append(node)  # dead, if every use makes its own
                continue
            changes = {
                ref.field: self._here(ref.index, ref.units, place, node)
                for ref in node.view.uses
                if ref.file == REG and ref.field and all(unit in self.constant for unit in ref.registers())
            }
            if changes:
                node.instr = Instr(instr.op, {**instr.f, **changes}, instr.guard, instr.guard_neg, instr.ctrl)
            if node.callee:
                node.args = tuple(self._here(u, 1, place, node) if u in self.constant else u for u in node.args)
            self.out.append(node)
        return self.out

    def _here(self, unit: int, units: int, place: int, node: VirtualNode) -> int:
        """Return the first unit of a group, made in this block, that holds the same constants."""
        wanted = tuple(self.constant[unit + k] for k in range(units))
        known = self.made.get(wanted)
        if known is not None and place - known[1] <= WINDOW:
            self.made[wanted] = (known[0], place)
            return known[0]
        fresh = self.routine.registers.new(units)
        for k, source in enumerate(wanted):
            move = ops.rebuild(make("MOV", rd=fresh + k), ops.Operands(None, source, None, frozenset()))
            assert move is not None
            self.out.append(VirtualNode(move, node.loc))
            self.made[(source,)] = (fresh + k, place)
        self.made[wanted] = (fresh, place)
        return fresh

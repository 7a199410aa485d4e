"""Constants that stayed in registers are made where they are used, instead of being kept.

A MOV of an immediate or a constant-bank word costs one instruction and no memory; a register it holds over a long range
costs occupancy. Each block, and each window of nodes within it, makes its own.
"""

from __future__ import annotations

from binalloc.frontend.builder import Source
from binalloc.frontend.ir import Node, Routine
from binalloc.frontend.opt import operands as ops
from binalloc.frontend.opt.facts import Facts
from binalloc.isa.instruction import Instr, make

WINDOW = 24
"""Nodes for which a constant stays in its register after a use."""


def rematerialise(routine: Routine) -> None:
    """Replace reads of single units that MOV sets to constants by reads of fresh ones made just before."""
    facts = Facts(routine)
    constant: dict[int, Source] = {}
    for node in routine.nodes():
        instr = node.instr
        if instr.op.name == "MOV" and facts.is_stable(instr.f["rd"]):
            source = ops.read(instr).b
            if not isinstance(source, int) and source is not None and routine.registers.group(instr.f["rd"])[1] == 1:
                constant[instr.f["rd"]] = source
    if constant:
        for block in routine.blocks:
            block.nodes = _block(routine, block.nodes, constant)


def _block(routine: Routine, nodes: list[Node], constant: dict[int, Source]) -> list[Node]:
    out: list[Node] = []
    made: dict[int, tuple[int, int]] = {}  # constant unit -> (its unit here, place of its last use)
    for place, node in enumerate(nodes):
        instr = node.instr
        if instr.op.name == "MOV" and instr.f["rd"] in constant:
            unit = instr.f["rd"]
            if _used_soon(nodes, place, unit):
                made[unit] = (unit, place)
            out.append(node)
            continue
        changes: dict[str, int] = {}
        for ref in node.view.uses:
            if ref.file == "R" and ref.units == 1 and ref.index in constant and ref.field:
                changes[ref.field] = _here(routine, ref.index, place, node, constant, made, out)
        changes = {field: unit for field, unit in changes.items() if instr.f[field] != unit}
        if changes:
            node.instr = Instr(instr.op, {**instr.f, **changes}, instr.guard, instr.guard_neg, instr.ctrl)
        if node.callee:
            node.args = tuple(
                _here(routine, u, place, node, constant, made, out) if u in constant else u for u in node.args
            )
        out.append(node)
    return out


def _used_soon(nodes: list[Node], place: int, unit: int) -> bool:
    for node in nodes[place + 1 : place + WINDOW]:
        if any(unit in ref.registers() for ref in node.view.uses if ref.file == "R"):
            return True
    return False


def _here(
    routine: Routine,
    unit: int,
    place: int,
    node: Node,
    constant: dict[int, Source],
    made: dict[int, tuple[int, int]],
    out: list[Node],
) -> int:
    known = made.get(unit)
    if known is not None and place - known[1] <= WINDOW:
        made[unit] = (known[0], place)
        return known[0]
    fresh = routine.registers.new()
    move = ops.rebuild(make("MOV", rd=fresh), ops.Operands(None, constant[unit], None, frozenset()))
    assert move is not None
    out.append(Node(move, node.loc))
    made[unit] = (fresh, place)
    return fresh

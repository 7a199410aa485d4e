"""This module puts a routine's blocks in sequence, as a function whose registers are still virtual units.

It needs blocks in order with their meeting points, and allocated predicates. In the result predicates are the
machine's, and branch offsets, reconvergence points, labels and source lines are set. Registers are units, and CALLs
have no target yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from binalloc.frontend.allocate.block_order import BlockOrder
from binalloc.frontend.ir import FIRST_PREDICATE, Routine, VirtualNode
from binalloc.isa.instruction import Function, Instr, make
from binalloc.isa.kinds import LEAVES
from binalloc.isa.loom.view import rename

_PREDICATE_FIELDS = ("pd0", "pd1", "ps0", "ps1", "ps2")  # fields that hold predicates
_NOWHERE = -1  # no block: lanes only meet at the end


@dataclass(frozen=True)
class LaidOut:
    """A laid-out routine is one sequence of instructions."""

    function: Function  #: see the module docstring
    calls: dict[int, VirtualNode]  #: word -> the CALL's node


def lay_out(
    routine: Routine, order: BlockOrder, predicates: Mapping[int, int], locations: list[tuple[str, int]]
) -> LaidOut:
    """Return the routine as one sequence of instructions.

    predicates: virtual predicates -> P0..P6; one that is missing is never read. locations: `Program.locations`.
    """
    instrs: list[Instr] = []
    locs: list[int] = []
    touches: dict[int, tuple[str, ...]] = {}
    starts: dict[int, int] = {}
    labels: dict[int, str] = {}
    calls: dict[int, VirtualNode] = {}
    branches: list[tuple[int, VirtualNode, int]] = []
    for block in order.blocks:
        starts[block.number] = len(instrs)
        if block.label:
            labels.setdefault(len(instrs), block.label)
        for node in block.nodes:
            if node.callee:
                calls[len(instrs)] = node
            elif node.target >= 0:
                branches.append((len(instrs), node, block.number))
            if node.touches:
                touches[len(instrs)] = node.touches
            instrs.append(_with_predicates(node.instr, predicates))
            locs.append(node.loc)
    last = instrs[-1] if instrs else None
    if last is None or last.guarded or last.op.control not in LEAVES:
        instrs.append(make("EXIT" if routine.is_kernel else "RET"))
    for word, node, number in branches:
        fields = {"target": starts[order.target(node.target)] - word - 1}
        if node.instr.guarded and not node.uniform:
            meeting = order.meeting.get(number, _NOWHERE)
            where = starts[meeting] if meeting >= 0 else len(instrs) - 1
            fields |= {"diverges": 1, "reconv": where - word - 1}
        instrs[word] = rename(instrs[word], fields)
    lines = _lines(locs, locations)
    function = Function(routine.name, instrs, routine.info, list(routine.shared), labels, lines, touches=touches)
    return LaidOut(function, calls)


def _with_predicates(instr: Instr, predicates: Mapping[int, int]) -> Instr:
    f = instr.f
    fields = {
        name: predicates.get(f[name], 0)
        for name in _PREDICATE_FIELDS
        if name in f and f[name] >= FIRST_PREDICATE
    }
    guard = instr.guard
    if guard >= FIRST_PREDICATE:
        guard = predicates.get(guard, 0)
    elif not fields:
        return instr
    return Instr(instr.op, {**f, **fields}, guard, instr.guard_neg, instr.ctrl)


def _lines(locs: list[int], locations: list[tuple[str, int]]) -> dict[int, tuple[str, int]]:
    out: dict[int, tuple[str, int]] = {}
    last = -1
    for word, loc in enumerate(locs):
        if loc >= 0 and loc != last:
            out[word] = locations[loc]
            last = loc
    return out

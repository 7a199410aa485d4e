"""This module computes a result directly under a guard, if the code computes it into a fresh unit and moves it."""

from __future__ import annotations

from binalloc.frontend.ir import FIRST_PREDICATE, FIRST_REGISTER, Routine, VirtualNode
from binalloc.frontend.opt.dead import removable
from binalloc.frontend.opt.facts import UnitFacts
from binalloc.isa.instruction import Instr
from binalloc.isa.interface.places import PRED


def merge_guarded_moves(routine: Routine) -> None:
    """Merge `x = op ...; @p MOV y, x` into `@p y = op ...`. The two must be neighbours, and x must have no other
    reader."""
    facts = UnitFacts(routine)
    for block in routine.blocks:
        out: list[VirtualNode] = []
        for node in block.nodes:
            if not (out and _mergeable(out[-1], node, facts)):
                out.append(node)
                continue
            first = out.pop()
            one, two = first.instr, node.instr
            node.touches = first.touches
            node.instr = Instr(one.op, {**one.f, "rd": two.f["rd"]}, two.guard, two.guard_neg, one.ctrl)
            out.append(node)
        block.nodes = out


def _mergeable(first: VirtualNode, second: VirtualNode, facts: UnitFacts) -> bool:
    one, two = first.instr, second.instr
    if two.op.name != "MOV" or not two.guarded or two.f.get("form") or one.guarded or not removable(first):
        return False
    unit = two.f["rb"]
    if unit < FIRST_REGISTER or not facts.is_stable(unit) or not facts.only_read(unit):
        return False
    defs = first.view.defs
    if len(defs) != 1 or defs[0].units != 1 or defs[0].index != unit or defs[0].field != "rd":
        return False
    if any(two.guard == ref.index for ref in first.view.defs if ref.file == PRED):
        return False
    return two.guard >= FIRST_PREDICATE

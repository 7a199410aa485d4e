"""This module finds wide products that only sums read.

IMAD.WIDE has an addend, so a product with one reader, a sum, is merged with it (`rules_integer`). For several readers
the merge pays, too, if all of them are sums. A sum takes two instructions. A product with an addend takes one, or two
where its factor and its addend are both constant, and the product itself goes away. Between the sums the factor, one
register, is kept instead of the pair.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Imm
from binalloc.frontend.ir import FIRST_REGISTER, PT, RZ, Routine, VirtualNode
from binalloc.frontend.opt import operands as ops
from binalloc.frontend.opt.facts import UnitFacts
from binalloc.isa.interface.places import REG


def summed_products(routine: Routine, facts: UnitFacts) -> set[int]:
    """Return the first units of wide products without addend, if all their readers are halves of sums that may merge
    them."""
    left: dict[int, int] = {}
    for node in routine.nodes():
        instr = node.instr
        if instr.op.name == "IMAD.WIDE" and facts.is_stable(instr.f["rd"]) and ops.read(instr).c == RZ:
            first = instr.f["rd"]
            left |= {unit: facts.reads[unit - FIRST_REGISTER] for unit in (first, first + 1)}
    for node in routine.nodes():
        if left and _half(node, facts):
            for ref in node.view.uses:
                if ref.file == REG and ref.index in left:
                    left[ref.index] -= 1
    return {unit for unit, others in left.items() if not others and left.get(unit + 1) == 0}


def _half(node: VirtualNode, facts: UnitFacts) -> bool:
    """Return whether a node is half of a 64-bit sum of two values in registers or in constant memory."""
    instr = node.instr
    if instr.op.name != "IADD3" or instr.guarded or not facts.is_stable(instr.f["rd"]):
        return False
    o = ops.read(instr)
    high = bool(instr.f["x"])
    return high != (instr.f["pd0"] != PT) and not o.marks and o.c == RZ and not isinstance(o.b, Imm)

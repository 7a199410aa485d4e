"""Wide products that only sums read.

A product that one sum reads joins it (`rules_integer`): IMAD.WIDE has an addend. Where several read it the same pays if
all of them do: a sum takes two instructions and the product with an addend one, or two where its factor and its addend
are both constant; the product itself goes away; and between the sums its factor, one register, is kept, not the pair.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Imm
from binalloc.frontend.ir import FIRST_REGISTER, PT, RZ, Node, Routine
from binalloc.frontend.opt import operands as ops
from binalloc.frontend.opt.facts import Facts
from binalloc.isa.interface.places import REG


def summed_products(routine: Routine, facts: Facts) -> set[int]:
    """First units of the wide products without addend of which every reader is half of a sum that may take it in."""
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


def _half(node: Node, facts: Facts) -> bool:
    """Half of a 64-bit sum of two values that are in registers or in constant memory."""
    instr = node.instr
    if instr.op.name != "IADD3" or instr.guarded or not facts.is_stable(instr.f["rd"]):
        return False
    o = ops.read(instr)
    high = bool(instr.f["x"])
    return high != (instr.f["pd0"] != PT) and not o.marks and o.c == RZ and not isinstance(o.b, Imm)

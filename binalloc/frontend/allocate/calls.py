"""Calls: what a routine tells its callers, and parallel copies.

There is no fixed calling convention. A routine's own allocation decides where its arguments and results sit; callers
bring the values there just before the CALL and fetch the results just after it.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.frontend.ir import RZ
from binalloc.isa.instruction import Instr, make

_XOR = 0xF0 ^ 0xCC


@dataclass
class Contract:
    """arguments, results: registers in the order of Routine.arguments, results. clobbers, predicates: bitsets of the
    registers and predicates that the routine and all it calls may write. registers: how many it needs with all it
    calls. max_live: likewise of live units."""

    arguments: list[int]
    results: list[int]
    clobbers: int
    predicates: int
    registers: int
    max_live: int

    def overwritten(self) -> int:
        """Registers whose value before a call is lost behind it: the argument registers are, too."""
        mask = self.clobbers
        for register in (*self.arguments, *self.results):
            mask |= 1 << register
        return mask


def parallel_copy(moves: list[tuple[int, int]]) -> list[Instr]:
    """Instructions that set every target register to what its source held before: (target, source), targets distinct.

    Copies whose target no other copy reads go first; what is left are cycles, which exchange by exclusive or.
    """
    left = {t: s for t, s in moves if t != s}
    out: list[Instr] = []
    while left:
        sources = set(left.values())
        ready = sorted(t for t in left if t not in sources)
        if ready:
            target = ready[0]
            out.append(make("MOV", rd=target, rb=left.pop(target)))
            continue
        a = min(left)
        b = left.pop(a)
        for rd, ra, rb in ((a, a, b), (b, a, b), (a, a, b)):
            out.append(make("LOP3", rd=rd, ra=ra, rb=rb, rc=RZ, lut=_XOR))
        for target, source in list(left.items()):  # a now holds what it should; b holds what a held
            if source == a:
                left[target] = b
            if left[target] == target:
                del left[target]
    return out

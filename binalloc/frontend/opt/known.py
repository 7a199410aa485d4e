"""This module remembers the expressions that computed units, during the walk over a routine.

All facts are about stable units, and name only stable units, immediates and constant memory. So they hold at every read
of the unit that they are about.
"""

from __future__ import annotations

from binalloc.frontend.emitter import FLOAT, BankConst, Imm, Source
from binalloc.frontend.ir import FIRST_PREDICATE, FIRST_REGISTER, PT, RZ, Routine, VirtualNode
from binalloc.frontend.opt import operands as ops
from binalloc.frontend.opt.facts import UnitFacts
from binalloc.isa.instruction import Instr
from binalloc.isa.interface.places import REG
from binalloc.isa.table.opcodes import OpSpec

WidePair = tuple[tuple[Source, Source], tuple[Source, Source]]
"""The two summands of a 64-bit sum, each (low word, high word)."""


class KnownFacts:
    """Known facts are the ones found so far on the walk over a routine."""

    def __init__(self, routine: Routine, facts: UnitFacts) -> None:
        self.routine = routine
        self.facts = facts
        self.copy: dict[int, Source] = {}  #: unit -> the source that MOV set it to
        #: predicate -> (the predicate whose copy it is, whether negated)
        self.predicate_copy: dict[int, tuple[int, bool]] = {}
        self.node_of: dict[int, VirtualNode] = {}  #: unit -> the node that computes it
        self.test_of: dict[int, VirtualNode] = {}  #: predicate -> the node that computes it
        self.sum64: dict[int, WidePair] = {}  #: first unit of a pair that is a sum -> its two summands
        #: ids of nodes that a rule has removed; another node writes their main result, and nothing their carry
        self.gone: set[int] = set()
        self.out: list[VirtualNode] = []  #: the nodes of the current block so far
        self.block = 0  #: position of the current block
        #: constant pair -> aligned pairs with its value, each with the position of its block
        self.pairs_of: dict[BankConst, list[tuple[int, int]]] = {}
        self.summed = _summed_products(routine, facts)  #: see `_summed_products`

    # -- questions

    def stable_predicate(self, number: int) -> bool:
        if number == PT:
            return True
        index = self.facts.predicate(number)
        return index < self.facts.count and self.facts.stable[index]

    def source(self, unit: int) -> Source:
        """Return the source that a single unit is a copy of, else the unit."""
        return self.copy.get(unit, unit)

    def unit(self, unit: int) -> int:
        """Return the unit (or RZ) to read instead of `unit`."""
        found = self.copy.get(unit, unit)
        if isinstance(found, int):
            return found
        return RZ if found == Imm(0) else unit

    def group(self, first: int, units: int) -> int:
        """Return the aligned group to read instead of the one at `first`."""
        if first == RZ:
            return RZ
        found = [self.unit(first + k) for k in range(units)]
        if all(u == RZ for u in found):
            return RZ
        base = found[0]
        if base == RZ or found != list(range(base, base + units)):
            return first
        start, width = self.routine.registers.group(base)
        return base if (base - start) % units == 0 and width >= units else first

    def held(self, constant: BankConst) -> int | None:
        """Return an aligned pair that holds the constant pair here, if one was made."""
        for pair, block in self.pairs_of.get(constant, ()):
            if self.facts.dominates(block, self.block):
                return pair
        return None

    def operand(self, unit: int, units: int, op: OpSpec) -> Source:
        """Return the best source for an operand of one or two units. A form must still be found for it."""
        if units == 1:
            return self.copy.get(unit, unit)
        if units != 2:
            return self.group(unit, units)
        low, high = self.source(unit), self.source(unit + 1)
        if isinstance(low, BankConst) and isinstance(high, BankConst):
            if low.bank == high.bank and high.offset == low.offset + 4 and low.offset % 8 == 0:
                return low
        elif isinstance(low, Imm) and isinstance(high, Imm):
            if low.bits == 0 and op.name in FLOAT:
                return high
            return RZ if low.bits == high.bits == 0 else unit
        return self.group(unit, 2)

    def predicate(self, number: int, negated: bool) -> tuple[int, bool]:
        """Return the predicate to read instead."""
        found = self.predicate_copy.get(number)
        if found is None:
            return number, negated
        return found[0], found[1] != negated

    def single(self, unit: Source, name: str) -> Instr | None:
        """Return the operation `name` that computes `unit`, if it is known and `unit` is read only once."""
        if not isinstance(unit, int) or unit < FIRST_REGISTER:
            return None
        node = self.node_of.get(unit)
        if node is None or node.instr.op.name != name or not self.facts.only_read(unit):
            return None
        return node.instr

    # -- learning

    def learn(self, node: VirtualNode) -> None:
        """Remember the expression of an unguarded node with stable results and stable operands."""
        view = node.view
        if view.guard is not None or node.callee or not view.pure:
            return
        stable = self.facts.is_stable
        for ref in view.uses:
            if ref.file == REG:
                if not all(stable(unit) for unit in ref.registers()):
                    return
            elif not self.stable_predicate(ref.index):
                return
        for ref in view.defs:
            if ref.file == REG:
                for unit in ref.registers():
                    if stable(unit):
                        self.node_of[unit] = node
            elif self.stable_predicate(ref.index):
                self.test_of[ref.index] = node
        self._copies(node)

    def _copies(self, node: VirtualNode) -> None:
        instr = node.instr
        name = instr.op.name
        if name == "MOV":
            if self.facts.is_stable(instr.f["rd"]):
                source = ops.read(instr).b
                assert source is not None
                self.copy[instr.f["rd"]] = Imm(0) if source == RZ else source
                if isinstance(source, BankConst):
                    self._constant_pair(instr.f["rd"], source)
        elif name == "PLOP3":
            f = instr.f
            target = f["pd0"]
            if target < FIRST_PREDICATE or f["pd1"] != PT or not self.stable_predicate(target):
                return
            if f["lut_b"] in (0xF0, 0x0F):
                self.predicate_copy[target] = f["ps0"], bool(f["ps0n"]) != (f["lut_b"] == 0x0F)

    def _constant_pair(self, unit: int, high: BankConst) -> None:
        """Remember the pair whose high word was just set to a constant, if its low word holds the one before."""
        start, width = self.routine.registers.group(unit)
        low = BankConst(high.bank, high.offset - 4)
        if width > 1 and (unit - start) % 2 and self.copy.get(unit - 1) == low:
            self.pairs_of.setdefault(low, []).append((unit - 1, self.block))


def _summed_products(routine: Routine, facts: UnitFacts) -> set[int]:
    """Return the first units of wide products without addend, if all their readers are halves of sums that may merge
    them.

    IMAD.WIDE has an addend, so a product with one reader, a sum, is merged with it (`rules_integer`). For several
    readers the merge pays, too, if all of them are sums. A sum takes two instructions. A product with an addend takes
    one, or two if its factor and its addend are both constant, and the product itself is needed no more. Between the
    sums the factor, one register, is kept instead of the pair.
    """
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

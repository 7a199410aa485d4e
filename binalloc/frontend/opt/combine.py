"""This module walks forward over a routine once: it propagates copies and constants, removes common subexpressions and
selects instructions.

It only changes reads of stable units (see `facts`). `KnownFacts` remembers the expression of each unit. A later node
that reads the unit may be made anew from that expression: `rules_integer` and `rules_logic` have the patterns. The node
of the expression stays in its place; if it has no readers any more, dead-code removal deletes it. An expression with
several readers is only folded where that costs nothing (copies, constants, address offsets). """

from __future__ import annotations

from binalloc.frontend.emitter import COMMUTATIVE, BankConst, Source
from binalloc.frontend.ir import FIRST_PREDICATE, FIRST_REGISTER, Routine, VirtualNode
from binalloc.frontend.opt import operands as ops
from binalloc.frontend.opt.facts import UnitFacts
from binalloc.frontend.opt.known import KnownFacts
from binalloc.frontend.opt.rules_integer import RULES as INTEGER
from binalloc.frontend.opt.rules_logic import RULES as LOGIC
from binalloc.isa.instruction import Instr, make
from binalloc.isa.interface.places import REG

_RULES = {**INTEGER, **LOGIC}  # opcode -> rule
_GLOBAL_UNITS = frozenset(("sys", "sfu", "conv", "dp"))
"""Results of these execution units are reused across blocks. Results of the others are cheap: they are computed again,
which keeps live ranges short. Chosen by hand."""


def combine(routine: Routine) -> None:
    """Rewrite the nodes of `routine` as the module docstring says."""
    _Walk(routine).run()


class _Walk:
    """A walk over a routine rewrites its nodes, and keeps the facts and expressions that it has met."""

    def __init__(self, routine: Routine) -> None:
        self.routine = routine
        self.facts = UnitFacts(routine)
        self.known = KnownFacts(routine, self.facts)
        #: expression -> (position of the block, node) that computed it last
        self.seen: dict[tuple[object, ...], tuple[int, VirtualNode]] = {}

    def run(self) -> None:
        for k, block in enumerate(self.routine.blocks):
            out: list[VirtualNode] = []
            self.known.out, self.known.block = out, k
            for node in block.nodes:
                self._node(node, k)
            block.nodes = out

    def _node(self, node: VirtualNode, block: int) -> None:
        self._substitute(node)
        rule = _RULES.get(node.instr.op.name)
        if rule is not None:
            rule(node, self.known)
        if self._repeated(node, block):
            return
        self.known.out.append(node)
        self.known.learn(node)

    # -- substitution

    def _substitute(self, node: VirtualNode) -> None:
        """Replace the values that a node reads by their copies' sources: arguments, guard, operands, predicates."""
        known = self.known
        if node.callee:
            node.args = tuple(known.unit(u) for u in node.args)
        instr = node.instr
        if instr.guard >= FIRST_PREDICATE:
            guard = known.predicate(instr.guard, instr.guard_neg)
            if guard != (instr.guard, instr.guard_neg):
                instr = _guarded(instr, guard)
        op = instr.op
        if op.has_form:
            instr = self._alu(instr)
        f = instr.f
        changes: dict[str, int] = {}
        for ref in node.view.uses:
            if ref.file == REG and ref.field and (not op.has_form or ref.field not in ("ra", "rb", "rc")):
                new = known.unit(ref.index) if ref.units == 1 else known.group(ref.index, ref.units)
                if new != ref.index:
                    changes[ref.field] = new
            elif ref.file != REG and ref.field and ref.index >= FIRST_PREDICATE:
                number, negated = known.predicate(ref.index, bool(f[ref.field + "n"]))
                if (number, negated) != (ref.index, bool(f[ref.field + "n"])):
                    changes[ref.field], changes[ref.field + "n"] = number, int(negated)
        if changes:
            instr = Instr(instr.op, {**f, **changes}, instr.guard, instr.guard_neg, instr.ctrl)
        if instr is not node.instr:
            node.instr = instr

    def _alu(self, instr: Instr) -> Instr:
        """Replace operands a, b, c by their copies' sources, as far as the operation has a form for them."""
        op, known = instr.op, self.known
        old = ops.read(instr)
        a, b, c = old.a, old.b, old.c
        if a is not None and a >= FIRST_REGISTER:
            found = known.operand(a, op.operand["ra"].width(instr.f), op)
            a = found if isinstance(found, int) else a
            if not isinstance(found, int) and isinstance(b, int) and op.name in COMMUTATIVE:
                exchanged = ops.swapped(op, old)
                assert exchanged.a is not None
                attempt = ops.rebuild(instr, ops.Operands(exchanged.a, found, c, exchanged.marks))
                if attempt is not None:
                    return self._alu(attempt) if exchanged.a != old.a else attempt
        new_b: Source | None = b
        new_c: Source | None = c
        if isinstance(b, int) and b >= FIRST_REGISTER:
            new_b = known.operand(b, op.operand["b"].width(instr.f), op)
        if isinstance(c, int) and c >= FIRST_REGISTER:
            new_c = known.operand(c, op.operand["c"].width(instr.f), op)
        if (a, new_b, new_c) == (old.a, b, c):
            return instr
        for try_b, try_c in _choices(b, new_b, c, new_c):
            made = ops.rebuild(instr, ops.Operands(a, try_b, try_c, old.marks))
            if made is not None:
                return made
        return instr

    # -- common subexpressions

    def _repeated(self, node: VirtualNode, block: int) -> bool:
        """Return whether an equal node dominates this one. If so, its results are copied."""
        view = node.view
        if not view.pure or view.guard is not None or not view.defs or view.copy or node.instr.op.name == "MOV":
            return False
        facts = self.facts
        for ref in view.defs:
            for index in ref.registers():
                if not (facts.is_stable(index) if ref.file == REG else self.known.stable_predicate(index)):
                    return False
        for ref in view.uses:
            for index in ref.registers():
                if not (facts.is_stable(index) if ref.file == REG else self.known.stable_predicate(index)):
                    return False
        key = (view.signature, tuple((r.file, r.index) for r in view.uses), _signs(node.instr))
        before = self.seen.get(key)
        if before is None or id(before[1]) in self.known.gone or not self._reaches(before, block, view.unit):
            self.seen[key] = (block, node)
            return False
        for new, old in zip(view.defs, before[1].view.defs, strict=True):
            if new.file == REG:
                for k in range(new.units):
                    self._copy(make("MOV", rd=new.index + k, rb=old.index + k), node)
            else:
                self._copy(make("PLOP3", pd0=new.index, ps0=old.index, lut_b=0xF0), node)
        return True

    def _copy(self, instr: Instr, node: VirtualNode) -> None:
        copy = VirtualNode(instr, node.loc)
        self.known.out.append(copy)
        self.known.learn(copy)

    def _reaches(self, before: tuple[int, VirtualNode], block: int, unit: str) -> bool:
        if before[0] == block:
            return True
        return unit in _GLOBAL_UNITS and self.facts.dominates(before[0], block)


def _choices(
    b: Source | None, new_b: Source | None, c: Source | None, new_c: Source | None
) -> list[tuple[Source | None, Source | None]]:
    """Return the pairs (b, c) to try, best first.

    If both could leave the registers but only one has a form, the wider one, a constant pair, is preferred.
    """
    both = [(new_b, new_c)]
    if isinstance(new_c, BankConst):
        return [*both, (b, new_c), (new_b, c), (b, c)]
    return [*both, (new_b, c), (b, new_c), (b, c)]


def _signs(instr: Instr) -> tuple[object, ...]:
    return tuple(instr.f.get(m, 0) for m in (*ops.MARKS, "ps0n", "ps1n", "ps2n"))


def _guarded(instr: Instr, guard: tuple[int, bool]) -> Instr:
    return Instr(instr.op, instr.f, guard[0], guard[1], instr.ctrl)

"""This module selects instructions for bitwise logic and predicates.

There are two patterns. A LOP3 with a LOP3 as operand becomes one LOP3, if nothing else reads the inner one and both
have at most three different inputs. The and, or, xor of a predicate with a comparison becomes the comparison's own
combination (ISETP.LT.AND), if nothing else reads the comparison.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Source
from binalloc.frontend.ir import FIRST_PREDICATE, PT, RZ, VirtualNode
from binalloc.frontend.opt import operands as ops
from binalloc.frontend.opt.known import KnownFacts
from binalloc.frontend.opt.rules_integer import Rule
from binalloc.isa.instruction import Instr, make

_A, _B, _C = 0xF0, 0xCC, 0xAA  # truth tables of the first, second and third source
_SETPS = ("ISETP", "FSETP", "DSETP")  # comparisons that can be combined with another predicate


def _lop3(node: VirtualNode, known: KnownFacts) -> None:
    """Merge one inner LOP3 after the other, as long as there are at most three inputs."""
    for _ in range(4):
        if node.instr.f["pd0"] != PT or not _merge(node, known):
            return


def _inputs(instr: Instr) -> list[Source]:
    o = ops.read(instr)
    assert o.a is not None
    assert o.b is not None
    assert o.c is not None
    return [o.a, o.b, o.c]


def _merge(node: VirtualNode, known: KnownFacts) -> bool:
    outer = node.instr
    sources = _inputs(outer)
    for k, source in enumerate(sources):
        inner = known.single(source, "LOP3")
        if inner is None or inner.f["pd0"] != PT:
            continue
        rest = [s for j, s in enumerate(sources) if j != k and s != RZ]
        inputs = list(dict.fromkeys([*rest, *(s for s in _inputs(inner) if s != RZ)]))
        if len(inputs) > 3 or sum(not isinstance(s, int) for s in inputs) > 1:
            continue
        inputs.sort(key=lambda s: not isinstance(s, int))
        if inputs and not isinstance(inputs[0], int):
            continue
        table = dict(zip(inputs, (_A, _B, _C), strict=False))
        inside = _table(inner.f["lut"], [table.get(s, 0) for s in _inputs(inner)])
        outside = [inside if j == k else table.get(s, 0) for j, s in enumerate(sources)]
        made = _build(outer, inputs, _table(outer.f["lut"], outside))
        if made is not None:
            node.instr = made
            return True
    return False


def _table(lut: int, columns: list[int]) -> int:
    """Return the truth table of a LOP3 whose inputs have these truth tables."""
    out = 0
    for row in range(8):
        index = sum((columns[k] >> row & 1) << (2 - k) for k in range(3))
        out |= (lut >> index & 1) << row
    return out


def _build(outer: Instr, inputs: list[Source], lut: int) -> Instr | None:
    padded: list[Source] = [*inputs, RZ, RZ, RZ][:3]
    first = padded[0]
    if not isinstance(first, int):
        return None
    base = make("LOP3", rd=outer.f["rd"], lut=lut, guard=(outer.guard, outer.guard_neg))
    return ops.rebuild(base, ops.Operands(first, padded[1], padded[2], frozenset()))


def _plop3(node: VirtualNode, known: KnownFacts) -> None:
    f = node.instr.f
    if f["pd1"] != PT or f["ps2"] != PT or f["pd0"] == PT:
        return
    lut = f["lut_b"]
    if any((lut >> row & 1) != (lut >> (row ^ 1) & 1) for row in range(8)):
        return  # depends on ps2
    for k, (one, other) in enumerate((("ps0", "ps1"), ("ps1", "ps0"))):
        test = known.test_of.get(f[one])
        if f[one] < FIRST_PREDICATE or test is None or not _single_test(test, f[one], known):
            continue
        made = _combined(node.instr, test.instr, one, other, lut if k == 0 else _exchange(lut))
        if made is not None:
            node.instr = made
            return


def _exchange(lut: int) -> int:
    """Return the truth table with ps0 and ps1 exchanged."""
    return sum((lut >> (row & 1 | (row & 2) << 1 | (row & 4) >> 1) & 1) << row for row in range(8))


def _single_test(node: VirtualNode, predicate: int, known: KnownFacts) -> bool:
    instr = node.instr
    f = instr.f
    if instr.op.name not in _SETPS or f["pd0"] != predicate or f["pd1"] != PT or f.get("ex"):
        return False
    return (
        f["ps0"] == PT and not f["ps0n"] and f["bop"] == 0 and known.facts.reads[known.facts.predicate(predicate)] == 1
    )


def _combined(outer: Instr, test: Instr, one: str, other: str, lut: int) -> Instr | None:
    """Return the comparison with its result combined with the other predicate as PLOP3 does, or None.

    lut: truth table over (test, other).
    """
    f = outer.f
    column_test = _A ^ 0xFF if f[one + "n"] else _A
    column_other = _B
    negated = f[other + "n"]
    # PLOP3 negates its sources before the look-up. This table is over (test, other) without negation.
    table = 0
    for row in range(8):
        index = (column_test >> row & 1) << 2 | ((column_other >> row & 1) ^ negated) << 1
        table |= (lut >> index & 1) << row
    for flip_test in (0, 1):
        for flip_other in (0, 1):
            a = _A ^ 0xFF if flip_test else _A
            b = _B ^ 0xFF if flip_other else _B
            for bop, combination in enumerate((a & b, a | b, a ^ b)):
                if combination & 0xFF == table:
                    return _compare(outer, test, f[other], flip_test, flip_other, bop)
    return None


def _compare(outer: Instr, test: Instr, other: int, flip_test: int, flip_other: int, bop: int) -> Instr:
    f = dict(test.f)
    if flip_test:
        name = "icmp" if "icmp" in f else "fcmp"
        f[name] = (7 if name == "icmp" else 15) - f[name]
    f["pd0"], f["pd1"], f["ps0"], f["ps0n"], f["bop"] = outer.f["pd0"], PT, other, flip_other, bop
    return Instr(test.op, f, outer.guard, outer.guard_neg, outer.ctrl)


RULES: dict[str, Rule] = {"LOP3": _lop3, "PLOP3": _plop3}

"""This module selects instructions for sums, shifts, products and addresses.

Patterns (x is read only here, so its node dies):
    (a + b) + c            IADD3, constants joined
    (a << n) + b           LEA
    a*b + 0 then + c       IMAD with addend
    {x, sign or zero of x} << n, x * 2^n wide     IMAD.WIDE
    wide product + pair    IMAD.WIDE with addend
    pair + constant        folded into the 24-bit offset of a memory access (kept for its other readers)
"""

from __future__ import annotations

from collections.abc import Callable

from binalloc.frontend.emitter import BankConst, Imm, Source, imm
from binalloc.frontend.ir import FIRST_REGISTER, PT, RZ, VirtualNode
from binalloc.frontend.opt import operands as ops
from binalloc.frontend.opt.known import KnownFacts
from binalloc.isa.instruction import Instr, make
from binalloc.isa.table.opcodes import FORM_IMM

Rule = Callable[[VirtualNode, KnownFacts], None]  # changes a node in place, if one of its patterns matches
Term = tuple[Source, bool]  # A signed term of a sum: (source, whether it is negated).
_LEFT, _RIGHT = 0, 1  # SHF's directions
_MASK = 0xFFFFFFFF  # the bits of a 32-bit word


# ---------------------------------------------------------------------------------------------------------------------
# 32-bit sums.


def plain_sum(instr: Instr) -> list[Term] | None:
    """Return the signed terms of an IADD3 without carries, zeros left out; None for any other instruction."""
    f = instr.f
    if instr.op.name != "IADD3" or f["x"] or f["pd0"] != PT or f["pd1"] != PT:
        return None
    o = ops.read(instr)
    assert o.a is not None
    assert o.b is not None
    assert o.c is not None
    pairs = ((o.a, "nega"), (o.b, "negb"), (o.c, "negc"))
    return [(s, mark in o.marks) for s, mark in pairs if s not in (RZ, Imm(0))]


def _constant(terms: list[Term]) -> tuple[list[Term], int]:
    """Return the terms without immediates, and the sum of the immediates."""
    rest = [t for t in terms if not isinstance(t[0], Imm)]
    total = sum(-s.bits if negative else s.bits for s, negative in terms if isinstance(s, Imm))
    return rest, total & _MASK


def _make_sum(node: VirtualNode, terms: list[Term], constant: int) -> bool:
    """Replace `node` by an IADD3 (or MOV) of these terms, if one has a form for them. Return whether it has."""
    sources = [*terms, *([(Imm(constant), False)] if constant else [])]
    if len(sources) > 3:
        return False
    rd, guard = node.instr.f["rd"], (node.instr.guard, node.instr.guard_neg)
    if not sources or (len(sources) == 1 and not sources[0][1]):
        source = sources[0][0] if sources else RZ
        base = make("MOV", rd=rd, guard=guard)
        made = ops.rebuild(base, ops.Operands(None, source, None, frozenset()))
    else:
        sources.sort(key=lambda t: not isinstance(t[0], int))
        sources += [(RZ, False)] * (3 - len(sources))
        if not isinstance(sources[0][0], int):
            return False
        marks = frozenset("neg" + "abc"[k] for k, (_, negative) in enumerate(sources) if negative)
        base = make("IADD3", rd=rd, guard=guard)
        made = ops.rebuild(base, ops.Operands(sources[0][0], sources[1][0], sources[2][0], marks))
    if made is None:
        return False
    node.instr = made
    return True


def _iadd3(node: VirtualNode, known: KnownFacts) -> None:
    if node.instr.f["x"]:
        _wide_sum(node, known)
        return
    terms = plain_sum(node.instr)
    if terms is None:
        return
    flat, constant = _constant(terms)
    changed = bool(constant) and len(terms) - len(flat) > 1
    for k, (source, negative) in enumerate(list(flat)):
        inner = known.single(source, "IADD3")
        inner_terms = plain_sum(inner) if inner is not None else None
        if inner_terms is None:
            continue
        more, extra = _constant(inner_terms)
        joined = [*flat[:k], *((s, n != negative) for s, n in more), *flat[k + 1 :]]
        total = (constant + (-extra if negative else extra)) & _MASK
        if len(joined) + bool(total) <= 3 and _at_most_one_fixed(joined, total):
            flat, constant, changed = joined, total, True
            break
    if changed and not _make_sum(node, flat, constant):
        return
    _lea(node, known)


def _at_most_one_fixed(terms: list[Term], constant: int) -> bool:
    return sum(not isinstance(s, int) for s, _ in terms) + bool(constant) <= 1


def _lea(node: VirtualNode, known: KnownFacts) -> None:
    """Select LEA for (a << n) + b."""
    terms = plain_sum(node.instr)
    if terms is None or len(terms) != 2:
        return
    for k in range(2):
        source, negative = terms[k]
        shift = known.single(source, "SHF")
        count = left_shift(shift) if shift is not None and not negative else None
        other, other_negative = terms[1 - k]
        if count is None or shift is None or not 0 < count[1] < 32:
            continue
        if other_negative and not isinstance(other, Imm):
            continue
        if isinstance(other, Imm) and other_negative:
            other = imm(-other.bits)
        base = make("LEA", rd=node.instr.f["rd"], shift=count[1], guard=(node.instr.guard, node.instr.guard_neg))
        made = ops.rebuild(base, ops.Operands(count[0], other, None, frozenset()))
        if made is not None:
            node.instr = made
            return


def left_shift(instr: Instr) -> tuple[int, int] | None:
    """Return (unit, count) of a plain 32-bit left shift by a constant, or None."""
    f = instr.f
    if instr.op.name != "SHF" or f["dir"] != _LEFT or f["hi"] or f.get("form") != FORM_IMM or f["rc"] != RZ:
        return None
    return f["ra"], f["imm"]


def _imad(node: VirtualNode, known: KnownFacts) -> None:
    """Replace a product with a power of two by a shift (LEA with an addend), and a product with 1 by a sum."""
    o = ops.read(node.instr)
    if not isinstance(o.b, Imm) or o.marks or not isinstance(o.c, int) or o.a is None:
        return
    value = o.b.bits
    guard = node.instr.guard, node.instr.guard_neg
    rd = node.instr.f["rd"]
    if value == 1:
        node.instr = make("IADD3", rd=rd, ra=o.a, rb=o.c, guard=guard)
    elif value and value & (value - 1) == 0:
        shift = value.bit_length() - 1
        if o.c == RZ:
            node.instr = make("SHF", form=FORM_IMM, rd=rd, ra=o.a, imm=shift, guard=guard)
        else:
            node.instr = make("LEA", rd=rd, ra=o.a, rb=o.c, shift=shift, guard=guard)


# ---------------------------------------------------------------------------------------------------------------------
# 64-bit sums: IADD3 with a carry out, directly followed by IADD3.X of the high words.


def _wide_sum(node: VirtualNode, known: KnownFacts) -> None:
    low = known.out[-1] if known.out else None
    if low is None or not _carries(low, node, known):
        return
    first = low.instr.f["rd"]
    a, b = ops.read(low.instr), ops.read(node.instr)
    if a.marks or b.marks or a.c != RZ or b.c != RZ:
        return
    assert a.a is not None
    assert a.b is not None
    assert b.a is not None
    assert b.b is not None
    # Low or high operands may have been exchanged to fit the form: pair them up again.
    pairs = _pairs((a.a, a.b), (b.a, b.b))
    if pairs is None:
        _constant_sum(first, (a.a, a.b), (b.a, b.b), known)
        return
    if not _product_sum(node, pairs, first, known):
        known.sum64[first] = pairs


def _constant_sum(first: int, low: tuple[Source, Source], high: tuple[Source, Source], known: KnownFacts) -> None:
    """Remember a sum of constant memory and an immediate: one of them is in a form's operand, the other in a
    register."""
    pairs = _pairs(_resolved(low, known), _resolved(high, known))
    if pairs is None:
        return
    for k in range(2):
        base, number = pairs[k][0], pairs[1 - k][0]
        if isinstance(base, BankConst) and isinstance(number, Imm):
            pair = known.held(base)
            if pair is not None:
                known.sum64[first] = (pair, pair + 1), pairs[1 - k]


def _resolved(sources: tuple[Source, Source], known: KnownFacts) -> tuple[Source, Source]:
    a, b = (known.source(s) if isinstance(s, int) else s for s in sources)
    return RZ if a == Imm(0) else a, RZ if b == Imm(0) else b


def _carries(low: VirtualNode, high: VirtualNode, known: KnownFacts) -> bool:
    """Return whether `low` and `high` are the halves of one sum, and nothing else reads the carry."""
    one, two = low.instr, high.instr
    if one.op.name != "IADD3" or one.f["x"] or one.guarded or two.guarded:
        return False
    carry = one.f["pd0"]
    if carry == PT or one.f["pd1"] != PT or two.f["ps0"] != carry or two.f["ps0n"] or not two.f["ps1n"]:
        return False
    if two.f["ps1"] != PT or two.f["pd0"] != PT or two.f["pd1"] != PT:
        return False
    first = one.f["rd"]
    if first == RZ or two.f["rd"] != first + 1:
        return False
    start, width = known.routine.registers.group(first)
    if width < 2 or (first - start) % 2:
        return False  # two single units whose numbers happen to follow each other
    index = known.facts.predicate(carry)
    stable = known.facts.is_stable
    readers = known.facts.reads[index] if index < known.facts.count else 2
    return readers == 1 and known.stable_predicate(carry) and stable(first) and stable(first + 1)


def _pairs(
    low: tuple[Source, Source], high: tuple[Source, Source]
) -> tuple[tuple[Source, Source], tuple[Source, Source]] | None:
    """Return (low, high) of both summands, or None. The other half of an immediate word must be an immediate, or
    zero."""
    for h in (high, high[::-1]):
        if all(_belong(x, y) for x, y in zip(low, h, strict=True)):
            return (low[0], h[0]), (low[1], h[1])
    return None


def _belong(low: Source, high: Source) -> bool:
    if isinstance(low, Imm):
        return isinstance(high, Imm) or high == RZ
    if isinstance(low, BankConst):
        return isinstance(high, BankConst) and high.bank == low.bank and high.offset == low.offset + 4
    if low == RZ:
        return isinstance(high, Imm) or high == RZ
    return isinstance(high, int) and high != RZ and high == low + 1


def _product_sum(
    node: VirtualNode, pairs: tuple[tuple[Source, Source], tuple[Source, Source]], first: int, known: KnownFacts
) -> bool:
    """Merge a wide product and a pair into one IMAD.WIDE. Return whether there is one.

    The node of the low half, which is the last one of the block so far, is removed.
    """
    for k in range(2):
        unit, other = pairs[k][0], pairs[1 - k]
        product = wide_product(unit, known)
        if product is None:
            continue
        addend = _addend(other, known)
        if addend is None:
            continue
        a, b, unsigned = product
        base = make("IMAD.WIDE", rd=first, u32=int(unsigned))
        made = ops.rebuild(base, ops.Operands(a, b, addend, frozenset()))
        if made is None and isinstance(b, Imm):
            fresh = known.routine.registers.new()
            mov = VirtualNode(make("MOV", form=FORM_IMM, rd=fresh, imm=b.bits), node.loc)
            made = ops.rebuild(base, ops.Operands(a, fresh, addend, frozenset()))
            known.gone.add(id(known.out[-1]))
            known.out[-1:] = [mov]
        elif made is not None:
            known.gone.add(id(known.out.pop()))
        if made is None:
            return False
        node.instr = made
        return True
    return False


def _addend(pair: tuple[Source, Source], known: KnownFacts) -> Source | None:
    low, high = pair
    if isinstance(low, BankConst):
        return low if low.offset % 8 == 0 else None
    if isinstance(low, int) and low >= FIRST_REGISTER and isinstance(high, int):
        start, width = known.routine.registers.group(low)
        return low if width > 1 and (low - start) % 2 == 0 else None
    return None


def wide_product(unit: Source, known: KnownFacts) -> tuple[int, Source, bool] | None:
    """Return (a, b, unsigned) if the pair at `unit` is a wide product, or None.

    All readers of the product must be sums that can merge it.
    """
    if not isinstance(unit, int) or unit < FIRST_REGISTER:
        return None
    node = known.node_of.get(unit)
    if node is not None and node.instr.op.name == "IMAD.WIDE" and node.instr.f["rd"] == unit and _joins(unit, known):
        product = node.instr
        o = ops.read(product)
        if o.c == RZ and o.a is not None and o.b is not None:
            return o.a, o.b, bool(product.f["u32"])
    return _shifted(unit, known)


def _joins(unit: int, known: KnownFacts) -> bool:
    """Return whether the product at `unit` dies when its readers merge it."""
    return unit in known.summed or (known.facts.only_read(unit) and known.facts.only_read(unit + 1))


def _shifted(unit: int, known: KnownFacts) -> tuple[int, Source, bool] | None:
    """Return (a, b, unsigned) if the pair is one word, sign- or zero-extended, shifted left by a constant."""
    low, high = known.single(unit, "SHF"), known.single(unit + 1, "SHF")
    if low is None or high is None:
        return None
    count = left_shift(low)
    f = high.f
    if count is None or f["dir"] != _LEFT or not f["hi"] or f.get("form") != FORM_IMM or f["imm"] != count[1]:
        return None
    if f["ra"] != count[0] or not 0 < count[1] < 31:
        return None
    if f["rc"] == RZ:
        return count[0], Imm(1 << count[1]), True
    sign = known.node_of.get(f["rc"])
    if sign is not None and is_sign_of(sign.instr, count[0]):
        return count[0], Imm(1 << count[1]), False
    return None


def is_sign_of(instr: Instr, unit: int) -> bool:
    """Return whether the instruction spreads the sign bit of `unit`."""
    f = instr.f
    return (
        instr.op.name == "SHF"
        and f["dir"] == _RIGHT
        and f["stype"] in (1, 3)
        and f["hi"] == 1
        and f.get("form") == FORM_IMM
        and f["imm"] == 31
        and f["rc"] == unit
    )


# ---------------------------------------------------------------------------------------------------------------------
# Addresses.


def _address(node: VirtualNode, known: KnownFacts) -> None:
    f = node.instr.f
    if "moff" not in f:
        return
    changed = dict(f)
    for _ in range(8):
        base = changed["ra"]
        if base < FIRST_REGISTER:
            break
        step = _wide_step(base, known) if "mem64" in node.instr.op.operand else _narrow_step(base, known)
        if step is None:
            break
        offset = changed["moff"] + step[1]
        if not -(1 << 23) <= offset < 1 << 23:
            break
        changed["ra"], changed["moff"] = step[0], offset
    if changed["ra"] != f["ra"]:
        old = node.instr
        node.instr = Instr(old.op, changed, old.guard, old.guard_neg, old.ctrl)


def _wide_step(base: int, known: KnownFacts) -> tuple[int, int] | None:
    """Return (pair, constant) if the pair at `base` is their sum."""
    pairs = known.sum64.get(base)
    if pairs is None:
        return None
    for k in range(2):
        low, high = pairs[k]
        other = _addend(pairs[1 - k], known)
        if isinstance(low, Imm) and isinstance(other, int):
            top = high.bits if isinstance(high, Imm) else 0
            value = top << 32 | low.bits
            return other, value - (1 << 64) if value >> 63 else value
    return None


def _narrow_step(base: int, known: KnownFacts) -> tuple[int, int] | None:
    node = known.node_of.get(base)
    terms = plain_sum(node.instr) if node is not None else None
    if terms is None:
        return None
    rest, constant = _constant(terms)
    if len(rest) == 1 and constant and isinstance(rest[0][0], int) and not rest[0][1]:
        return rest[0][0], constant - (1 << 32) if constant >> 31 else constant
    if not rest and terms:
        return RZ, constant - (1 << 32) if constant >> 31 else constant
    return None


_MEMORY = ("LDG", "STG", "LDS", "STS", "LDL", "STL", "LD", "ST", "ATOMG", "ATOMS", "ATOM", "RED")
"""Operations with an address and an offset."""
RULES: dict[str, Rule] = {"IADD3": _iadd3, "IMAD": _imad, **dict.fromkeys(_MEMORY, _address)}

"""Memory idioms of wide programs: arrays and generic addresses in local memory, dynamic shared memory, bank ends.

Every word they read was written at the kernel's start (`prepare`), and belongs to the thread alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from binalloc.isa.table.opcodes import SPECIAL_REGISTERS
from tests.support.generator.options import ARRAY_WORDS, BANK, BANK_BYTES, EXTRA_WORDS, ODD_BANK, ODD_BYTES, Options

if TYPE_CHECKING:
    from tests.support.generator.ops import Ops

RZ = 255
IMM, CONST, C_CONST = 1, 2, 4
SR = {name: k for k, name in enumerate(SPECIAL_REGISTERS)}
WIDTHS = ((0, 1), (1, 1), (2, 2), (3, 2), (4, 4), (5, 8), (6, 16))
"""(width field, bytes)."""

Kind = tuple[int, Callable[[], None]]


def memory_kinds(ops: Ops, o: Options) -> list[Kind]:
    """(weight, idiom) of what the options ask for."""
    kinds: list[Kind] = []
    if o.arrays:
        kinds.append((4, partial(array, ops)))
    if o.generic:
        kinds.append((3, partial(generic, ops)))
    if o.dynamic:
        kinds.append((4, partial(dynamic, ops)))
    if o.ends:
        kinds.append((4, partial(bank_end, ops)))
    return kinds


def _units(size: int) -> int:
    return max(1, size // 4)


def _some_width(ops: Ops, most: int = 16) -> tuple[int, int]:
    """(width field, bytes), words and more where the program is a wide one, mostly words."""
    widths = [w for w in WIDTHS if w[1] <= most and (ops.options.wide or w[1] <= 4)]
    return ops.rng.choice([*widths, (4, 4), (4, 4)])


def prepare(ops: Ops) -> None:
    """At a kernel's start: the array and the thread's dynamic words get values."""
    o, p = ops.options, ops.params
    if p.array >= 0:
        for word in range(ARRAY_WORDS):
            ops.put("STL", moff=p.array + 4 * word, rb=ops.src(), width=4)
    if o.dynamic:
        place = ops.rng.choice(ops.groups(1))
        _own_address(ops, place)
        for word in range(o.dynamic):
            ops.put("STS", ra=place, rb=ops.src(), moff=p.dynamic_base + 4 * word, width=4)


def finish(ops: Ops, pair: int, mix: int) -> None:
    """Store what `prepare` gave values to: `pair` points at the thread's slice, `mix` may be lost."""
    o, p = ops.options, ops.params
    if p.array >= 0:
        for word in range(ARRAY_WORDS):
            ops.put("LDL", rd=mix, moff=p.array + 4 * word, width=4)
            ops.put("STG", ra=pair, rb=mix, moff=o.extra_offset + 4 * word, width=4)
    if o.dynamic:
        _own_address(ops, mix)
        ops.put("LDS", rd=mix, ra=mix, moff=p.dynamic_base, width=4)
        ops.put("STG", ra=pair, rb=mix, moff=o.extra_offset + 4 * (EXTRA_WORDS - 1), width=4)


def _masked(ops: Ops, size: int, bytes_: int) -> int:
    """A register with a random multiple of `size` below `bytes_`, a power of two; RZ where there is none free."""
    value, at = ops.src(), ops.dst()
    if at != RZ:
        ops.put("LOP3", rd=at, ra=value, form=IMM, imm=(bytes_ - 1) & -size, lut=0xC0, rc=RZ)
    return at


def array(ops: Ops) -> None:
    """An access at a computed address of the thread's array."""
    width, size = _some_width(ops)
    at = _masked(ops, size, 4 * ARRAY_WORDS)
    if at == RZ:
        return
    moff, guard = ops.params.array, ops.guard()
    if ops.rng.random() < 0.5:
        ops.put("LDL", guard, units=_units(size), rd=ops.dst(_units(size)), ra=at, moff=moff, width=width)
    else:
        ops.put("STL", guard, ra=at, rb=ops.src(_units(size)), moff=moff, width=width)


def generic(ops: Ops) -> None:
    """A generic access: to the array through the local window, to the own dynamic word, or to the input."""
    r, o, p = ops.rng, ops.options, ops.params
    places = ["input"] + ["local"] * 2 * (p.array >= 0) + ["shared"] * (o.dynamic > 0)
    place = r.choice(places)
    if place == "input":
        pair = ops.address(p.input, 16, 4096)
        if pair != RZ:
            ops.put("LD", ops.guard(), rd=ops.dst(), ra=pair, width=4)
        return
    pair = ops.dst(2)
    if pair == RZ:
        return
    width, size = _some_width(ops, 8 if place == "local" else 4)
    if place == "local":
        value = ops.src()
        ops.put("LOP3", rd=pair, ra=value, form=IMM, imm=(4 * ARRAY_WORDS - 1) & -size, lut=0xC0, rc=RZ)
        moff = p.array
    else:
        _own_address(ops, pair)
        moff = p.dynamic_base
    window = SR["SR_LOCAL_WINDOW" if place == "local" else "SR_SHARED_WINDOW"]
    ops.put("S2R", rd=pair + 1, sreg=window)
    ops.put("IADD3", rd=pair, ra=pair, rb=pair + 1, rc=RZ)
    ops.put("MOV", rd=pair + 1, form=IMM, imm=0)
    guard = ops.guard()
    if r.random() < 0.5:
        ops.put("LD", guard, units=_units(size), rd=ops.dst(_units(size)), ra=pair, moff=moff, width=width)
    else:
        ops.put("ST", guard, ra=pair, rb=ops.src(_units(size)), moff=moff, width=width)


def _own_address(ops: Ops, at: int) -> None:
    """Into `at` the offset of the thread's own words in dynamic shared memory."""
    ops.put("S2R", rd=at, sreg=SR["SR_TID.X"])
    ops.put("IMAD", rd=at, ra=at, form=IMM, imm=4 * ops.options.dynamic, rc=RZ)


def _own_words(ops: Ops) -> int:
    at = ops.dst()
    if at != RZ:
        _own_address(ops, at)
    return at


def dynamic(ops: Ops) -> None:
    """The thread's own dynamic words: loads, stores, atomics; now and then addressed from the memory's end."""
    r, o, p = ops.rng, ops.options, ops.params
    at = _own_words(ops)
    if at == RZ:
        return
    moff = p.dynamic_base + 4 * r.randrange(o.dynamic)
    if r.random() < 0.3:
        size = ops.dst()
        if size in (RZ, at):
            return
        ops.put("S2R", rd=size, sreg=SR["SR_DYNAMIC_SMEM"])
        ops.put("IADD3", rd=at, ra=at, rb=size, rc=RZ)
        moff -= 4 * o.dynamic * o.block
    pick, guard = r.random(), ops.guard()
    if pick < 0.4:
        ops.put("LDS", guard, rd=ops.dst(), ra=at, moff=moff, width=4)
    elif pick < 0.8 or not o.atomics:
        ops.put("STS", guard, ra=at, rb=ops.src(), moff=moff, width=4)
    else:
        aop = r.randrange(9)
        atyp = r.choice((0, 6, 7)) if aop == 0 and o.floats and o.halves else 0  # a sum, of integers or of halves
        ops.put("ATOMS", guard, rd=ops.dst(), ra=at, rb=ops.src(), moff=moff, aop=aop, atyp=atyp)


def bank_end(ops: Ops) -> None:
    """The last bytes of a constant bank: by LDC, by an indexed LDC, as an operand."""
    r = ops.rng
    bank, size = r.choice([(BANK, BANK_BYTES), (ODD_BANK, ODD_BYTES)])
    pick = r.random()
    if pick < 0.4:
        width, bytes_ = _some_width(ops)
        units = _units(bytes_)
        at = (size - bytes_) // bytes_ * bytes_
        ops.put("LDC", ops.guard(), units=units, rd=ops.dst(units), cbank=bank, coff=at, width=width)
    elif pick < 0.7:
        width, bytes_ = _some_width(ops)
        units = _units(bytes_)
        index = _masked(ops, bytes_, 16)
        if index != RZ:
            at = (size - 16) // bytes_ * bytes_
            ops.put("LDC", ops.guard(), units=units, rd=ops.dst(units), ra=index, cbank=bank, coff=at, width=width)
    elif pick < 0.85 or not ops.options.wide:
        ops.put("IADD3", ops.guard(), rd=ops.dst(), ra=ops.src(), form=C_CONST, rc=ops.src(), cbank=bank,
                coff=(size - 4) // 4 * 4)  # fmt: skip
    else:
        at = (size - 8) // 8 * 8
        ops.put("DADD", ops.guard(), units=2, rd=ops.dst(2), ra=ops.src(2), form=CONST, cbank=bank, coff=at)

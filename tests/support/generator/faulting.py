"""Idioms of wide programs that would stop the run, were they executed in every thread: operands are good just where a
guard holds, and the word that would fault stands under that guard, or behind a branch around it.

A trapping or clamping surface, a texture, a query of a handle, constants at a computed place and behind the end of
their bank, loads from nowhere. What is at no time good stands where no thread comes to.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from binalloc.isa.table.opcodes import SURFACE_BOUNDS, TEXTURE_QUERIES
from binalloc.launch.types import Argument, ArgumentKind, Init, InitKind, Texture
from tests.support.generator.memory import IMM, RZ, SR, Kind
from tests.support.generator.options import BANK, BANK_BYTES, ODD_BANK, Options
from tests.support.generator.warps import split_condition
from tests.support.programs.builder import Guard

if TYPE_CHECKING:
    from tests.support.generator.ops import Ops

PT = 7
CONST, C_CONST = 2, 4
SIDE = 4
HANDLES = ("line", "square", "cube", "image")
"""Surfaces of one to three dimensions, a texture of two; the handles are parameters in this order."""
_TRAP, _ZERO = SURFACE_BOUNDS.index("TRAP"), SURFACE_BOUNDS.index("ZERO")
_WORDS = 2
"""`ssize` of a word."""


def faulting_kinds(ops: Ops, o: Options) -> list[Kind]:
    """(weight, idiom) of what the options ask for."""
    return [(20, partial(faulting, ops))] if o.faulting else []


def handle_arguments(seed: int) -> tuple[Argument, ...]:
    """What the handles name; nobody writes there."""
    square, cube = (SIDE, SIDE), (SIDE, SIDE, SIDE)

    def filled(k: int) -> Init:
        return Init(InitKind.RANDOM, low=0, high=1 << 31, seed=seed + k)

    return (
        Argument("line", ArgumentKind.SURFACE, "u32", (SIDE,), init=filled(0), texture=Texture((SIDE,))),
        Argument("square", ArgumentKind.SURFACE, "u32", square, init=filled(1), texture=Texture(square)),
        Argument("cube", ArgumentKind.SURFACE, "u32", cube, init=filled(3), texture=Texture(cube)),
        Argument("image", ArgumentKind.TEXTURE, "u32", square, init=filled(2), texture=Texture(square)),
    )


class Word(NamedTuple):
    """A word that needs the guard: its name, how many registers it writes, its other fields; `rd`, where it is not
    among them, is to be chosen."""

    name: str
    units: int
    fields: dict[str, int]


def faulting(ops: Ops) -> None:
    """One idiom: operands that suit where the guard holds, then what reads them there."""
    r = ops.rng
    outside = r.random() < 0.25
    guard = _never(ops) if outside else split_condition(ops)
    if guard is None:
        return
    protected = set(ops.protected)
    words = (_outside if outside else r.choice(_KINDS))(ops, guard)
    if words:
        words = _summed(ops, words)
        for _ in range(r.choice((0, 2, 5, 9))):
            _more_values(ops)
        if r.random() < 0.4:
            _block_between(ops)
        if r.random() < 0.25:
            for word in words:
                _put(ops, word, guard)
        else:
            _behind_a_branch(ops, words, guard)
    if r.random() < 0.8:  # nobody reads the operands any more
        ops.regs -= ops.protected - protected
    ops.protected = protected


def _summed(ops: Ops, words: list[Word]) -> list[Word]:
    """Results that nobody else reads, mostly, added to what is read anyhow."""
    known = [place for place in ops.groups(1) if place in ops.regs]
    if not known or ops.rng.random() < 0.3:
        return words
    found: list[Word] = []
    for word in words:
        place = word.fields.get("rd") or _place(ops)
        if place == RZ:
            return words
        found.append(word._replace(fields={"rd": place, **word.fields}))
    total = ops.rng.choice(known)
    if total in ops.protected:
        return words
    return [*found, Word("IADD3", 1, {"rd": total, "ra": total, "rb": found[-1].fields["rd"], "rc": RZ})]


def _more_values(ops: Ops) -> None:
    place = ops.dst()
    if place != RZ:
        ops.put("IADD3", rd=place, ra=ops.src(), form=IMM, imm=ops.imm(), rc=RZ)


def _put(ops: Ops, word: Word, guard: Guard) -> None:
    """Into a place that is read anyhow, where there is one."""
    if "rd" in word.fields:
        ops.put(word.name, guard, units=word.units, **word.fields)
        return
    known = [g for g in ops.groups(word.units) if all(g + k in ops.regs for k in range(word.units))]
    place = ops.rng.choice(known) if known and ops.rng.random() < 0.8 else ops.dst(word.units)
    ops.put(word.name, guard, units=word.units, rd=place, **word.fields)


def _behind_a_branch(ops: Ops, words: list[Word], guard: Guard) -> None:
    behind = ops.code.new_label()
    ops.code.bra(behind, behind, (guard[0], not guard[1]))
    before = set(ops.regs), set(ops.preds)
    for word in words:
        _put(ops, word, (PT, False))
    ops.regs &= before[0]
    ops.preds &= before[1]
    ops.code.label(behind)


def _block_between(ops: Ops) -> None:
    """Operands and what reads them stand in different blocks."""
    behind = ops.code.new_label()
    ops.code.bra(behind, None, (PT, True))
    _more_values(ops)
    ops.code.label(behind)


def _never(ops: Ops) -> Guard | None:
    """A predicate that holds nowhere."""
    at, p = ops.dst(), ops.rng.randrange(7)
    if at == RZ:
        return None
    ops.put("S2R", rd=at, sreg=SR["SR_LANEID"])
    ops.put("ISETP", pd0=p, ra=at, form=IMM, imm=1 << 10, icmp=6, u32cmp=1)
    return p, False


def _place(ops: Ops, units: int = 1) -> int:
    """Registers that stay as they are until the idiom ends; RZ where there are none."""
    place = ops.dst(units)
    if place != RZ:
        ops.protected |= set(range(place, place + units))
        ops.regs -= set(range(place, place + units))
    return place


def _only_where(ops: Ops, guard: Guard, place: int, bad: int) -> None:
    """`place` becomes `bad` in the threads where the guard does not hold."""
    ops.put("SEL", rd=place, ra=place, form=IMM, imm=bad & 0xFFFFFFFF, ps0=guard[0], ps0n=int(guard[1]))


def _handle(ops: Ops, guard: Guard, name: str, *, spoil: bool) -> int:
    """A register with the handle, where the guard holds."""
    place = _place(ops)
    if place != RZ:
        ops.put("MOV", rd=place, form=CONST, cbank=0, coff=ops.params.handles + 4 * HANDLES.index(name))
        if spoil:
            other = HANDLES.index(name) + 2 if ops.rng.random() < 0.3 else ops.rng.choice((0, 4, 77, 0xFFFFFFFF))
            _only_where(ops, guard, place, other)
    return place


def _texel(ops: Ops, axes: int, guard: Guard, *, spoil: bool) -> list[int]:
    """Where a place on that many axes is: one register, a pair, a pair and a third. On the surface at least where the
    guard holds. [] where there are no registers."""
    at = [_place(ops, min(axes, 2)), *([_place(ops)] if axes == 3 else [])]
    if RZ in at:
        return []
    places = [at[0] + k for k in range(min(axes, 2))] + at[1:]
    for place in places:
        ops.put("LOP3", rd=place, ra=ops.src(), form=IMM, imm=SIDE - 1, lut=0xC0, rc=RZ)
    ops.put("SHF", rd=places[0], ra=places[0], form=IMM, imm=2, rc=RZ)  # bytes along the row
    if spoil:
        _only_where(ops, guard, ops.rng.choice(places), ops.rng.choice((-4, 4 * SIDE, 1 << 30)))
    return at


def _surface(ops: Ops, guard: Guard) -> list[Word]:
    axes = ops.rng.choice((1, 2, 3, 3))
    bound = ops.rng.choice((_TRAP, _TRAP, _TRAP, 1, _ZERO))
    moved = bound == _TRAP and ops.rng.random() < 0.5
    at = _texel(ops, axes, guard, spoil=moved)
    handle = _handle(ops, guard, HANDLES[axes - 1], spoil=not moved or ops.rng.random() < 0.3)
    address = _place(ops, 2)
    if not at or RZ in (handle, address):
        return []
    fields = {"rd": address, "ra": at[0], "rb": handle, "tdim": axes - 1, "sbound": bound, "ssize": _WORDS}
    found = Word("SUADDR", 2, {**fields, "rc": at[1]} if axes == 3 else fields)
    return [found, Word("LDG", 1, {"ra": address, "width": 4})] if ops.rng.random() < 0.8 else [found]


def _query(ops: Ops, guard: Guard) -> list[Word]:
    handle = _handle(ops, guard, ops.rng.choice(HANDLES), spoil=True)
    asked = [ops.rng.randrange(len(TEXTURE_QUERIES)) for _ in range(ops.rng.choice((1, 1, 2)))]
    return [Word("TXQ", 1, {"ra": handle, "tquery": query}) for query in asked] if handle != RZ else []


def _fetch(ops: Ops, guard: Guard) -> list[Word]:
    at = _place(ops, 2)
    handle = _handle(ops, guard, "image", spoil=True)
    if RZ in (at, handle):
        return []
    for k in range(2):
        ops.put("LOP3", rd=at + k, ra=ops.src(), form=IMM, imm=0x40400000, lut=0xC0, rc=RZ)
    return [Word("TEX", 1, {"ra": at, "rb": handle, "tdim": 1, "tchan": 1})]


def _indexed(ops: Ops, guard: Guard) -> list[Word]:
    index = _place(ops)
    if index == RZ:
        return []
    ops.put("LOP3", rd=index, ra=ops.src(), form=IMM, imm=BANK_BYTES - 4, lut=0xC0, rc=RZ)
    _only_where(ops, guard, index, ops.rng.choice((BANK_BYTES, BANK_BYTES - 3, 1 << 20, -4)))
    return [Word("LDC", 1, {"ra": index, "cbank": BANK, "width": 4})]


def _load(ops: Ops, guard: Guard) -> list[Word]:
    pair = ops.address(ops.params.input, 16, 4096)
    if pair == RZ:
        return []
    ops.protected |= {pair, pair + 1}
    _only_where(ops, guard, pair + ops.rng.randrange(2), 0x7FFFFFF3)
    return [Word("LDG", 1, {"ra": pair, "width": 4})]


def _outside(ops: Ops, guard: Guard) -> list[Word]:
    """Behind the end of a bank, in one that is not there, and the last word of one, where no thread comes to."""
    r = ops.rng
    bank, offset = r.choice(((BANK, BANK_BYTES), (BANK, BANK_BYTES - 4), (0, 0x200), (ODD_BANK, 44), (21, 0)))
    name = r.choice(("MOV", "IADD3", "LDC", "IMAD"))
    if name == "LDC":
        word = Word(name, 1, {"cbank": bank, "coff": offset, "width": 4})
    elif name == "MOV":
        word = Word(name, 1, {"form": CONST, "cbank": bank, "coff": offset})
    else:
        counters = set(ops.protected)
        operands = [_place(ops), _place(ops)] if r.random() < 0.8 else [ops.src(), ops.src()]
        for place in operands:
            if place in ops.protected - counters:
                ops.put("LOP3", rd=place, ra=ops.src(), form=IMM, imm=ops.imm(), lut=0x3C, rc=RZ)
        word = Word(name, 1, {"ra": operands[0], "form": C_CONST, "rc": operands[1], "cbank": bank, "coff": offset})
    return [word]


_KINDS: tuple[Callable[[Ops, Guard], list[Word]], ...] = (_surface, _surface, _query, _fetch, _indexed, _load)

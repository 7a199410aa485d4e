"""Wrong kernels of merged blocks that are not of whole warps: each is a right one with one change of the code that
numbers threads and ends those with which blocks are padded.

A change may happen to leave a kernel that is right: then it has to run like the original.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from binalloc.isa.instruction import Function, Instr
from binalloc.isa.interface.places import LANES
from binalloc.isa.kinds import Flow
from binalloc.isa.sets.table import set_of
from tests.support.pairs.multiplex.public_mutants import Items, changed, inserted, moved, without

_PLACES = {0, 1, 2}  # what the instruction set calls the axes of a block
_WHOLE = 0xFFFFFFFF
_REGISTERS = ("rd", "ra", "rb", "rc")


def _start(words: Items) -> int:
    """Return the number of inserted words in front of all others."""
    return next(n for n, item in enumerate(words) if item.origin >= 0)


def padding_goes_on(words: Items, original: Function) -> Iterator[Items]:
    """The first end of threads is left out, comes later, is for the others, or for none."""
    n = next(n for n, item in enumerate(words) if item.instr.control == Flow.EXIT)
    yield without(words, n)
    for by in (2, 6, _start(words) - n, _start(words) - n + 1, 30):
        if n + by < len(words):
            yield moved(words, n, n + by)
    instr = words[n].instr
    yield changed(words, n, instr.replace(guard=(instr.guard, not instr.guard_neg)))
    yield changed(words, n, instr.replace(guard=(7, True)))


def other_padding(words: Items, original: Function) -> Iterator[Items]:
    """A virtual block is padded by a warp more or less, in one word or in all; or a thread more or less of it ends."""
    steps = [n for n, item in enumerate(words) if item.origin < 0 and _whole_warps(item.instr)]
    for by in (LANES, -LANES):
        some = words
        for n in steps:
            other = words[n].instr.replace(imm=(words[n].instr.f["imm"] - by) & _WHOLE)
            yield changed(words, n, other)
            some = changed(some, n, other)
        yield some
    for n in range(_start(words)):
        if words[n].instr.name == "ISETP" and "imm" in words[n].instr.f:
            for by in (1, -1, LANES):
                yield changed(words, n, words[n].instr.replace(imm=words[n].instr.f["imm"] + by))


def _whole_warps(instr: Instr) -> bool:
    """Return whether an instruction subtracts the threads of virtual blocks."""
    return instr.name == "IMAD" and "imm" in instr.f and instr.f["imm"] >> 31 and not instr.f["imm"] % LANES


def other_divisor(words: Items, original: Function) -> Iterator[Items]:
    """An index is divided by another number, or what is subtracted for the quotient is another one."""
    for n, item in enumerate(words):
        imm = item.instr.f.get("imm")
        if item.origin >= 0 or imm is None:
            continue
        if item.instr.name == "SHF":
            yield from (changed(words, n, item.instr.replace(imm=imm + by)) for by in (1, -1))
        elif item.instr.name == "IMAD" and imm >> 31:
            yield from (changed(words, n, item.instr.replace(imm=(imm + by) & _WHOLE)) for by in (1, -1))
        elif item.instr.name == "IMAD":
            by = (1 << 20) // imm
            yield from (changed(words, n, item.instr.replace(imm=-(-(1 << 20) // d))) for d in (by + 1, max(by - 1, 1)))
            yield changed(words, n, item.instr.replace(imm=imm - 1))  # rounded down


def exchanged_axes(words: Items, original: Function) -> Iterator[Items]:
    """One index along an axis is computed like another one."""
    reads = [n for n, item in enumerate(words) if item.origin >= 0 and _axis(original.instrs[item.origin]) in _PLACES]
    for n in reads[:4]:
        for other in reads[:4]:
            if other != n:
                yield _like(words, n, other, original)


def _axis(instr: Instr) -> int | None:
    isa = set_of(instr)
    return isa.limits.places.get(isa.special_register(instr) or "")


def _like(words: Items, n: int, other: int, original: Function) -> Items:
    """Return the words with the code for one index in place of that for another."""
    mine, theirs = (original.instrs[words[at].origin].f["rd"] for at in (n, other))
    code = [_renamed(words[k].instr, theirs, mine) for k in (other, *_behind(words, other))]
    out = changed(words, n, code[0])
    for _ in _behind(words, n):
        out = without(out, n + 1)
    return inserted(out, n + 1, code[1:])


def _behind(words: Items, n: int) -> range:
    """Return the inserted words directly behind a word that compute with registers."""
    end = n + 1
    while words[end].origin < 0 and words[end].instr.name in ("IMAD", "SHF", "MOV"):
        end += 1
    return range(n + 1, end)


def _renamed(instr: Instr, old: int, new: int) -> Instr:
    return instr.replace(**{name: new for name in _REGISTERS if instr.f.get(name) == old})


PADDED_KINDS: dict[str, Callable[[Items, Function], Iterator[Items]]] = {
    f.__name__: f for f in (padding_goes_on, other_padding, other_divisor, exchanged_axes)
}
"""The kinds of changes: each yields changed words."""

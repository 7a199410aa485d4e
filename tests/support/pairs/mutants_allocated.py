"""Mutants of what an allocator does to a program: another order inside blocks, split live ranges, recomputed values.

    for mutant in order_mutants(rewritten, "kernel"): mutant.kind, mutant.place, mutant.module
    split_mutants, remade_mutants: likewise

Made from words that depend on each other, so that most of them do something else. A word that is moved takes its map
entry along: the map then says what was done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from binalloc.isa.instruction import Function, Module, Origin
from binalloc.isa.interface.places import PRED, REG
from binalloc.isa.interface.view import View
from binalloc.isa.loom.recognise import exclusive_or, predicate_pack, predicate_unpack, register_copy, special_register
from binalloc.isa.loom.view import rename, view
from tests.support.pairs.dependent_words import ENDS, block_starts, reads, writes
from tests.support.pairs.mutants import Mutant, Piece, rebuild, replaced

Found = Iterator[tuple[str, int, Module]]
FAR = 24
"""Words that a moved word passes at most."""


class Words:
    """A function's words with what is asked of them again and again."""

    def __init__(self, fn: Function) -> None:
        assert fn.origin is not None
        self.fn, self.instrs, self.origin = fn, fn.instrs, fn.origin.index
        self.views = [view(instr) for instr in fn.instrs]
        self.reads, self.writes = [reads(x) for x in fn.instrs], [writes(x) for x in fn.instrs]
        self.starts = block_starts(fn)
        self.blocks = list(pairwise(self.starts))
        self.end = {i: b for a, b in self.blocks for i in range(a, b)}
        self.start = {i: a for a, b in self.blocks for i in range(a, b)}
        seen: set[int] = set()
        self.again = []
        for k in self.origin:
            self.again.append(k != -1 and k in seen)
            seen.add(k)
        self.registers = sorted({n for w in (*self.reads, *self.writes) for file, n in w if file == str(REG)})

    def added(self, i: int) -> bool:
        return self.origin[i] == -1 or self.again[i]

    def spill(self, i: int) -> bool:
        memory = self.views[i].memory
        return memory is not None and memory.spill

    def moves(self, i: int) -> bool:
        """Spill code, or a copy that was added."""
        return self.spill(i) or (self.added(i) and register_copy(self.instrs[i]) is not None)

    def remade(self, i: int) -> bool:
        """Makes a value once more."""
        instr, v = self.instrs[i], self.views[i]
        known = (register_copy, predicate_pack, predicate_unpack, exclusive_or)
        return (
            self.added(i) and v.pure and bool(v.defs) and not any(f(instr) for f in known)
            and special_register(instr) != "SR_SLOTBASE"
        )  # fmt: skip

    def home(self, i: int) -> tuple[str, int] | None:
        """The spill word that is accessed, as far as the word itself tells it."""
        memory = self.views[i].memory
        return (str(memory.space), memory.offset) if memory is not None and memory.spill else None


def _each(mutations: tuple[Callable[[Module, Words], Found], ...], module: Module, kernel: str) -> Iterator[Mutant]:
    for fn in module.reached(module.function(kernel)):
        words = Words(fn)
        for mutation in mutations:
            for kind, index, out in mutation(module, words):
                yield Mutant(kind, (fn.name, index), out)


def order_mutants(rewritten: Module, kernel: str) -> Iterator[Mutant]:
    """Words that depend on each other in the other order."""
    yield from _each((_dependent, _accesses, _borders), rewritten, kernel)


def split_mutants(rewritten: Module, kernel: str) -> Iterator[Mutant]:
    """Values that are not where they are looked for."""
    yield from _each((_dropped_moves, _moves_elsewhere, _other_homes, _stale), rewritten, kernel)


def remade_mutants(rewritten: Module, kernel: str) -> Iterator[Mutant]:
    """Values made once more, of something else or in another way."""
    yield from _each((_other_operands, _other_operation, _remade_elsewhere), rewritten, kernel)


# -- moving a word


def permuted(module: Module, words: Words, first: int, order: list[int], keep_map: bool = False) -> Module:
    """The words from `first` on in another order; who leads there still leads to the first of them. keep_map: the map
    stays what it was, and so is wrong now."""
    fn = words.fn
    instrs, origin = list(fn.instrs), list(words.origin)
    for n, k in enumerate(order):
        instrs[first + n] = fn.instrs[k]
        if not keep_map:
            origin[first + n] = words.origin[k]
    out = replaced(module, fn, first, instrs[first])
    new = out.function(fn.name)
    assert fn.origin is not None
    new.instrs, new.origin = instrs, Origin(fn.origin.function, origin)
    return out


def behind(module: Module, words: Words, i: int, j: int, keep_map: bool = False) -> Module:
    """Word i directly behind word j of its block."""
    return permuted(module, words, i, [*range(i + 1, j + 1), i], keep_map)


def before(module: Module, words: Words, i: int, j: int) -> Module:
    """Word i directly before word j of its block."""
    return permuted(module, words, j, [i, *range(j, i)])


def clash(words: Words, i: int, j: int) -> str:
    """How word j, behind i, depends on i by registers or predicates; "" if it does not."""
    read = words.writes[i] & words.reads[j]
    if any(file == str(REG) for file, _ in read):
        return "value"
    if read:
        guard = words.views[j].guard
        return "guard" if guard is not None and (str(PRED), guard[0]) in read else "predicate"
    lost = words.reads[i] & words.writes[j]
    if lost:
        guard = words.views[i].guard
        if guard is not None and (str(PRED), guard[0]) in lost:
            return "guard overwritten"
        return "overwritten"
    return "both write" if words.writes[i] & words.writes[j] else ""


def _straight(words: Words, i: int) -> bool:
    return words.views[i].control not in ENDS


def _clashes(words: Words, i: int, down: bool) -> tuple[int, str] | None:
    """The nearest word of the block, in that direction, that must keep its order with i, and why."""
    there = range(i + 1, min(words.end[i], i + FAR)) if down else range(i - 1, max(words.start[i], i - FAR) - 1, -1)
    for j in there:
        if not _straight(words, j):
            return None
        why = clash(words, i, j) if down else clash(words, j, i)
        if not why and words.home(i) is not None and words.home(i) == words.home(j):
            one, other = words.views[i].memory, words.views[j].memory
            assert one is not None
            assert other is not None
            if "store" in (one.access, other.access):
                why = "spill word"
        if why:
            return j, why
    return None


# -- order

_ORDER = {
    "value": "reader before the writer of its operand",
    "predicate": "reader before the writer of its predicate",
    "guard": "guarded word before the writer of its guard",
    "overwritten": "reader behind the next writer of its operand",
    "guard overwritten": "guarded word behind the next writer of its guard",
    "both write": "writers of one place exchanged",
}


def _dependent(module: Module, words: Words) -> Found:
    for i in range(len(words.instrs)):
        if not _straight(words, i) or words.added(i):
            continue
        found = _clashes(words, i, down=True)
        if found is not None and not words.added(found[0]) and found[1] in _ORDER:
            yield _ORDER[found[1]], i, behind(module, words, i, found[0])
            yield "words exchanged under the old map", i, behind(module, words, i, found[0], keep_map=True)


def _effect(v: View) -> str:
    """What an instruction does beside its results: "access", "atomic", "wall", "lanes"; "" for nothing."""
    if v.pure or v.control in ENDS or (v.memory is not None and v.memory.spill):
        return ""
    if v.convergent and not v.control:
        return "lanes"
    if v.memory is None:
        return "wall"
    return "atomic" if v.memory.access == "atomic" or v.memory.ordered else "access"


def _accesses(module: Module, words: Words) -> Found:
    """Effects past the next effect of their block with which they may not change places."""
    for start, end in words.blocks:
        effects = [(i, kind) for i in range(start, end) if (kind := _effect(words.views[i]))]
        for n, (i, one) in enumerate(effects):
            for j, other in effects[n + 1 : n + 4]:
                kind = _pair(words, i, one, j, other)
                free = not any(clash(words, i, k) for k in range(i + 1, j + 1))
                if kind and free:
                    yield kind, i, behind(module, words, i, j)
                free = not any(clash(words, k, j) for k in range(i, j))
                if kind and free:
                    yield kind, j, before(module, words, j, i)


def _pair(words: Words, i: int, one: str, j: int, other: str) -> str:
    if "wall" in (one, other):
        return "effect across a barrier or fence"
    if one == other == "lanes":
        return "exchanges between lanes exchanged"
    if "lanes" in (one, other):
        return ""
    if "atomic" in (one, other):
        return "access across an atomic"
    a, b = words.views[i].memory, words.views[j].memory
    assert a is not None
    assert b is not None
    if a.access == b.access == "load" or "texture" in (a.space, b.space):
        return ""
    if a.space != b.space and "generic" not in (a.space, b.space):
        return ""
    bases = [m.base.registers() if m.base is not None else None for m in (a, b)]
    apart = a.offset + a.size <= b.offset or b.offset + b.size <= a.offset
    if bases[0] == bases[1] and apart and a.space == "global":
        return ""
    store = "stores" if a.access == b.access else "load and store"
    return f"{store} that may meet exchanged" if apart or bases[0] != bases[1] else f"{store} of one word exchanged"


def _borders(module: Module, words: Words) -> Found:
    """Words taken across the border of their block."""
    whole: list[Piece] = list(range(len(words.instrs)))
    for start, end in words.blocks:
        last = end - 1
        branch = words.views[last].control == "branch" and words.views[last].guard is not None
        i = last - 1 if branch else last
        if i < start or not _straight(words, i) or not (words.writes[i] or _effect(words.views[i])):
            continue
        what = "effect" if _effect(words.views[i]) else "value"
        if branch:
            yield (
                f"{what} behind the branch that followed it",
                i,
                rebuild(module, words.fn, [*whole[:i], last, i, *whole[end:]]),
            )
        elif end < len(whole) and _straight(words, end):
            yield (
                f"{what} behind the meeting point that followed it",
                i,
                rebuild(module, words.fn, [*whole[:i], end, i, *whole[end + 1 :]]),
            )


# -- splitting


def _name(words: Words, i: int) -> str:
    if not words.spill(i):
        return "copy"
    memory = words.views[i].memory
    assert memory is not None
    return "store" if memory.access == "store" else "reload"


def _dropped_moves(module: Module, words: Words) -> Found:
    whole: list[Piece] = list(range(len(words.instrs)))
    for i in range(len(whole)):
        without = lambda i=i: rebuild(module, words.fn, whole[:i] + whole[i + 1 :])  # noqa: E731
        if words.moves(i):
            name = _name(words, i)
            run = any(words.start.get(n) == words.start[i] and words.moves(n) for n in (i - 1, i + 1))
            leg = name == "copy" and run
            yield "leg of a parallel copy dropped" if leg else f"{name} dropped", i, without()
        elif words.origin[i] == -1 and exclusive_or(words.instrs[i]) and words.instrs[i].f["lut"] == 0x3C:
            yield "word of an exchange dropped", i, without()


_LATE = {
    "value": "behind its reader",
    "overwritten": "behind what overwrites its operand",
    "both write": "behind the next writer of its place",
    "spill word": "behind the next access of its word",
}
_EARLY = {
    "value": "before what it moves is there",
    "overwritten": "before the last reader of its place",
    "both write": "before the writer whose place it takes",
    "spill word": "before the last access of its word",
}


def _moves_elsewhere(module: Module, words: Words) -> Found:
    whole: list[Piece] = list(range(len(words.instrs)))
    for i in range(len(whole)):
        if not words.moves(i):
            continue
        name = _name(words, i)
        late, early = _clashes(words, i, down=True), _clashes(words, i, down=False)
        if late is not None and late[1] in _LATE:
            both = name == "copy" and words.moves(late[0]) and _name(words, late[0]) == "copy"
            kind = "copies of a parallel copy exchanged" if both else f"{name} {_LATE[late[1]]}"
            yield kind, i, behind(module, words, i, late[0])
        if early is not None and early[1] in _EARLY:
            yield f"{name} {_EARLY[early[1]]}", i, before(module, words, i, early[0])
        start, end = words.start[i], words.end[i]
        if end < len(whole) and words.views[end - 1].control == "branch" and i >= end - 4:
            run = list(range(i + 1, end))
            if words.views[end - 1].guard is not None and all(words.moves(k) for k in run[:-1]):
                out = rebuild(module, words.fn, [*whole[:i], *run, i, *whole[end:]])
                yield f"{name} behind the branch, on one way only", i, out
        if start and i <= start + 3 and words.views[start - 1].control not in ENDS:
            run = list(range(start, i))
            if all(words.moves(k) for k in run):
                moved: Piece = (words.instrs[i], words.origin[i])
                out = rebuild(module, words.fn, [*whole[:start], moved, *whole[start:i], *whole[i + 1 :]])
                yield f"{name} before the meeting point, on one way only", i, out


def _other_homes(module: Module, words: Words) -> Found:
    homes = sorted({home for i in range(len(words.instrs)) if (home := words.home(i)) is not None})
    for i, instr in enumerate(words.instrs):
        mine = words.home(i)
        if mine is None:
            continue
        near = sorted((h for h in homes if h[0] == mine[0] and h != mine), key=lambda h: (abs(h[1] - mine[1]), h))
        to = "store to" if _name(words, i) == "store" else "reload from"
        for _, offset in near[:3]:
            yield f"{to} another value's word", i, replaced(module, words.fn, i, instr.replace(moff=offset))


def _stale(module: Module, words: Words) -> Found:
    """Readers of a reloaded or copied value that still read the register where it was before."""
    stored: dict[tuple[str, int], int] = {}
    for i, instr in enumerate(words.instrs):
        if not words.moves(i):
            continue
        name, v = _name(words, i), words.views[i]
        home = words.home(i)
        if name == "store":
            data = [r for r in v.uses if r.field == "rb"]
            if home is not None and len(data) == 1 and data[0].units == 1:
                stored[home] = data[0].index
            continue
        if len(v.defs) != 1 or v.defs[0].units != 1:
            continue
        copy = register_copy(instr)
        old = copy[1] if copy is not None else stored.get(home) if home is not None else None
        if old is not None and old != v.defs[0].index:
            yield from _readers(module, words, i, v.defs[0].index, old)


def _readers(module: Module, words: Words, i: int, new: int, old: int) -> Found:
    overwritten = words.spill(i)
    for j in range(i + 1, words.end[i]):
        fields = {r.field: old for r in words.views[j].uses if r.file == REG and r.units == 1 and r.index == new}
        if fields and overwritten:
            yield "stale register read", j, replaced(module, words.fn, j, rename(words.instrs[j], fields))
        overwritten = overwritten or (str(REG), old) in words.writes[j]
        if (str(REG), new) in words.writes[j]:
            return


# -- recomputation


def _choices(words: Words, units: int, index: int) -> list[int]:
    """Other registers of the class, the nearest three in use."""
    known = set(words.registers)
    fits = [r for r in words.registers if r % units == 0 and r != index and all(r + u in known for u in range(units))]
    return sorted(fits, key=lambda r: (abs(r - index), r))[:3]


def _other_operands(module: Module, words: Words) -> Found:
    for i, instr in enumerate(words.instrs):
        if not words.remade(i):
            continue
        for ref in words.views[i].uses:
            if ref.file == REG and ref.field:
                for r in _choices(words, ref.units, ref.index):
                    yield (
                        "recomputed from another register",
                        i,
                        replaced(module, words.fn, i, rename(instr, {ref.field: r})),
                    )
            elif ref.file == PRED and ref.field:
                for p in range(8):
                    if p != ref.index:
                        kind = "carry dropped" if p == 7 else "carry from another predicate"
                        yield kind, i, replaced(module, words.fn, i, instr.replace(**{ref.field: p}))
        if instr.f.get("x"):
            yield "carry dropped", i, replaced(module, words.fn, i, instr.replace(x=0))


_CONSTANTS = {"imm": 1, "coff": 4, "lut": 1, "shift": 1, "sreg": 1, "cbank": 1}


def _other_operation(module: Module, words: Words) -> Found:
    places = {"rd", "ra", "rb", "rc", "form", "limm", "cimm", "width", "spill", "x", "moff"}
    for i, instr in enumerate(words.instrs):
        if not words.remade(i):
            continue
        for field, value in instr.f.items():
            if field in places or field[:2] in ("pd", "ps"):
                continue
            kind = "recomputed with another constant" if field in _CONSTANTS else "recomputed by another operation"
            other = instr.replace(**{field: value ^ _CONSTANTS.get(field, 1)})
            yield kind, i, replaced(module, words.fn, i, other)
        whole: list[Piece] = list(range(len(words.instrs)))
        yield "word of a recomputation dropped", i, rebuild(module, words.fn, whole[:i] + whole[i + 1 :])


_REMADE_LATE = {
    "value": "recomputed behind its reader",
    "predicate": "carry made behind its reader",
    "overwritten": "recomputed after its operand was overwritten",
    "both write": "recomputed behind the next writer of its place",
}
_REMADE_EARLY = {
    "value": "recomputed before its operand is there",
    "predicate": "recomputed before its carry is there",
    "overwritten": "recomputed before the last reader of its place",
    "both write": "recomputed before the writer whose place it takes",
}


def _remade_elsewhere(module: Module, words: Words) -> Found:
    for i in range(len(words.instrs)):
        if not words.remade(i):
            continue
        late, early = _clashes(words, i, down=True), _clashes(words, i, down=False)
        if late is not None and late[1] in _REMADE_LATE:
            yield _REMADE_LATE[late[1]], i, behind(module, words, i, late[0])
        if early is not None and early[1] in _REMADE_EARLY:
            yield _REMADE_EARLY[early[1]], i, before(module, words, i, early[0])

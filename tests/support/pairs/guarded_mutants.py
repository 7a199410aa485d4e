"""Rewrites of small programs of guarded words, each made by a few random changes: some right, most of them not.

The changes are those that an allocator makes, each at a random place and often only half done: values in other
registers, in spill memory, slots or packed words, copied, made again, left out, elsewhere, or under another guard.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from tests.support.generator.verify.guarded import DATA, HEAD, LATE, PREDICATES
from tests.support.programs.builder import Guard
from tests.support.programs.guarded import (
    KERNEL,
    LOCAL_BYTES,
    POINTER,
    PURE,
    SLOT_BYTES,
    Functions,
    Mapped,
    Word,
    identically,
)

NEW = (12, 13, 14)
NEW_PREDICATES = (4, 5)
PACKED = 15
Words = list[Mapped]
Change = Callable[[random.Random, Words, int], bool]
"""Changes the words about a place; whether there was something to change."""


def rewrite(rng: random.Random, functions: Functions) -> tuple[dict[str, Words], set[str]]:
    """A rewritten program, and the kinds of its changes."""
    out, done = {}, set[str]()
    for name, words in functions.items():
        mapped = identically(words)
        fixed = len(HEAD) if name == KERNEL else 0
        body = mapped[fixed:-1]
        count = rng.randrange(1, 5) if name == KERNEL or rng.random() < 0.6 else 0
        kinds = [rng.choice(sorted(CHANGES)) for _ in range(count)]
        for kind in kinds:  # grows meanwhile
            if kind == "spilled" and rng.random() < 0.3:
                kinds.append("spill place replaced")
            if body and CHANGES[kind](rng, body, rng.randrange(len(body))):
                done.add(kind)
        out[name] = [*mapped[:fixed], *body, mapped[-1]]
    if any(m.word.op.startswith("slot ") for words in out.values() for m in words):
        out[KERNEL].insert(0, Mapped(Word("slots", POINTER)))
    return out, done


def copied(rng: random.Random, words: Words, at: int) -> bool:
    guard = _guard(rng, words[at].word.guard, 0.3)
    words.insert(at, Mapped(Word("copy", rng.choice(NEW), (rng.choice(DATA),), guard=guard)))
    return True


def operand_replaced(rng: random.Random, words: Words, at: int) -> bool:
    word = words[at].word
    if not word.sources or word.op == "test":
        return False
    sources = list(word.sources)
    sources[rng.randrange(len(sources))] = rng.choice((*DATA, *NEW))
    words[at] = replace(words[at], word=replace(word, sources=tuple(sources)))
    return True


def result_replaced(rng: random.Random, words: Words, at: int) -> bool:
    """And at times in what reads it."""
    word = words[at].word
    if word.defines not in DATA:
        return False
    new = rng.choice((*DATA, *NEW))
    words[at] = replace(words[at], word=replace(word, dst=new))
    if rng.random() < 0.8:
        _reads(rng, words, at + 1, word.dst, new, always=True)
    return True


def unmapped(rng: random.Random, words: Words, at: int) -> bool:
    if words[at].word.op not in PURE or words[at].place < 0:
        return False
    words[at] = replace(words[at], place=-1)
    return True


def left_out(rng: random.Random, words: Words, at: int) -> bool:
    if words[at].word.op in ("label", "branch", "back", "call", "effect"):
        return False
    del words[at]
    return True


def made_again(rng: random.Random, words: Words, at: int) -> bool:
    """Later, for what reads it there; at times that is the only time."""
    word = words[at].word
    if word.op not in PURE:
        return False
    to = rng.randrange(at + 1, len(words) + 1)
    new = rng.choice((word.dst, *(NEW_PREDICATES if word.op == "test" else NEW)))
    again = replace(word, dst=new, guard=_guard(rng, word.guard, 0.5))
    words.insert(to, Mapped(again, words[at].place if rng.random() < 0.2 else -1))
    if word.op == "test":
        _guarded(words, to + 1, word.dst, new)
    elif rng.random() < 0.7:
        _reads(rng, words, to + 1, word.dst, new)
    kind = rng.random()
    if kind < 0.4:
        del words[at]
    elif kind < 0.6:
        words[at] = replace(words[at], place=-1)
    return True


def moved(rng: random.Random, words: Words, at: int) -> bool:
    if words[at].word.op in ("label", "branch", "back", "call"):
        return False
    mapped = words.pop(at)
    words.insert(max(0, at + rng.randrange(-3, 4)), mapped)
    return True


def other_guard(rng: random.Random, words: Words, at: int) -> bool:
    word = words[at].word
    if word.guard is None or word.op == "back":
        return False
    guard: Guard | None = (rng.choice((*PREDICATES, LATE)), rng.random() < 0.5)
    if word.op != "branch" and rng.random() < 0.3:
        guard = None
    words[at] = replace(words[at], word=replace(word, guard=guard))
    return True


def spilled(rng: random.Random, words: Words, at: int) -> bool:
    """A register's values lie elsewhere: stored behind each definition, from the place on reloaded before each read."""
    register = rng.choice(DATA)
    slot = rng.random() < 0.4
    offset = SLOT_BYTES * rng.randrange(2) if slot else LOCAL_BYTES + 4 * rng.randrange(2)
    prefix = "slot " if slot else ""
    forgetful = rng.random() < 0.5
    out: Words = []
    for n, mapped in enumerate(words):
        word = mapped.word
        if n >= at and register in word.sources and not (forgetful and rng.random() < 0.15):
            new = rng.choice((*NEW, register))
            out.append(Mapped(Word(f"{prefix}reload", new, imm=offset, guard=_guard(rng, word.guard, 0.2))))
            sources = tuple(new if r == register else r for r in word.sources)
            mapped = replace(mapped, word=replace(word, sources=sources))
        out.append(mapped)
        if word.defines == register and not (forgetful and rng.random() < 0.15):
            guard = _guard(rng, word.guard, 0.6)
            out.append(Mapped(Word(f"{prefix}spill", sources=(register,), imm=offset, guard=guard)))
    if rng.random() < 0.3:
        out.insert(0, Mapped(Word(f"{prefix}spill", sources=(rng.choice((register, *DATA)),), imm=offset)))
    words[:] = out
    return True


def spill_place_replaced(rng: random.Random, words: Words, at: int) -> bool:
    for n in (*range(at, len(words)), *range(at)):
        word = words[n].word
        if word.op in ("spill", "reload"):
            words[n] = replace(words[n], word=replace(word, imm=LOCAL_BYTES + 4 * rng.randrange(-1, 2)))
            return True
        if word.op in ("slot spill", "slot reload"):
            words[n] = replace(words[n], word=replace(word, imm=SLOT_BYTES * rng.randrange(2)))
            return True
    return False


def lifted(rng: random.Random, words: Words, at: int) -> bool:
    """A word of local memory lies in a register."""
    found = [m.word.imm for m in words if m.word.op in ("load", "store")]
    if not found:
        return False
    offset, new, forgetful = rng.choice(found), rng.choice(NEW), rng.random() < 0.4
    for n, mapped in enumerate(words):
        word = mapped.word
        if word.op not in ("load", "store") or word.imm != offset or (forgetful and rng.random() < 0.2):
            continue
        dst, source = (word.dst, new) if word.op == "load" else (new, word.sources[0])
        place = mapped.place if rng.random() < 0.5 else -1
        words[n] = Mapped(Word("copy", dst, (source,), guard=word.guard), place)
    return True


def packed(rng: random.Random, words: Words, at: int) -> bool:
    """Predicates lie in a word for a while; at times one of them is written meanwhile."""
    p = rng.choice((*PREDICATES, LATE))
    to = rng.randrange(at + 1, len(words) + 1)
    mask = 1 << p if rng.random() < 0.6 else 1 << p | 1 << rng.choice((0, 1, 2, 4))
    words.insert(to, Mapped(Word("unpack", sources=(PACKED,), imm=mask, guard=_guard(rng, None, 0.1))))
    if rng.random() < 0.5:
        clobbered = Mapped(Word("test", p, (1,), 0x100))
        words.insert(rng.randrange(at, to + 1), clobbered)
    words.insert(at, Mapped(Word("pack", PACKED, imm=mask, guard=_guard(rng, None, 0.1))))
    return True


def exchanged(rng: random.Random, words: Words, at: int) -> bool:
    """Two registers for a while."""
    a, b = rng.sample((*DATA, *NEW[:1]), 2)
    to = rng.randrange(at + 1, len(words) + 1)
    other = {a: b, b: a}
    for n in range(at, to):
        word = words[n].word
        sources = tuple(other.get(r, r) for r in word.sources)
        dst = other.get(word.dst, word.dst) if word.op != "test" else word.dst
        words[n] = replace(words[n], word=replace(word, sources=sources, dst=dst))
    fold = [Mapped(Word("exclusive", x, (x, y))) for x, y in ((a, b), (b, a), (a, b))]
    words[at:to] = [*fold, *words[at:to], *fold]
    if rng.random() < 0.3:
        lost = words.pop(at + rng.randrange(3))
        if rng.random() < 0.8:
            words.insert(rng.randrange(at, min(to + 6, len(words) + 1)), lost)
    return True


CHANGES: dict[str, Change] = {
    "copied": copied, "exchanged": exchanged, "left out": left_out, "lifted": lifted, "made again": made_again,
    "moved": moved, "operand replaced": operand_replaced, "other guard": other_guard, "packed": packed,
    "result replaced": result_replaced, "spill place replaced": spill_place_replaced, "spilled": spilled,
    "unmapped": unmapped,
}  # fmt: skip


def _guard(rng: random.Random, same: Guard | None, likely: float) -> Guard | None:
    """That guard, none, or any."""
    if rng.random() < 0.05:
        return rng.choice(PREDICATES), rng.random() < 0.5
    return same if rng.random() < likely else None


def _reads(rng: random.Random, words: Words, start: int, old: int, new: int, always: bool = False) -> None:
    """What reads the register reads another one, up to where it is written."""
    for n in range(start, len(words)):
        word = words[n].word
        if old in word.sources:
            sources = tuple(new if r == old else r for r in word.sources)
            words[n] = replace(words[n], word=replace(word, sources=sources))
            if not always and rng.random() < 0.5:
                return
        if word.defines == old and word.guard is None:
            return


def _guarded(words: Words, start: int, old: int, new: int) -> None:
    """What goes by the predicate goes by another one, up to where it is written."""
    for n in range(start, len(words)):
        word = words[n].word
        if word.guard is not None and word.guard[0] == old:
            words[n] = replace(words[n], word=replace(word, guard=(new, word.guard[1])))
        if word.op == "test" and word.dst == old:
            return

"""Wrong steps to shorter access regions are not proven: whatever is proven runs like its original."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from binalloc.isa.instruction import Origin
from binalloc.isa.kinds import Flow
from binalloc.isa.sets.table import set_of, view
from binalloc.transform.shorten.shorten import shortened
from binalloc.verify.shorten.late import check_late_stores
from binalloc.verify.shorten.unrolled import check_unrolled
from tests.property.verify.multiplex.test_public_proofs import left, same
from tests.support.generator.transform.exchanges import exchanging
from tests.support.pairs.multiplex.public_mutants import Items, changed, inserted, items, moved, put, without
from tests.support.programs.builder import program

SEEDS = range(10)
SOME = 3  # mutants of a kind, of one step


def stores(words: Items) -> list[int]:
    """Stores that have moved: they stand behind words of the original that come later there."""
    found, most = [], -1
    for n, item in enumerate(words):
        if 0 <= item.origin < most and item.instr.name == "STS":
            found.append(n)
        most = max(most, item.origin)
    return found


def dropped(words: Items) -> Iterator[Items]:
    return (without(words, n) for n in stores(words))


def elsewhere(words: Items) -> Iterator[Items]:
    for n in stores(words):
        memory = view(words[n].instr).memory
        assert memory is not None
        base = None if memory.base is None else memory.base.index
        yield changed(words, n, set_of(words[n].instr).readdress(words[n].instr, base, memory.offset + 4))


def other_word(words: Items) -> Iterator[Items]:
    """Another register's word is stored."""
    for n in stores(words):
        yield changed(words, n, words[n].instr.replace(rb=(words[n].instr.f["rb"] + 1) % 60))


def other_base(words: Items) -> Iterator[Items]:
    for n in stores(words):
        yield changed(words, n, words[n].instr.replace(ra=(words[n].instr.f["ra"] + 1) % 60))


def behind_barrier(words: Items) -> Iterator[Items]:
    for n in stores(words):
        k = next((k for k in range(n + 1, len(words) - 1) if words[k].instr.control == Flow.BARRIER), None)
        if k is not None:
            yield moved(words, n, k + 1)


def guarded(words: Items) -> Iterator[Items]:
    return (changed(words, n, words[n].instr.replace(guard=(1, False))) for n in stores(words))


def exchanged(words: Items) -> Iterator[Items]:
    """Two late stores have changed places: they may go to the same word."""
    return (moved(words, n + 1, n) for n in stores(words) if n + 1 in stores(words))


def no_copy(words: Items) -> Iterator[Items]:
    return (without(words, n) for n, item in enumerate(words) if item.origin < 0 and item.instr.name == "MOV")


def late_copy(words: Items) -> Iterator[Items]:
    """A copy is made of what comes into the register next."""
    for n, item in enumerate(words):
        if item.origin < 0 and item.instr.name == "MOV" and n + 2 < len(words):
            yield moved(words, n, n + 2)


def overwritten(words: Items) -> Iterator[Items]:
    """A copy goes to a register of the original."""
    for n, item in enumerate(words):
        if item.origin < 0 and item.instr.name == "MOV":
            yield changed(words, n, item.instr.replace(rd=4))


def twice(words: Items) -> Iterator[Items]:
    return (inserted(words, n, [words[n].instr]) for n in stores(words))


LATE: tuple[Callable[[Items], Iterator[Items]], ...] = (
    dropped, elsewhere, other_word, other_base, behind_barrier, guarded, exchanged, no_copy, late_copy, overwritten,
    twice,
)  # fmt: skip


def some(kind: Callable[[Items], Iterator[Items]], words: Items, rng: random.Random) -> list[Items]:
    found = [mutant for mutant in kind(words) if mutant]
    return rng.sample(found, min(SOME, len(found)))


@pytest.mark.rotates("long")
def test_wrong_late_stores_are_rejected_or_run_alike() -> None:
    rejected: Counter[str] = Counter()
    for seed in SEEDS:
        text, launch = exchanging(seed)
        module, rng = program(text), random.Random(seed)
        for step in shortened(module, "k", launch.block):
            if step.late:
                words = items(step.module.function("k"))
                expected = left(module, launch)
                for kind in LATE:
                    for mutant in some(kind, words, rng):
                        wrong = put(step.module, "k", mutant)
                        if check_late_stores(module, wrong, "k", launch.block).ok:
                            assert same(expected, left(wrong, launch)), (seed, kind.__name__)
                        else:
                            rejected[kind.__name__] += 1
            module = step.module
    assert all(rejected[kind.__name__] for kind in LATE), rejected


def one_less(words: Items) -> Iterator[Items]:
    """A word of one round is left out."""
    copies = Counter(item.origin for item in words)
    return (without(words, n) for n in range(len(words) - 1) if copies[words[n].origin] > 1)


def one_more(words: Items) -> Iterator[Items]:
    copies = Counter(item.origin for item in words)
    for n in range(1, len(words) - 1):
        if copies[words[n].origin] > 1 and not words[n].links:
            out = inserted(words, n, [words[n].instr])
            out[n].origin = words[n].origin
            yield out


@pytest.mark.rotates("long")
def test_wrong_rounds_are_rejected_or_run_alike() -> None:
    rejected: Counter[str] = Counter()
    for seed in range(24):
        text, launch = exchanging(seed)
        module, rng = program(text), random.Random(seed)
        step = shortened(module, "k", launch.block)[0]
        if not step.last:
            continue
        for change in (-1, 1):
            for k in range(len(step.last)):
                last = dict(step.last)
                last[step.last[k][0]] += change
                assert not check_unrolled(module, step.module, "k", launch.block, last).ok
                rejected["round"] += 1
        expected, words = left(module, launch), items(step.module.function("k"))
        for kind in (one_less, one_more):
            found = list(kind(words))
            for mutant in rng.sample(found, min(SOME, len(found))):
                wrong = put(step.module, "k", mutant)
                if check_unrolled(module, wrong, "k", launch.block, dict(step.last)).ok:
                    assert same(expected, left(wrong, launch)), (seed, kind.__name__)
                else:
                    rejected[kind.__name__] += 1
    assert all(rejected[kind] > 4 for kind in ("round", "one_less", "one_more")), rejected


@pytest.mark.parametrize(("body", "why"), [
    ("LDG.32 R9, [R4]\nISETP.LT.AND P0, PT, R9, 0x3, PT", "a loop that ends when a loaded word says so"),
    ("ISETP.LT.AND P0, PT, R3, R10, PT", "as many rounds as a parameter says"),
    ("ISETP.LT.AND P0, PT, R3, R0, PT", "as many rounds as the thread's number says"),
])  # fmt: skip
def test_rounds_that_are_not_known_are_not_proven(body: str, why: str) -> None:
    text = """.kernel k
.param a, 4
.shared_bytes 1024
    S2R R0, SR_TID.X
    MOV R10, c[0][a]
    MOV R3, 0x0
head:
    IADD3 R3, R3, 0x1, RZ
    {}
    @P0 BRA head, on
on:
    EXIT
.end
"""
    module = program(text.format(body))
    kernel = module.function("k")
    made = program(text.format(body).replace("    @P0 BRA head, on\n", ""))
    index = [k for k, instr in enumerate(kernel.instrs) if instr.name != "BRA"]
    fn = replace(made.function("k"), origin=Origin("k", index))
    report = check_unrolled(module, replace(made, functions=[fn]), "k", (32, 1, 1), {3: 0})
    assert not report.ok
    assert report.errors[0].kind == "rounds", why

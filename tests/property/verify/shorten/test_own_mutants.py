"""Wrong own words are not proven: whatever is proven runs like its original."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from binalloc.errors import Refused
from binalloc.isa.kinds import Flow, Space
from binalloc.isa.sets.table import set_of, view
from binalloc.transform.shorten.own_words import OwnWords, with_own_words
from binalloc.verify.shorten.own import check_own_words
from tests.property.verify.multiplex.test_public_proofs import left, same
from tests.support.generator.transform.own_words import owning
from tests.support.pairs.multiplex.public_mutants import Items, changed, inserted, items, moved, put, without
from tests.support.programs.builder import program

SEEDS = range(24)
SOME = 2  # mutants of a kind, of one kernel


def copies(words: Items, *names: str) -> list[int]:
    """Copies of own words, by opcode."""
    return [n for n, item in enumerate(words) if item.origin < 0 and item.instr.name in names]


def local(words: Items) -> list[int]:
    """Accesses to local memory in place of the original's."""
    return [n for n, item in enumerate(words) if item.origin >= 0 and item.instr.name in ("LDL", "STL")]


def dropped(words: Items) -> Iterator[Items]:
    return (without(words, n) for n in copies(words, "LDS", "STS", "LDL", "STL"))


def _shifted(words: Items, n: int, by: int) -> Items:
    memory = view(words[n].instr).memory
    assert memory is not None
    base = None if memory.base is None else memory.base.index
    return changed(words, n, set_of(words[n].instr).readdress(words[n].instr, base, memory.offset + by))


def elsewhere(words: Items) -> Iterator[Items]:
    """A copy is of another byte."""
    for n in copies(words, "LDS", "STS", "LDL", "STL"):
        memory = view(words[n].instr).memory
        assert memory is not None
        yield _shifted(words, n, memory.size)


def other_byte(words: Items) -> Iterator[Items]:
    """An access goes to another byte of local memory."""
    for n in local(words):
        memory = view(words[n].instr).memory
        assert memory is not None
        yield _shifted(words, n, memory.size)


def other_thread(words: Items) -> Iterator[Items]:
    """Copies are of the column of another thread: the register with where a column begins is another one."""
    for n in copies(words, "MOV"):
        for source in (4, 5, 10):
            if words[n].instr.f["rb"] != source:
                yield changed(words, n, words[n].instr.replace(rb=source))


def other_row(words: Items) -> Iterator[Items]:
    for n in copies(words, "SHF"):
        yield changed(words, n, words[n].instr.replace(imm=words[n].instr.f["imm"] - 1))


def other_word(words: Items) -> Iterator[Items]:
    """A copy stores another register."""
    for n in copies(words, "STS", "STL"):
        yield changed(words, n, words[n].instr.replace(rb=words[n].instr.f["rb"] + 1))


def stale_register(words: Items) -> Iterator[Items]:
    """An access goes to a row that was computed for another one."""
    for n in copies(words, "SHF"):
        yield without(words, n)


def behind_barrier(words: Items) -> Iterator[Items]:
    """Words come to shared memory when others may read it already."""
    for n in copies(words, "STS"):
        k = next((k for k in range(n + 1, len(words) - 1) if words[k].instr.control == Flow.BARRIER), None)
        if k is not None:
            yield moved(words, n, k + 1)


def before_barrier(words: Items) -> Iterator[Items]:
    """Words are loaded when others may not have stored them yet."""
    for n in copies(words, "LDS"):
        k = next((k for k in range(n - 1, 0, -1) if words[k].instr.control == Flow.BARRIER), None)
        if k is not None:
            yield moved(words, n, k)


def too_early(words: Items) -> Iterator[Items]:
    """A copy is of what a word held before it was written for the last time."""
    written = [n for n in local(words) if words[n].instr.name == "STL"]
    for n in copies(words, "LDL"):
        k = max((k for k in written if k < n), default=None)
        if k is not None:
            yield moved(words, n, k)


def no_copies(words: Items) -> Iterator[Items]:
    """Nothing is copied to shared memory, or from it."""
    for names in (("STS", "LDL"), ("LDS", "STL")):
        found = copies(words, *names)
        out = words
        for n in reversed(found):
            out = without(out, n) or out
        if found:
            yield out


def shared_again(words: Items) -> Iterator[Items]:
    """One access stays in shared memory, where the words are not."""
    for n in local(words):
        instr = set_of(words[n].instr).in_space(words[n].instr, Space.SHARED)
        assert instr is not None
        yield changed(words, n, instr)


def wider(words: Items) -> Iterator[Items]:
    for n in local(words):
        yield changed(words, n, words[n].instr.replace(width=4 if words[n].instr.f["width"] != 4 else 2))


def guarded(words: Items) -> Iterator[Items]:
    for n in copies(words, "STS", "STL", "MOV", "SHF"):
        yield changed(words, n, words[n].instr.replace(guard=(1, False)))


def overwritten(words: Items) -> Iterator[Items]:
    """An inserted word writes a register of the original."""
    for n in copies(words, "MOV", "SHF", "LDL", "LDS"):
        yield changed(words, n, words[n].instr.replace(rd=6))


def stray(words: Items) -> Iterator[Items]:
    """A copy is of what belongs to nobody."""
    for n in copies(words, "STS"):
        at = words[n].instr.replace(moff=words[n].instr.f["moff"] + 4096)
        yield inserted(words, n, [at])


KINDS: tuple[Callable[[Items], Iterator[Items]], ...] = (
    dropped, elsewhere, other_byte, other_thread, other_row, other_word, stale_register, behind_barrier, before_barrier,
    too_early, no_copies, shared_again, wider, guarded, overwritten, stray,
)  # fmt: skip


@pytest.mark.rotates("long")
def test_wrong_own_words_are_rejected_or_run_alike() -> None:
    rejected: Counter[str] = Counter()
    for seed in SEEDS:
        text, launch = owning(seed)
        module, rng = program(text), random.Random(seed)
        try:
            made: OwnWords = with_own_words(module, "k", launch.block)
        except Refused:
            continue
        words, expected = items(made.module.function("k")), left(module, launch)
        for kind in KINDS:
            found = [mutant for mutant in kind(words) if mutant]
            for mutant in rng.sample(found, min(SOME, len(found))):
                wrong = put(made.module, "k", mutant)
                report = check_own_words(module, wrong, "k", launch.block, made.parts)
                assert not any(error.kind == "internal" for error in report.errors), report
                if report.ok:
                    assert same(expected, left(wrong, launch)), (seed, kind.__name__)
                else:
                    rejected[kind.__name__] += 1
    assert all(rejected[kind.__name__] for kind in KINDS), rejected


def test_wrong_parts_are_rejected() -> None:
    """The numbers of a part are a hint: others do not fit the code."""
    for seed in SEEDS:
        text, launch = owning(seed)
        module = program(text)
        try:
            made = with_own_words(module, "k", launch.block)
        except Refused:
            continue
        first, end, stride, width, own = made.parts[0]
        for wrong in (
            (), ((first, end, stride, width, own + 4),), ((first, end, stride, 2 * width, own),),
            ((first, end, stride // 2, width, own),), ((first, end + stride, stride, width, own),),
            ((first, end - stride, stride, width, own),), (made.parts[0], made.parts[0]),
        ):  # fmt: skip
            assert not check_own_words(module, made.module, "k", launch.block, wrong).ok, (seed, wrong)

"""Wrong kernels of merged blocks: each is a right one with one change, by kind of change.

A change may happen to leave a kernel that is right: then it has to run like the original.
"""

from __future__ import annotations

from collections.abc import Iterator

from binalloc.isa.instruction import Function, make
from binalloc.isa.kinds import Access, Flow, Space
from binalloc.isa.sets.table import set_of, view
from binalloc.isa.table.fields import PT
from tests.support.pairs.multiplex.public_mutants import (
    Change,
    Items,
    accesses,
    before_the_last_access,
    behind_the_next_access,
    changed,
    inserted,
    moved,
    relinked,
    without,
)


def _inserted(words: Items) -> list[int]:
    return [n for n, x in enumerate(words) if x.origin < 0]


def _barriers(words: Items) -> list[int]:
    return [n for n, x in enumerate(words) if x.instr.control == Flow.BARRIER]


def no_barrier(words: Items, original: Function) -> Iterator[Items]:
    return (without(words, n) for n in _barriers(words))


def one_barrier_more(words: Items, original: Function) -> Iterator[Items]:
    return (inserted(words, n, [words[n].instr.replace(guard=(7, False))]) for n in _barriers(words))


def barrier_later(words: Items, original: Function) -> Iterator[Items]:
    return behind_the_next_access(words, _barriers(words))


def barrier_earlier(words: Items, original: Function) -> Iterator[Items]:
    return before_the_last_access(words, _barriers(words))


def named_barrier(words: Items, original: Function) -> Iterator[Items]:
    return (changed(words, n, words[n].instr.replace(barid=1)) for n in _barriers(words))


def other_barrier(words: Items, original: Function) -> Iterator[Items]:
    """A counted barrier of another number, that waits or does not, or for all of the block."""
    for n in _barriers(words):
        instr = words[n].instr
        if instr.f["barid"]:
            for by in (1, -1, 2):
                yield changed(words, n, instr.replace(barid=(instr.f["barid"] + by) % 16))
            yield changed(words, n, instr.replace(bar=1 - instr.f["bar"]))
            yield changed(words, n, make("BAR", barid=0, rb=255, guard=(instr.guard, instr.guard_neg)))


def other_vote(words: Items, original: Function) -> Iterator[Items]:
    """A vote that gives the opposite, whose answer nobody looks at, or that is a plain barrier; and the other way
    round."""
    for n in _barriers(words):
        instr = words[n].instr
        if (barrier := set_of(instr).barrier(instr)) is not None and barrier.vote:
            yield changed(words, n, instr.replace(ps0n=1 - instr.f["ps0n"]))
            yield changed(words, n, make("BAR", barid=0, rb=255))
            if instr.f["pd0"] != PT:
                yield changed(words, n, instr.replace(pd0=PT))
        elif words[n].origin < 0:
            for gives in (0, 1):
                yield changed(words, n, make("BAR", barid=0, rb=255, bar=4, pd0=PT, ps0=PT, ps0n=1 - gives))


def other_guard(words: Items, original: Function) -> Iterator[Items]:
    """The opposite guard, none, or another one, of an inserted word or a store that one does for all."""
    for n, item in enumerate(words):
        instr = item.instr
        if instr.guarded and (item.origin < 0 or not original.instrs[item.origin].guarded):
            yield changed(words, n, instr.replace(guard=(instr.guard, not instr.guard_neg)))
            yield changed(words, n, instr.replace(guard=(7, False)))
            yield changed(words, n, instr.replace(guard=((instr.guard + 1) % 3, instr.guard_neg)))


def new_guard(words: Items, original: Function) -> Iterator[Items]:
    for n in _inserted(words):
        if not words[n].instr.guarded:
            yield changed(words, n, words[n].instr.replace(guard=(1, False)))


def other_number(words: Items, original: Function) -> Iterator[Items]:
    """Another immediate of an inserted word: turns, the number of blocks, a reciprocal."""
    for n in _inserted(words):
        instr = words[n].instr
        for by in (1, -1, 2) if "imm" in instr.f else ():
            yield changed(words, n, instr.replace(imm=(instr.f["imm"] + by) & 0xFFFFFFFF))


def other_register(words: Items, original: Function) -> Iterator[Items]:
    """An inserted word that writes or reads another register: its neighbour, or one of the original."""
    for n in _inserted(words):
        instr = words[n].instr
        for name in ("rd", "ra", "rb", "rc"):
            register = instr.f.get(name, 255)
            if register != 255:
                for new in (register + 1, register - 1, 0, 6):
                    yield changed(words, n, instr.replace(**{name: new}))


def no_inserted_word(words: Items, original: Function) -> Iterator[Items]:
    return (without(words, n) for n in _inserted(words) if n + 1 < len(words))


def inserted_word_elsewhere(words: Items, original: Function) -> Iterator[Items]:
    """An inserted word some places further, or earlier: regions of other length among them."""
    for n in _inserted(words):
        if words[n].links:
            continue
        for by in (-8, -2, -1, 2, 3, 9):
            if 0 < n + by < len(words):
                yield moved(words, n, n + by)


def other_link(words: Items, original: Function) -> Iterator[Items]:
    """A branch to the word in front or behind, or with such a reconvergence point."""
    for n, item in enumerate(words):
        for name, to in item.links.items():
            at = words.index(to) if to is not None else len(words)
            for by in (-3, -1, 1, 2, 5):
                if item.origin < 0 and 0 <= at + by < len(words):
                    out = relinked(words, [type(x)(x.instr, x.origin, dict(x.links)) for x in words])
                    out[n].links[name] = out[at + by]
                    yield out


def shorter_region(words: Items, original: Function) -> Iterator[Items]:
    """The jump at a region's end in front of the last access."""
    for n in _inserted(words):
        item = words[n]
        ahead = [k for k in accesses(words) if k < n]
        if item.instr.control == Flow.BRANCH and not item.instr.guarded and ahead:
            out = moved(words, n, ahead[-1])
            at = next(k for k, x in enumerate(out) if x.instr is item.instr and x.origin < 0)
            target = item.links["target"]
            assert target is not None
            place = words.index(target)
            out[at].links = {"target": out[place]}
            yield out


def goes_on(words: Items, original: Function) -> Iterator[Items]:
    """Blocks beyond the grid go on, or end later."""
    for n in _inserted(words):
        if words[n].instr.control == Flow.EXIT:
            yield without(words, n)
            for by in (2, 4, 9):
                if n + by < len(words):
                    yield moved(words, n, n + by)


def stored_by_all(words: Items, original: Function) -> Iterator[Items]:
    for n, item in enumerate(words):
        if item.origin >= 0 and item.instr.guarded and not original.instrs[item.origin].guarded:
            yield changed(words, n, original.instrs[item.origin])


def stores_left_to_one(words: Items, original: Function) -> Iterator[Items]:
    """A store of each virtual block that only one does."""
    guarded = [n for n, x in enumerate(words) if x.origin >= 0 and x.instr.guarded > original.instrs[x.origin].guarded]
    tests = [words[n - 1].instr for n in guarded if words[n - 1].origin < 0]
    for n, item in enumerate(words):
        memory = view(item.instr).memory
        stores = memory is not None and memory.space == Space.SHARED and memory.access == Access.STORE
        if stores and not item.instr.guarded and tests:
            guard = words[guarded[0]].instr
            mine = changed(words, n, item.instr.replace(guard=(guard.guard, guard.guard_neg)))
            yield inserted(mine, n, [tests[0]])


def other_word(words: Items, original: Function) -> Iterator[Items]:
    """One word of the original is another one."""
    for n in accesses(words):
        memory = view(words[n].instr).memory
        assert memory is not None
        base = None if memory.base is None else memory.base.index
        yield changed(words, n, set_of(words[n].instr).readdress(words[n].instr, base, memory.offset + 4))


def written_register(words: Items, original: Function) -> Iterator[Items]:
    """A register or predicate of the original is overwritten in front of a word."""
    for n in range(0, len(words), 5):
        yield inserted(words, n, [make("IADD3", rd=4, ra=4, form=1, imm=4)])
        yield inserted(words, n, [make("ISETP", pd0=1, ra=4, form=1, imm=7, icmp=1, ps0=7)])


KINDS: dict[str, Change] = {
    f.__name__: f
    for f in (
        no_barrier, one_barrier_more, barrier_later, barrier_earlier, named_barrier, other_guard, new_guard,
        other_number, other_register, no_inserted_word, inserted_word_elsewhere, other_link, shorter_region, goes_on,
        stored_by_all, stores_left_to_one, other_word, written_register,
    )
}  # fmt: skip
"""The kinds of changes: each yields changed words."""
VOTED_KINDS = KINDS | {"other_vote": other_vote}
"""The kinds of changes of blocks that vote on the end of a turn."""
HANDED_KINDS = {kind: change for kind, change in KINDS.items() if kind not in ("other_link", "shorter_region")} | {
    "other_barrier": other_barrier
}
"""The kinds of changes of blocks that hand on their turn: they have no branch to another turn."""

"""Wrong kernels whose blocks get shared memory as they run: each is a right one with one change, by kind of change.

A change may happen to leave a kernel that is right: then it has to run like the original.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from binalloc.isa.instruction import Function, Instr, Module, Origin, make
from binalloc.isa.interface.places import NO_REGISTER
from binalloc.isa.kinds import Flow, Space
from binalloc.isa.sets.table import set_of, view

HELD = (Flow.ALLOC, Flow.FREE)


@dataclass(eq=False)
class Item:
    """An item is a word whose links are other items."""

    instr: Instr
    origin: int
    links: dict[str, Item | None]


Items = list[Item]
Change = Callable[[Items, Function], Iterator[Items]]
"""Yields changed words. It is given those of the new kernel, and the original."""


def items(fn: Function) -> Items:
    """Return a function's words with their links; None is the function's end."""
    assert fn.origin is not None
    found = [Item(instr, k, {}) for instr, k in zip(fn.instrs, fn.origin.index, strict=True)]
    for n, item in enumerate(found):
        if item.instr.control == Flow.BRANCH:
            for name, distance in set_of(item.instr).links(item.instr).items():
                if name != "reconv" or item.instr.f["diverges"]:
                    item.links[name] = found[n + 1 + distance]
    return found


def put(module: Module, kernel: str, words: Items) -> Module:
    """Return the module with other words in the kernel, which is the only function."""
    assert len(module.functions) == 1
    at = {id(item): n for n, item in enumerate(words)}
    fn = module.function(kernel)
    instrs = []
    for n, item in enumerate(words):
        offsets = {name: at[id(to)] - n - 1 for name, to in item.links.items()}
        instrs.append(set_of(item.instr).relink(item.instr, offsets) if offsets else item.instr)
    assert fn.origin is not None
    said = {fn.origin.index[n]: names for n, names in fn.touches.items()}
    touches = {n: said[item.origin] for n, item in enumerate(words) if item.instr.op.space and item.origin in said}
    index = [item.origin for item in words]
    new = replace(fn, instrs=instrs, labels={}, lines={}, touches=touches, origin=Origin(kernel, index))
    return replace(module, functions=[new])


def without(words: Items, n: int) -> Items:
    """Return the words without one; what led to it leads to the next."""
    gone, behind = words[n], words[n + 1]
    out = [Item(item.instr, item.origin, dict(item.links)) for item in words]
    new = {id(old): item for old, item in zip(words, out, strict=True)}
    for item in out:
        item.links = {name: new[id(behind if to is gone else to)] for name, to in item.links.items()}
    del out[n]
    return out


def moved(words: Items, n: int, to: int) -> Items:
    """Return the words with one elsewhere: in front of the word that is at `to` now."""
    target, out = words[to], without(words, n)
    at = to - (to > n)
    out.insert(at, Item(words[n].instr, words[n].origin, {}))
    assert out[at + 1].instr is target.instr
    return out


def changed(words: Items, n: int, instr: Instr) -> Items:
    """Return the words with another instruction at one place."""
    out = relinked(words, _copied(words))
    out[n].instr = instr
    return out


def relinked(before: Items, after: Items) -> Items:
    """Let links lead to the items that are at their places now."""
    place = {id(item): n for n, item in enumerate(before)}
    for item in after:
        item.links = {name: after[place[id(to)]] for name, to in item.links.items()}
    return after


def inserted(words: Items, n: int, instrs: list[Instr]) -> Items:
    """Return the words with others in front of word `n`; branches to it come to these first."""
    out = [Item(item.instr, item.origin, dict(item.links)) for item in words]
    new = {id(old): item for old, item in zip(words, out, strict=True)}
    added = [Item(instr, -1, {}) for instr in instrs]
    for item in out:
        item.links = {name: added[0] if to is words[n] else new[id(to)] for name, to in item.links.items()}
    out[n:n] = added
    return out


# -- kinds of changes


def accesses(words: Items) -> list[int]:
    return [n for n, x in enumerate(words) if (m := view(x.instr).memory) is not None and m.space == Space.SHARED]


def _held(words: Items, *kinds: Flow) -> list[int]:
    return [n for n, x in enumerate(words) if x.instr.control in (kinds or HELD)]


def removed_alloc(words: Items, original: Function) -> Iterator[Items]:
    return (without(words, n) for n in _held(words, Flow.ALLOC))


def removed_free(words: Items, original: Function) -> Iterator[Items]:
    return (without(words, n) for n in _held(words, Flow.FREE))


def behind_the_next_access(words: Items, barriers: list[int]) -> Iterator[Items]:
    """One of the barriers is behind the next access."""
    for n in barriers:
        behind = [k for k in accesses(words) if k > n]
        if behind:
            yield moved(words, n, behind[0] + 1)


def before_the_last_access(words: Items, barriers: list[int]) -> Iterator[Items]:
    """One of the barriers is in front of the access before it."""
    for n in barriers:
        ahead = [k for k in accesses(words) if k < n]
        if ahead:
            yield moved(words, n, ahead[-1])


def later(words: Items, original: Function) -> Iterator[Items]:
    return behind_the_next_access(words, _held(words))


def earlier(words: Items, original: Function) -> Iterator[Items]:
    return before_the_last_access(words, _held(words))


def guarded(words: Items, original: Function) -> Iterator[Items]:
    return (changed(words, n, words[n].instr.replace(guard=(1, False))) for n in _held(words))


def divergent(words: Items, original: Function) -> Iterator[Items]:
    """A barrier behind a branch beside it, so that some threads may pass it by."""
    for n in _held(words):
        for k in (*range(n, min(n + 12, len(words))), *range(n - 1, max(n - 12, 0), -1)):
            branch = words[k].instr.control == Flow.BRANCH and words[k].instr.guarded and words[k].links.get("reconv")
            if branch and k + 1 not in (n, n + 1):
                yield moved(words, n, k + 1)
                break


def other_register(words: Items, original: Function) -> Iterator[Items]:
    for n in _held(words, Flow.FREE):
        for register in (0, NO_REGISTER):
            yield changed(words, n, set_of(words[n].instr).rename(words[n].instr, {"ra": register}))


def off_by_four(words: Items, original: Function) -> Iterator[Items]:
    for n in accesses(words):
        memory = view(words[n].instr).memory
        assert memory is not None
        base = None if memory.base is None else memory.base.index
        for by in (4, -4):
            yield changed(words, n, set_of(words[n].instr).readdress(words[n].instr, base, memory.offset + by))


def raw_address(words: Items, original: Function) -> Iterator[Items]:
    """An access at the original's address."""
    for n in accesses(words):
        old = original.instrs[words[n].origin]
        if old != words[n].instr:
            yield changed(words, n, old)


def removed_barrier(words: Items, original: Function) -> Iterator[Items]:
    return (without(words, n) for n in _held(words, Flow.BARRIER))


def small(words: Items, original: Function) -> Iterator[Items]:
    """All sizes smaller by a word, or one of them greater."""
    out, places = words, _held(words, Flow.ALLOC)
    for n in places:
        out = changed(out, n, words[n].instr.replace(imm=words[n].instr.f["imm"] - 4))
    yield out
    if len(places) > 1:
        yield changed(words, places[0], words[places[0]].instr.replace(imm=words[places[0]].instr.f["imm"] + 128))


def behind_alloc(words: Items, original: Function) -> Iterator[Items]:
    """A branch to behind a barrier, or behind what was inserted, instead of in front of it."""
    for n, item in enumerate(words):
        to = item.links.get("target")
        if to is None:
            continue
        at = words.index(to)
        if words[at].instr.control in HELD:
            for names in (("target",), ("target", "reconv"), ("reconv",)):
                out = relinked(words, _copied(words))
                for name in names:
                    if item.links.get(name) is to:
                        out[n].links[name] = out[at + 1]
                yield out


def _copied(words: Items) -> Items:
    return [Item(x.instr, x.origin, dict(x.links)) for x in words]


def split(words: Items, original: Function) -> Iterator[Items]:
    """A region in two, with another holder in between, in front of an access or a barrier."""
    allocs = _held(words, Flow.ALLOC)
    for n in [*accesses(words), *_held(words, Flow.BARRIER)]:
        before = [k for k in allocs if k < n]
        if before:
            alloc = words[before[-1]].instr
            yield inserted(words, n, [make("BAR.FREE", ra=alloc.f["rd"]), alloc])


def wrong_base(words: Items, original: Function) -> Iterator[Items]:
    """The base is overwritten behind a BAR.ALLOC."""
    for n in _held(words, Flow.ALLOC):
        register = words[n].instr.f["rd"]
        yield inserted(words, n + 1, [make("IADD3", rd=register, ra=register, form=1, imm=4)])


def lost_predicate(words: Items, original: Function) -> Iterator[Items]:
    """A predicate of the original is overwritten in front of a word that needs it."""
    for n, item in enumerate(words):
        if item.instr.guarded and item.origin >= 0:
            yield inserted(words, n, [make("ISETP", pd0=item.instr.guard, ra=4, form=1, imm=7, icmp=1, ps0=7)])


KINDS: dict[str, Change] = {
    f.__name__: f
    for f in (
        removed_alloc, removed_free, later, earlier, guarded, divergent, other_register, off_by_four, raw_address,
        removed_barrier, small, behind_alloc, split, wrong_base, lost_predicate,
    )
}  # fmt: skip
"""The kinds of changes: each yields changed words."""


# -- the same change of both kernels: the original is another program, for which the new kernel may be wrong


def in_both(original: Module, made: Module, kernel: str, first: int) -> Iterator[tuple[Module, Module]]:
    """Yield pairs in which one word of the original was changed, from word `first` on, and the word that stands for it
    in the same way."""
    old, new = original.function(kernel), made.function(kernel)
    assert new.origin is not None
    at = {m: n for n, m in enumerate(new.origin.index) if m >= 0}
    for m, instr in enumerate(old.instrs):
        if m in at and m >= first:
            for change in _changes(instr):
                pair = []
                for module, fn, n in ((original, old, m), (made, new, at[m])):
                    instrs = list(fn.instrs)
                    instrs[n] = change(instrs[n])
                    pair.append(replace(module, functions=[replace(fn, instrs=instrs)]))
                yield pair[0], pair[1]


def _changes(instr: Instr) -> Iterator[Callable[[Instr], Instr]]:
    """Yield changes of an instruction: another guard, nothing in its place, another source of what it computes."""
    memory = view(instr).memory
    if memory is not None and memory.space == Space.SHARED:
        for guard in ((1, False), (2, True), (3, False), (0, True)):
            yield lambda x, guard=guard: x.replace(guard=guard)  # type: ignore[misc]
        yield lambda x: make("NOP")
    elif instr.control in (Flow.BRANCH, Flow.EXIT) and instr.guarded:
        for guard in ((1, False), (2, True), (3, False), (0, True), (instr.guard, not instr.guard_neg)):
            yield lambda x, guard=guard: x.replace(guard=guard)  # type: ignore[misc]
    elif instr.control == Flow.NONE and memory is None:
        for name in ("ra", "rb", "rc"):
            for register in (4, 5, 6, 7, 8) if instr.f.get(name, NO_REGISTER) != NO_REGISTER else ():
                yield lambda x, name=name, register=register: x.replace(**{name: register})  # type: ignore[misc]
        if "imm" in instr.f:
            for by in (1, 4, 128):
                yield lambda x, by=by: x.replace(imm=(x.f["imm"] + by) & 0xFFFFFFFF)  # type: ignore[misc]

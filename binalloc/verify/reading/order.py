"""This module finds an order of the original's words in which it does the same: reordering inside basic blocks.

Needs the original's code, blocks and webs, the rewritten code and the instruction map as a hint. Returns an order of
the original's words (None: unchanged) for `Original`. The lockstep then follows the original in that order, and refuses
whatever does not match it. The map proposes. A block's proposal is taken only if every two words that change places
commute. That does not depend on the map:

- *Values*: neither word defines a web that both have in common, guards and predicates included. Unrelated values that
  shared a register are different webs, so only true dependences count.
- *Memory*, as ISA.md's "Memory model" has it: two loads commute. A load or store commutes with a store of another
  space, unless one of them is generic (or a texture, with global memory). In local memory it commutes with one at a
  disjoint offset from the same value of the same base. So it does in global memory under the model `ptx`, where other
  threads' accesses order nothing; under `loom` it commutes with one that touches other bytes in any two lanes
  (`Lanes`). In shared and generic memory it commutes with no store. Atomics and accesses marked as ordered commute with
  no access. A load or store of local words that has no counterpart at all is one of values, the words: it is silent
  only where no remaining access can touch them (`resources.check_locals`). A store of words that no function loads
  binds nothing then.
- *Warps*: barriers, WARPSYNC, fences, allocation of shared memory and reads of clocks commute with nothing that has an
  effect; exchanges between lanes do not commute with each other either. Branches, calls and ends close their block.

Two things are ignored. One is the order in which accesses of one thread become visible to others where no barrier,
fence, atomic or ordered access is between them. The other is faults: a word that faults ends the launch without a
result, whatever was stored before, and inside a block the same words are executed in any order.

A word that the rewritten program has elsewhere or not at all (pure words alone; anything else fails in the lockstep) is
put as early as its operands allow.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from itertools import pairwise
from typing import NamedTuple, Protocol

from binalloc.isa.interface.view import Memory, View
from binalloc.isa.kinds import Access, Flow, Space
from binalloc.isa.source_facts import PTX
from binalloc.verify.reading.blocks import CLOSES, Blocks, Places
from binalloc.verify.reading.code import FunctionCode, LocalAccess
from binalloc.verify.reading.lanes import Lanes
from binalloc.verify.reading.webs import NamedWebs, Values

ATTEMPTS = 16
"""Words of a block that are tried as words without a counterpart before its proposal is given up. Chosen by hand: each
attempt costs one pass over the block."""

_ALIASES = {
    Space.GLOBAL: (Space.GLOBAL, Space.GENERIC, Space.TEXTURE),
    Space.SHARED: (Space.SHARED, Space.GENERIC),
    Space.LOCAL: (Space.LOCAL, Space.GENERIC),
    Space.GENERIC: (Space.GLOBAL, Space.SHARED, Space.LOCAL, Space.GENERIC, Space.TEXTURE),
    Space.TEXTURE: (Space.GLOBAL, Space.GENERIC),
}
"""For each space, the spaces that may hold the same bytes."""
_EVERYWHERE = tuple(_ALIASES)
_OWN = frozenset((Space.GLOBAL, Space.LOCAL))
"""Spaces in which disjoint accesses of one thread commute."""
# kinds of words with an effect; a wall commutes with none of them
_WALL, _EXCHANGE, _PURE, _ACCESS = "wall", "exchange", "pure", "access"


def find_order(
    old: FunctionCode, blocks: Blocks, webs: NamedWebs, loaded: Set[int], new: FunctionCode, places: Places,
    origin: Sequence[int], model: str,
) -> Order | None:  # fmt: skip
    """Return an order of the original's words, as the module docstring describes; None for no change.

    loaded: the words of local memory that any function of the original loads (`loaded_words`). places: as `find_places`
    returns them. origin: the instruction map, by original word. model: the memory model for which the original was
    made.
    """
    homes = find_homes(old, blocks, webs, new, places, origin)
    mapped = set(origin)
    silent = {i for i, access in enumerate(old.locals) if access is not None and i not in mapped}
    unread = {i for i in silent if _is_unread(old.locals[i], loaded)}
    lanes = None if model == PTX else Lanes(old, blocks, {i: frozenset(found) for i, found in webs.after.items()})
    order = list(range(len(old)))
    alone: set[int] = set()
    changed = False
    for b, (_, ranks) in sorted(homes.items()):
        words = sorted(ranks)
        if all(ranks[i] < ranks[j] for i, j in pairwise(words)):
            continue
        start, end = blocks.starts[b], blocks.starts[b + 1]
        proposal = _Block(old, webs, lanes, silent, unread, start, end).arrange(ranks)
        if proposal is not None:
            order[start:end], overtakers = proposal
            alone |= overtakers
            changed = True
    return Order(order, frozenset(alone)) if changed else None


def _is_unread(access: LocalAccess | None, loaded: Set[int]) -> bool:
    """Return whether an access only stores words that nobody loads."""
    return access is not None and access.store and loaded.isdisjoint(access.words)


def loaded_words(codes: Iterable[FunctionCode]) -> set[int]:
    """Return the words of local memory that the functions load at fixed addresses; other loads touch no silent word."""
    accesses = (access for code in codes for access in code.locals)
    return {w for access in accesses if access is not None and not access.store for w in access.words}


class Order(NamedTuple):
    """An order lists the original's words so that the program does the same as before."""

    words: list[int]  #: the words in that order
    #: words that each program executes by itself, whatever the map says: their counterparts come too early to be
    #: matched
    alone: frozenset[int]


class NamedWords(Protocol):
    """Named code has the names of the values that its words read and write, by position."""

    uses: list[Values]  #: names of the values read
    defs: list[Values]  #: names of the values written


class Home(NamedTuple):
    """A home is the block of the rewritten program that stands for one of the original."""

    block: int  #: number of the rewritten block
    ranks: dict[int, int]  #: for each original word the place of its first counterpart there


def find_places(new: FunctionCode, origin: Sequence[int]) -> Places:
    """Return the rewritten program's blocks as the original has them: branches added around guarded calls divide
    nothing."""
    added = (i for i, v in enumerate(new.views) if origin[i] == -1 and v.control == Flow.BRANCH and v.guard is not None)
    return Places(new, frozenset(added))


def find_homes(
    old: FunctionCode, blocks: Blocks, names: NamedWords, new: FunctionCode, theirs: Places, origin: Sequence[int]
) -> dict[int, Home]:
    """Return for each block of the original the block of the rewritten program (`theirs`) that stands for it.

    A block at a meeting point of lanes stands for the block there. Otherwise it is the block with most counterparts of
    words that stay (`_stays`), or of all words. Words that moved behind a meeting point do not count. names: of old's
    values, by old's positions.
    """
    met = _met(old, blocks, new, theirs, origin)
    taken = {there: b for b, there in met.items()}
    found: dict[int, dict[int, dict[int, int]]] = {b: {there: {}} for b, there in met.items()}
    number = [0] * len(old)
    for b in range(len(blocks)):
        number[blocks.starts[b] : blocks.starts[b + 1]] = [b] * (blocks.starts[b + 1] - blocks.starts[b])
    for there in range(len(theirs)):
        for n in range(theirs.starts[there], theirs.starts[there + 1]):
            k = origin[n]
            if 0 <= k < len(old):
                b = number[k]
                if met.get(b, there) == there and taken.get(there, b) <= b:
                    found.setdefault(b, {}).setdefault(there, {}).setdefault(k, n)
    out = {}
    for b, choices in found.items():
        weight = {t: (sum(_stays(old, names, k) for k in ranks), len(ranks), -t) for t, ranks in choices.items()}
        best = max(choices, key=weight.__getitem__)
        out[b] = Home(best, choices[best])
    return out


def _stays(old: FunctionCode, names: NamedWords, k: int) -> bool:
    """Return whether a word is proven only in step with the original.

    `Code.stays` says so for some. It also holds for a word that reads and writes one value: its result has no name of
    its own (`State.equate`).
    """
    return old.stays(k) or not set(names.uses[k]).isdisjoint(names.defs[k])


def _met(old: FunctionCode, blocks: Blocks, new: FunctionCode, theirs: Places, origin: Sequence[int]) -> dict[int, int]:
    """Return pairs of blocks at meeting points of lanes: for the original's block the rewritten program's.

    Blocks for which the map names several are left out.
    """
    pairs: set[tuple[int, int]] = set()
    for n, view in enumerate(new.views):
        k = origin[n]
        if view.control == Flow.BRANCH and 0 <= k < len(old) and old.views[k].control == Flow.BRANCH:
            here, there = old.fn.reconvergence(k), new.fn.reconvergence(n)
            if here is not None and there is not None and 0 <= here < len(old) and 0 <= there < len(new):
                pairs.add((blocks.of(here), theirs.of(there)))
    olds, news = Counter(b for b, _ in pairs), Counter(t for _, t in pairs)
    return {b: t for b, t in sorted(pairs) if olds[b] == 1 and news[t] == 1}


class _Block:
    """A block of the original has the words start to end - 1, which `arrange` puts into a new order. lanes: None where
    lanes of a warp do not order accesses."""

    def __init__(
        self,
        old: FunctionCode,
        webs: NamedWebs,
        lanes: Lanes | None,
        silent: Set[int],
        unread: Set[int],
        start: int,
        end: int,
    ) -> None:
        self.old, self.webs, self.lanes, self.silent, self.start, self.end = old, webs, lanes, silent, start, end
        self.uses: dict[int, tuple[int, ...]] = {}
        self.defs: dict[int, tuple[int, ...]] = {}
        self.bases: dict[int, object] = {}
        versions: dict[int, int] = {}
        for i in range(start, end):
            if i in unread:
                self.uses[i] = self.defs[i] = ()
                continue
            guard = webs.guards[i]
            self.uses[i] = (*webs.uses[i], guard) if guard >= 0 else webs.uses[i]
            self.defs[i] = webs.defs[i]
            access = old.locals[i]
            if access is not None and i in silent:
                words = tuple(~w for w in access.words)
                if access.store:
                    self.defs[i] += words
                else:
                    self.uses[i] += words
            memory = old.views[i].memory
            if memory is not None and memory.space in _OWN:
                self.bases[i] = self._base(i, memory, versions)
            for x in webs.defs[i]:
                versions[x] = versions.get(x, 0) + 1

    def _base(self, i: int, memory: Memory, versions: dict[int, int]) -> object:
        """Return from what the address is counted: equal results mean equal base values."""
        if memory.base is None:
            return memory.space, ()
        at = 0
        for ref in self.old.views[i].uses:
            if ref.field == memory.base.field:
                names = self.webs.uses[i][at : at + ref.units]
                return memory.space, tuple((x, versions.get(x, 0)) for x in names)
            at += ref.units
        return None

    def arrange(self, ranks: dict[int, int]) -> tuple[list[int], set[int]] | None:
        """Return the block's words in the order of their counterparts, and the words that overtake (`_culprit`).

        None where that is not the same program. A pure word that is in the way is tried as a word without a counterpart
        here.
        """
        ranks = {k: n for k, n in ranks.items() if k < self.end - 1 or not self._closed()}
        overtakers: set[int] = set()
        for _ in range(ATTEMPTS):
            keys = self._keys(ranks)
            order = [*sorted(keys, key=keys.__getitem__), *range(self.end - self._closed(), self.end)]
            found = self._culprit(order)
            if found is None:
                return order, overtakers
            culprit, overtaker = found
            if overtaker in ranks and self._has_name(overtaker):
                culprit = overtaker
                overtakers.add(overtaker)
            elif culprit not in ranks:
                # it came no later than what it needs, and that too late
                culprit = next((k for k, n in ranks.items() if n == keys[culprit][0]), culprit)
            if not self.old.views[culprit].pure or culprit not in ranks:
                return None
            del ranks[culprit]
        return None

    def _has_name(self, i: int) -> bool:
        """Return whether the result of the word is known wherever it is computed again (`_stays`)."""
        return self.old.views[i].pure and not _stays(self.old, self.webs, i)

    def _closed(self) -> bool:
        """Return whether the block ends in a branch, call or end."""
        return self.old.views[self.end - 1].control in CLOSES

    def _keys(self, ranks: dict[int, int]) -> dict[int, tuple[int, int]]:
        """Return the sort keys of the words, except one that closes the block.

        A key is (place of the counterpart, or of the last one that a word without any needs; word).
        """
        keys: dict[int, tuple[int, int]] = {}
        defined: dict[int, tuple[int, int]] = {}
        touched: dict[int, tuple[int, int]] = {}
        last = self.end - self._closed()
        for i in range(self.start, last):
            rank = ranks.get(i)
            if rank is None:
                before = [defined.get(x, (-1, 0)) for x in self.uses[i]]
                before += [touched.get(x, (-1, 0)) for x in self.defs[i]]
                rank = max(before, default=(-1, 0))[0]
            keys[i] = rank, i
            for x in self.uses[i]:
                touched[x] = max(touched.get(x, keys[i]), keys[i])
            for x in self.defs[i]:
                defined[x] = max(defined.get(x, keys[i]), keys[i])
                touched[x] = max(touched.get(x, keys[i]), keys[i])
        return keys

    def _culprit(self, order: list[int]) -> tuple[int, int] | None:
        """Return the first word that is out of order, and the word that wrongly precedes it, the overtaker; or None.

        The overtaker is -1 unless it wrote a value that the first word reads or writes. It is the overtaker that is
        better computed again. The first word, computed earlier, would be forgotten when its counterpart's turn comes: a
        value that it read or wrote is written again before.
        """
        defined: dict[int, int] = {}
        used: dict[int, int] = {}
        effects = _Effects(self.lanes)
        for i in order:
            for x in (*self.uses[i], *self.defs[i]):
                if defined.get(x, -1) > i:
                    return i, defined[x]
            if any(used.get(x, -1) > i for x in self.defs[i]):
                return i, -1
            view = self.old.views[i]
            if not view.pure and i not in self.silent and not effects.follow(i, view, self.bases.get(i)):
                return i, -1
            for x in self.uses[i]:
                used[x] = max(used.get(x, i), i)
            for x in self.defs[i]:
                defined[x] = max(defined.get(x, i), i)
        return None


class _Latest:
    """`_Latest` keeps the latest access (by original word): over all, and over those not counted from a given base."""

    def __init__(self) -> None:
        self.first: tuple[int, object] = (-1, None)
        self.second: tuple[int, object] = (-1, None)
        self.words: dict[object, dict[int, int]] = {}

    def add(self, i: int, base: object, words: range) -> None:
        if base == self.first[1]:
            self.first = max(self.first[0], i), base
        elif i > self.first[0]:
            self.first, self.second = (i, base), self.first
        elif base == self.second[1]:
            self.second = max(self.second[0], i), base
        elif i > self.second[0]:
            self.second = i, base
        if base is not None:
            known = self.words.setdefault(base, {})
            for w in words:
                known[w] = max(known.get(w, -1), i)

    def conflict(self, base: object, words: range) -> int:
        """Return the latest access that may overlap; base None: any may."""
        if base is None:
            return self.first[0]
        other = self.second[0] if self.first[1] == base else self.first[0]
        known = self.words.get(base)
        return other if known is None else max([other, *(known.get(w, -1) for w in words)])


class _Moved:
    """`_Moved` keeps the accesses of global memory executed so far, ascending, where lanes see each other's accesses.

    lanes: says which pairs cannot conflict.
    """

    def __init__(self, lanes: Lanes) -> None:
        self.lanes = lanes
        self.loads: list[int] = []
        self.stores: list[int] = []

    def follow(self, i: int, stores: bool) -> int:
        """Record that word i comes next. Return a later word, executed already, that may touch the same bytes; or
        -1."""
        for known in (self.stores, self.loads) if stores else (self.stores,):
            for j in known[bisect_right(known, i) :]:
                if not self.lanes.apart(i, j):
                    return j
        insort(self.stores if stores else self.loads, i)
        return -1


class _Effects:
    """`_Effects` keeps the words with an effect that were executed so far, by the latest original word of each kind."""

    def __init__(self, lanes: Lanes | None) -> None:
        self.wall = self.any = self.exchange = self.fixed = self.access = -1
        self.moved = _Moved(lanes) if lanes is not None else None
        self.loads = {space: _Latest() for space in _EVERYWHERE}
        self.stores = {space: _Latest() for space in _EVERYWHERE}

    def follow(self, i: int, view: View, base: object) -> bool:
        """Return whether word i, which is not pure, may come next. base: from what its address is counted."""
        kind = _kind(view)
        after = self.wall
        if kind == _WALL:
            after = self.any
            self.wall = max(self.wall, i)
        if _exchanges(view):
            after = max(after, self.exchange)
            self.exchange = max(self.exchange, i)
        if kind == _ACCESS:
            after = max(after, self._access(i, view, base))
        self.any = max(self.any, i)
        return after < i

    def _access(self, i: int, view: View, base: object) -> int:
        """Return the latest original word that an access must follow, and record the access."""
        memory = view.memory
        assert memory is not None
        if memory.access == Access.ATOMIC or memory.ordered:
            after = self.access
            self.fixed = max(self.fixed, i)
            self.access = max(self.access, i)
            return after
        after = self.fixed
        self.access = max(self.access, i)
        space = memory.space
        if space not in _OWN:
            base = None
        words = range(memory.offset // 4, (memory.offset + memory.size + 3) // 4)
        stores = memory.access == Access.STORE
        for other in _ALIASES[space]:
            if self.moved is not None and other == space == Space.GLOBAL:
                after = max(after, self.moved.follow(i, stores))
                continue
            known = base if other == space else None
            after = max(after, self.stores[other].conflict(known, words))
            if stores:
                after = max(after, self.loads[other].conflict(known, words))
        (self.stores if stores else self.loads)[space].add(i, base, words)
        return after


def _exchanges(view: View) -> bool:
    """Return whether lanes take part together, without control flow."""
    return view.convergent and not view.control


def _kind(view: View) -> str:
    """Return the kind of a word with an effect."""
    memory = view.memory
    if memory is None and _exchanges(view):
        return _EXCHANGE
    if memory is None or view.control != Flow.NONE or memory.space not in _ALIASES:
        return _WALL
    return _ACCESS

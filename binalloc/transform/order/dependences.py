"""This module finds which items must stay before which inside a block of virtual code.

It needs flat code and leaves it unchanged. It returns a `Dag` per stretch. A stretch is a run of items between walls
(calls, branches, ends, `entry` and what arrives), and nothing crosses a wall. Edges are the ones that the rewrite's
checker demands:

- *Values and predicates*: a read stays behind the write before it, a write behind the reads and writes before it. A
  guarded write also reads the content that it keeps where its guard fails. All parts of a value that spill code has
  divided count as that value: the checker puts the original's instructions in the rewrite's order, where they have one
  register for it.
- *Memory*, by the "Memory model" of ISA.md: loads may change places. So may accesses of different spaces, unless one is
  generic (or a texture, with global memory). In local memory, so may accesses of one base value at disjoint offsets. In
  global memory such accesses may, too, under the model `ptx`; under `loom`, accesses of different bytes in any two
  lanes (`addresses`). In shared and generic memory a store changes places with no access. An atomic or ordered access
  changes places with no access at all.
- *Warps*: exchanges between lanes keep their order, and do not move across barriers, WARPSYNC, fences and clock reads.
  These four change places with nothing that has an effect, but pure code may pass them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from binalloc.analysis.flow.backward import ALWAYS
from binalloc.analysis.residues import Residue
from binalloc.analysis.webs import UnionFind
from binalloc.bitset import bits
from binalloc.isa.interface.view import View
from binalloc.isa.kinds import CALLS, ENDS, Access, Space
from binalloc.isa.sets.table import view
from binalloc.models.allocation.terms import Value
from binalloc.transform.virtual.code import AGAIN, ARRIVE, ENTRY, NO_VALUE, PASS, RELOAD, STORE, Item
from binalloc.transform.virtual.flat import Flat

MOST_ITEMS = 1500
"""Upper limit of items in one stretch. Longer ones are cut, so that time grows linearly with the code; a larger limit
allows better orders and costs more time. Chosen by hand."""
MOST_ACCESSES = 64
"""Upper limit of memory accesses that are compared with one another. With more of them, the next one keeps its place,
so that time stays linear. Chosen by hand."""

_ALIASES = {
    Space.GLOBAL: (Space.GLOBAL, Space.GENERIC, Space.TEXTURE),
    Space.SHARED: (Space.SHARED, Space.GENERIC),
    Space.LOCAL: (Space.LOCAL, Space.GENERIC),
    Space.GENERIC: (Space.GLOBAL, Space.SHARED, Space.LOCAL, Space.GENERIC, Space.TEXTURE),
    Space.TEXTURE: (Space.GLOBAL, Space.GENERIC),
}  # by space: the spaces in which the same byte may lie
_SPILL = (AGAIN, RELOAD, STORE)
_CLOSES = frozenset((*ENDS, *CALLS))  # control flow that nothing may pass
_OWN = frozenset((Space.GLOBAL, Space.LOCAL))  # spaces in which disjoint accesses may change places


@dataclass
class Dag:
    """A dag has the dependences among the items first .. first + len - 1 of the flat code, numbered from 0."""

    first: int
    #: by item, the items that must come before it: direct neighbours, ascending, without repeats
    before: list[list[int]]
    after: list[list[int]]  #: by item, the items that must come after it, likewise
    feeds: list[list[int]]  #: of the items in `before`, the ones whose values or predicates the item reads

    def __len__(self) -> int:
        return len(self.before)


def stretches(flat: Flat, block: int, most: int = MOST_ITEMS) -> list[tuple[int, int]]:
    """List the runs of at least two items that walls leave in the block, as (first, one past the last). most: items of
    one run."""
    out: list[tuple[int, int]] = []
    start = flat.starts[block]
    for k in range(start, flat.starts[block + 1] + 1):
        if k == flat.starts[block + 1] or is_wall(flat.items[k]) or k - start == most:
            if k - start > 1:
                out.append((start, k))
            start = k + (k < flat.starts[block + 1] and is_wall(flat.items[k]))
    return out


def is_wall(item: Item) -> bool:
    """Say whether nothing may pass the item, not even pure code."""
    if item.kind in (ENTRY, ARRIVE, PASS) or item.callee:
        return True
    return item.instr is not None and view(item.instr).control in _CLOSES


def dependences(
    flat: Flat,
    first: int,
    end: int,
    whole: Mapping[int, int] | None = None,
    lanes: Mapping[int, Residue] | None = None,
    most: int = MOST_ACCESSES,
) -> Dag:
    """Return the graph over items first .. end - 1, none of which is a wall. whole: of the code, see `divided`. lanes:
    see `VCode`. most: accesses that are compared with one another."""
    return _Builder(flat, first, end, whole or {}, lanes, most).run()


def divided(flat: Flat) -> dict[int, int]:
    """Map each part of a value divided by spill code to one part that represents them all."""
    parts: list[tuple[Value, Value]] = []
    for item in flat.items:
        kept = item.serves if item.kind == AGAIN else item.memory
        if item.kind in _SPILL and kept != NO_VALUE:
            moved = item.uses if item.kind == STORE else item.defs
            parts += [(part, kept) for operand in moved for part in operand.values]
    known = sorted({v for pair in parts for v in pair})
    number = {v: k for k, v in enumerate(known)}
    sets = UnionFind(len(known))
    for part, kept in parts:
        sets.union(number[part], number[kept])
    return {v: known[sets.find(k)] for v, k in number.items()}


class _Builder:
    """This pass builds the graph of one stretch."""

    def __init__(
        self, flat: Flat, first: int, end: int, whole: Mapping[int, int], lanes: Mapping[int, Residue] | None, most: int
    ) -> None:
        self.flat, self.first, self.end, self.whole, self.lanes, self.most = flat, first, end, whole, lanes, most
        self.edges: list[set[int]] = []
        self.flow: list[set[int]] = []
        self.written: dict[Hashable, int] = {}
        self.read: dict[Hashable, list[int]] = {}
        self.versions: dict[int, int] = {}

    def run(self) -> Dag:
        flat, first = self.flat, self.first
        effects = _Effects(self.most)
        for k in range(first, self.end):
            item = flat.items[k]
            self.edges.append(set())
            self.flow.append(set())
            self._places(k)
            instr = item.instr
            if instr is not None and not view(instr).pure:
                self.edges[-1].update(effects.add(k - first, view(instr), self._base(item)))
            for v in flat.defs[k]:
                self.versions[v] = self.versions.get(v, 0) + 1
        self._join_parts()
        before = [sorted(found) for found in self.edges]
        after: list[list[int]] = [[] for _ in before]
        for k, found in enumerate(before):
            for p in found:
                after[p].append(k)
        return Dag(first, before, after, [sorted(found) for found in self.flow])

    def _join_parts(self) -> None:
        """Let an item that depends on a part of an instruction depend on all parts, and the other way round."""
        items = self.flat.items
        parts: dict[int, set[int]] = {}
        for at in range(len(self.edges)):
            part = items[self.first + at].part
            if part >= 0:
                parts.setdefault(part, set()).add(at)
        if not parts:
            return
        for mine in parts.values():
            outside = set().union(*(self.edges[at] for at in mine)) - mine
            for at in mine:
                self.edges[at] |= outside
        for found in self.edges:
            for p in list(found):
                part = items[self.first + p].part
                if part >= 0:
                    found |= parts[part]
        for mine in parts.values():
            for at in mine:
                self.edges[at] = {p for p in self.edges[at] if p not in mine or p < at}

    def _places(self, k: int) -> None:
        """Add the edges of item k. In the maps, values have their numbers, predicates the negative ones, and memory
        values a key of their own."""
        flat, at = self.flat, k - self.first
        lit = flat.lits[k]
        item = flat.items[k]
        reads: list[Hashable] = [*flat.uses[k], *(~p for p in bits(item.predicate_uses))]
        writes: list[Hashable] = [*flat.defs[k], *(~p for p in bits(flat.changes[k]))]
        if item.kind in (RELOAD, STORE):
            (reads if item.kind == RELOAD else writes).append(("memory", item.memory))
        if lit != ALWAYS:
            reads += writes
            if lit >= 0:
                reads.append(~(lit >> 1))
        edges, flow = self.edges[at], self.flow[at]
        for x in reads:
            if x in self.written:
                edges.add(self.written[x])
                flow.add(self.written[x])
        if item.kind not in _SPILL:
            reads += self._whole(flat.uses[k])
            writes += self._whole(flat.defs[k])
        for x in writes:
            edges.update(self.read.pop(x, ()))
            if x in self.written:
                edges.add(self.written[x])
        for x in reads:
            self.read.setdefault(x, []).append(at)
        for x in writes:
            self.written[x] = at
            self.read[x] = []
        edges.discard(at)
        flow.discard(at)

    def _whole(self, values: Sequence[int]) -> list[Hashable]:
        """List the keys of the values among these that spill code has divided."""
        return [("whole", v) for v in dict.fromkeys(self.whole[v] for v in values if v in self.whole)]

    def _base(self, item: Item) -> object:
        """Return the base from which the address is counted, equal for equal base values; None if it is not known.
        Where accesses of other lanes count, it is a residue."""
        assert item.instr is not None
        memory = view(item.instr).memory
        if memory is None or memory.space not in _OWN:
            return None
        if self.lanes is not None and memory.space == Space.GLOBAL:
            return self.lanes.get(item.origin)
        if memory.base is None:
            return ()
        for operand in item.uses:
            if operand.field == memory.base.field:
                return tuple((v, self.versions.get(v, 0)) for v in operand.values)
        return None


class _Effects:
    """`_Effects` lists the items with an effect so far, since the last one that keeps its place."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.wall = -1
        self.exchange = -1
        self.since: list[int] = []
        self.accesses: list[tuple[int, View, object]] = []
        self.ordered = -1

    def add(self, at: int, seen: View, base: object) -> Sequence[int]:
        """Add an item with an effect, and return the items that it must follow."""
        before = {self.wall, self.ordered}
        memory = seen.memory
        exchanges = seen.convergent and not seen.control
        if exchanges:
            before.add(self.exchange)
            self.exchange = at
        if exchanges and memory is None:
            pass
        elif memory is None or seen.control or memory.space not in _ALIASES:
            before.update(self.since)
            self._fence(at)
        elif memory.access == Access.ATOMIC or memory.ordered or len(self.accesses) >= self.most:
            before.update(other for other, _, _ in self.accesses)
            self.accesses = []
            self.ordered = at
        else:
            before.update(other for other, there, its in self.accesses if _meet(seen, base, there, its))
            self.accesses.append((at, seen, base))
        self.since.append(at)
        return [k for k in before if k >= 0]

    def _fence(self, at: int) -> None:
        self.wall = at
        self.exchange = self.ordered = -1
        self.since, self.accesses = [], []


def _meet(one: View, base: object, other: View, its: object) -> bool:
    """Say whether two plain accesses may not change places."""
    a, b = one.memory, other.memory
    assert a is not None
    assert b is not None
    if (a.access == Access.LOAD and b.access == Access.LOAD) or b.space not in _ALIASES[a.space]:
        return False
    if a.space != b.space or a.space not in _OWN or base is None or its is None:
        return True
    if isinstance(base, Residue) and isinstance(its, Residue):
        return not base.apart(a.size, its, b.size)
    if base != its:
        return True
    # in whole words, as the checker counts them
    return a.offset // 4 < (b.offset + b.size + 3) // 4 and b.offset // 4 < (a.offset + a.size + 3) // 4

"""This module finds expressions that recompute a value where it is needed, instead of a reload (rematerialisation).

A value can be recomputed at an item under two conditions. The one instruction that defines it is pure and unguarded and
cannot fault. Each operand either is still live there with the content it had (then it is a leaf), or can be recomputed
itself, with up to MOST instructions in all. A carry read by an instruction is recomputed by the instruction that
wrote it, into a free predicate. (Briggs, Cooper and Torczon, "Rematerialization", 1992, take single instructions whose
operands are always available.)

An operand has the content it had in either of two cases. First: both definitions are the only ones of their values, the
operand's dominates the value's, and the value's dominates the item. Then every path from the operand's definition to
the item passes the value's. Second: all are in one block, and nothing writes the operand in between.

It needs flat code and its live ranges. Both become stale as soon as spill code is inserted.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from binalloc.bitset import bits
from binalloc.dominance import DominatorTree, dominator_tree
from binalloc.isa.interface.places import ALL_PREDICATES
from binalloc.transform.virtual.code import COPY, VCode
from binalloc.transform.virtual.flat import Flat
from binalloc.transform.virtual.live_ranges import LiveRanges
from binalloc.transform.virtual.pure import repeatable

MOST = 5  # upper limit of instructions in one expression; a larger one makes the search longer, chosen by hand


@dataclass(slots=True)
class RecomputedExpression:
    """An expression is a sequence of items to repeat."""

    items: list[int] = field(default_factory=list)  #: numbers of the items, in order
    leaves: list[int] = field(default_factory=list)  #: values that it reads as they are, ascending
    constants: list[int] = field(default_factory=list)  #: values that one constant instruction computes
    predicates: frozenset[int] = frozenset()  #: predicates that it writes, which need free ones

    @property
    def length(self) -> int:
        return len(self.items) + len(self.constants)


class Expressions:
    """`Expressions` finds the expressions that recompute values of one function."""

    def __init__(self, code: VCode, flat: Flat, live: LiveRanges) -> None:
        self.code, self.flat, self.live = code, flat, live
        count = len(code.names)
        self.definition: list[list[int]] = [[] for _ in range(count)]
        for k, defs in enumerate(flat.defs):
            for v in defs:
                self.definition[v].append(k)
        self.block_of = [b for b in flat.blocks() for _ in range(flat.starts[b], flat.starts[b + 1])]
        self._tree: DominatorTree | None = None
        self._live_predicates: list[int] | None = None
        self._sources: dict[int, int] = {}
        self._known: dict[tuple[int, int], RecomputedExpression | None] = {}

    def find(self, v: int, at: int) -> RecomputedExpression | None:
        """Return an expression for v just before item `at`; None if there is none, or none short enough."""
        key = v, at
        if key not in self._known:
            self._known[key] = self._find(v, at)
        return self._known[key]

    def _find(self, v: int, at: int) -> RecomputedExpression | None:
        source = self._source(v)
        if source < 0 or (source >= at and self.block_of[source] == self.block_of[at]):
            return None
        out = RecomputedExpression()
        if self._collect(v, source, at, out) and self._has_predicates(out, at):
            out.items = sorted(set(out.items))
            out.leaves = sorted(set(out.leaves))
            return out
        return None

    def pure(self, v: int) -> bool:
        """Say whether one pure instruction alone computes v."""
        return self._source(v) >= 0

    # -- operands

    def _source(self, v: int) -> int:
        """Return the one item that defines v by a pure instruction, or -1."""
        known = self._sources.get(v)
        if known is None:
            where = self.definition[v]
            known = self._sources[v] = where[0] if len(where) == 1 and self._pure(where[0]) else -1
        return known

    def _pure(self, k: int) -> bool:
        item = self.flat.items[k]
        return item.guard is None and (item.kind == COPY or repeatable(item, self.code.banks))

    def _collect(self, v: int, source: int, at: int, out: RecomputedExpression) -> bool:
        """Add all instructions needed to repeat `source` at item `at`, where `source` defines v. Say whether that is
        possible."""
        if source in out.items:
            return True
        out.items.append(source)
        if out.length > MOST or not self._reaches(source, at):
            return False
        for operand in dict.fromkeys(self.flat.uses[source]):
            if operand in self.code.unwritten:  # an unwritten value may differ at each read
                return False
            if operand in self.code.constants:
                if operand not in out.constants:
                    out.constants.append(operand)
                continue
            if self._same(operand, source, at):
                if self._live(operand, at):
                    out.leaves.append(operand)
                    continue
                inner = self._source(operand)
                if inner >= 0 and self._collect(operand, inner, at, out):
                    continue
            return False
        return out.length <= MOST and self._carries(source, at, out)

    def _carries(self, source: int, at: int, out: RecomputedExpression) -> bool:
        """Add the writers of the predicates that `source` reads. Say whether that is possible."""
        wanted = self.flat.items[source].predicate_uses
        while wanted:
            bit = wanted & -wanted
            wanted ^= bit
            writer = self._writer(source, bit)
            if writer < 0 or not self._collect(-1, writer, at, out):
                return False
        return True

    def _writer(self, k: int, bit: int) -> int:
        """Return the pure item before k in its block that wrote the predicate, or -1."""
        first = self.flat.starts[self.block_of[k]]
        for j in range(k - 1, max(first, k - 24) - 1, -1):  # 24 items back at most, to bound the time; chosen by hand
            item = self.flat.items[j]
            if item.predicate_defs & bit:
                return j if item.guard is None and repeatable(item, self.code.banks) else -1
        return -1

    def _live(self, v: int, at: int) -> bool:
        intervals = self.live.intervals[v]
        k = bisect_right(intervals, 2 * at, key=lambda interval: interval[1])
        return k < len(intervals) and intervals[k][0] < 2 * at

    def _same(self, operand: int, source: int, at: int) -> bool:
        """Say whether the operand at item `at` still has the content read by `source`."""
        where = self.definition[operand]
        if self.block_of[source] == self.block_of[at] and source < at:
            k = bisect_left(where, source)
            return not (k < len(where) and where[k] < at)
        return len(where) == 1 and self._plain(where[0]) and self._reaches(where[0], source)

    def _plain(self, k: int) -> bool:
        return self.flat.items[k].guard is None

    def _reaches(self, k: int, at: int) -> bool:
        """Say whether item k is on every path to item `at`."""
        one, other = self.block_of[k], self.block_of[at]
        if one == other:
            return k < at
        if self._tree is None:
            succs = self.flat.succs
            self._tree = dominator_tree(len(succs), 0, succs, self.flat.preds)
        return self._tree.dominates(one, other)

    # -- predicates

    def _has_predicates(self, found: RecomputedExpression, at: int) -> bool:
        """Say whether there are free predicates for all that its instructions write."""
        for k in found.items:
            item = self.flat.items[k]
            if item.predicate_defs and item.instr is not None:
                found.predicates |= frozenset(bits(item.predicate_defs))
        if not found.predicates:
            return True
        return len(found.predicates) <= self.free_predicates(at).bit_count()

    def free_predicates(self, at: int) -> int:
        """Return the predicates of the function that no later item reads, just before item `at`, as bits."""
        if self._live_predicates is None:
            self._live_predicates = _predicates_live(self.flat)
        return self.code.predicates & ~self._live_predicates[at]


def _predicates_live(flat: Flat) -> list[int]:
    """Return the predicates live before each item."""
    live_in = [0] * len(flat.succs)
    out = [0] * len(flat.items)
    changed = True
    while changed:
        changed = False
        for b in reversed(flat.blocks()):
            now = 0
            for s in flat.succs[b]:
                now |= live_in[s]
            for k in range(flat.starts[b + 1] - 1, flat.starts[b] - 1, -1):
                item = flat.items[k]
                if item.guard is None:
                    now &= ~item.predicate_defs
                else:
                    now |= 1 << item.guard[0]
                now |= item.predicate_uses
                out[k] = now & ALL_PREDICATES
            if now != live_in[b]:
                live_in[b] = now
                changed = True
    return out

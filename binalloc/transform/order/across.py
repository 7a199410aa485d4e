"""This module moves pure instructions to other blocks, where fewer values are live for that: it sinks and hoists. The
instructions cannot fault.

Sinking: an instruction that is only used in later blocks is computed there. Its operands have to be live there in any
case, or be used for nothing else and sink with it. Hoisting: an instruction that ends the lives of more values than it
begins is computed directly behind the last of their definitions. Nothing moves to where it is executed more often.

The result and all operands have one definition each, under no guard. The definition of an operand dominates the
instruction. The new place is dominated by the instruction or dominates it in turn. So no operand changes between the
two places: a path from a new definition to the lower place would pass the upper one again, or not be dominated by it.

The pass needs analysed virtual code before any spilling. It leaves a copy, or the code itself where nothing is gained.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import replace

from binalloc.dominance import dominator_tree
from binalloc.transform.virtual.analysed import Analysed, analysed
from binalloc.transform.virtual.code import Item
from binalloc.transform.virtual.pure import repeatable

MOST = 8  # upper limit of instructions that sink together; more of them cost time, chosen by hand
_NONE = -1


def across_blocks(given: Analysed, registers: int) -> Analysed:
    """Return the code with pure instructions moved between blocks where more than `registers` values are live."""
    moves = _Moves(given, registers)
    moves.sink()
    moves.hoist()
    return moves.moved() if moves.before or moves.behind else given


class _Moves:
    """This pass collects moves and then carries them out. before: by block, items that go to its start. behind: by
    item, items that go just behind it. home: by item, its block in the input. place: likewise, after the moves. defs,
    uses: by value, the items. over: by point, whether too many values are live. crowded: by block, whether they are
    anywhere in it."""

    def __init__(self, given: Analysed, registers: int) -> None:
        self.given, self.flat = given, given.flat
        flat = self.flat
        self.over = given.live.pressure(flat.points) > registers
        self.crowded = [bool(self.over[2 * flat.starts[b] : 2 * flat.starts[b + 1]].any()) for b in flat.blocks()]
        self.tree = dominator_tree(len(flat.succs), 0, flat.succs, flat.preds)
        self.home = [b for b in flat.blocks() for _ in range(flat.starts[b], flat.starts[b + 1])]
        self.place = list(self.home)
        count = len(given.code.names)
        self.defs: list[list[int]] = [[] for _ in range(count)]
        self.uses: list[list[int]] = [[] for _ in range(count)]
        for k in range(len(flat.items)):
            for v in flat.defs[k]:
                self.defs[v].append(k)
            for v in dict.fromkeys(flat.uses[k]):
                self.uses[v].append(k)
        self.entering = [set(values) for values in given.live.live_in]
        self.before: dict[int, list[int]] = {}
        self.behind: dict[int, list[int]] = {}
        self.gone: set[int] = set()

    # -- down

    def sink(self) -> None:
        """Collect the instructions that can sink, the last ones first."""
        if not any(self.crowded):
            return
        for k in range(len(self.flat.items) - 1, -1, -1):
            if k in self.gone or not self._can_move(k):
                continue
            block = self._below(self.flat.defs[k])
            if block == _NONE or block == self.place[k] or not self._crowded_above(k, block):
                continue
            together = self._together(k, block)
            if together:
                self.before[block] = [*sorted(together), *self.before.get(block, ())]
                self.gone |= together
                for j in together:
                    self.place[j] = block

    def _below(self, values: Iterable[int]) -> int:
        """Return the lowest block in the dominator tree that dominates all uses and is executed no more often than the
        definition; _NONE without uses."""
        tree, weights = self.tree, self.flat.weights
        blocks = [self.place[j] for v in values for j in self.uses[v]]
        if not blocks:
            return _NONE
        home = self.place[self.defs[next(iter(values))][0]]
        lowest = blocks[0]
        for b in blocks:
            while lowest != _NONE and not tree.dominates(lowest, b):
                lowest = tree.idom[lowest]
        while lowest not in (_NONE, home) and weights[lowest] > weights[home]:
            lowest = tree.idom[lowest]
        return lowest if lowest != _NONE and tree.dominates(home, lowest) else _NONE

    def _crowded_above(self, k: int, block: int) -> bool:
        """Say whether a result of item k is live where too many values are, outside of the blocks that `block`
        dominates."""
        starts, tree, live = self.flat.starts, self.tree, self.given.live
        for v in self.flat.defs[k]:
            for start, end in live.intervals[v]:
                b = bisect_right(starts, start // 2) - 1
                while b < len(starts) - 1 and 2 * starts[b] < end:
                    if self.crowded[b] and not tree.dominates(block, b):
                        low, high = max(start, 2 * starts[b]), min(end, 2 * starts[b + 1])
                        if self.over[low:high].any():
                            return True
                    b += 1
        return False

    def _together(self, k: int, block: int) -> set[int]:
        """Return item k and the items that have to sink with it to the start of `block`; nothing if other values would
        live longer."""
        found = {k}
        queue = [k]
        for j in queue:
            for v in dict.fromkeys(self.flat.uses[j]):
                definition = self.defs[v][0]
                if definition in found or (definition not in self.gone and v in self.entering[block]):
                    continue
                if definition in self.gone or not self._can_move(definition) or len(found) == MOST:
                    return set()
                if self.place[definition] != self.place[k] or not self._only_for(definition, found):
                    return set()
                found.add(definition)
                queue.append(definition)
        return found

    def _only_for(self, k: int, items: set[int]) -> bool:
        return all(j in items for v in self.flat.defs[k] for j in self.uses[v])

    # -- up

    def hoist(self) -> None:
        """Collect the instructions that can be hoisted."""
        if not any(self.crowded):
            return
        for k in range(len(self.flat.items)):
            if k in self.gone or not self._can_move(k) or not self.flat.uses[k]:
                continue
            read = list(dict.fromkeys(self.flat.uses[k]))
            ends = [v for v in read if self.uses[v] == [k]]
            if len(ends) <= len(self.flat.defs[k]):
                continue
            above = self._last([self.defs[v][0] for v in read])
            if above == _NONE or above in self.gone or self.place[above] == self.place[k]:
                continue
            if self.flat.weights[self.place[above]] <= self.flat.weights[self.place[k]] and self._crowded(ends):
                self.behind.setdefault(above, []).append(k)
                self.gone.add(k)

    def _last(self, items: list[int]) -> int:
        """Return the item dominated by all others, of items that all dominate one instruction; _NONE where moves hide
        it."""
        if not self.gone.isdisjoint(items):
            return _NONE
        return max(items, key=lambda k: (self.tree.depth[self.place[k]], k))

    def _crowded(self, values: Iterable[int]) -> bool:
        """Say whether one of the values is live where too many are."""
        return any(self.over[start:end].any() for v in values for start, end in self.given.live.intervals[v])

    # -- both

    def _can_move(self, k: int) -> bool:
        """Say whether item k is pure and cannot fault, and its results and operands have one unconditional definition
        each."""
        item, flat = self.flat.items[k], self.flat
        code = self.given.code
        if item.guard is not None or item.predicate_defs or item.predicate_uses or not repeatable(item, code.banks):
            return False
        return (
            bool(flat.defs[k])
            and all(len(self.defs[v]) == 1 for v in flat.defs[k])
            and all(v not in code.unwritten and self._plain(v, k) for v in flat.uses[k])
        )

    def _plain(self, v: int, k: int) -> bool:
        """Say whether v is defined once, and before item k on every path. (Under a guard it would have another
        definition, at the entry, or else be read under that guard alone.)"""
        where = self.defs[v]
        if len(where) != 1:
            return False
        one, other = self.home[where[0]], self.home[k]
        return where[0] < k if one == other else self.tree.dominates(one, other)

    def moved(self) -> Analysed:
        """Return the code with all moves carried out."""
        flat = self.flat
        code = self.given.copied()
        for b, block in enumerate(code.blocks):
            weight = flat.weights[b]
            items = [self._at(weight, k) for k in self.before.get(b, ())]
            for k in range(flat.starts[b], flat.starts[b + 1]):
                if k not in self.gone:
                    items.append(flat.items[k])
                items += [self._at(weight, j) for j in self.behind.get(k, ())]
            block.items = items
        return analysed(code)

    def _at(self, weight: float, k: int) -> Item:
        return replace(self.flat.items[k], weight=weight)

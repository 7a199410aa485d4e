"""This module collects the facts that the passes need about a routine: definitions, uses, dominance, stable units.

A unit is *stable* if it is written once, without a guard, and that write dominates every read. So it behaves as in SSA
form: an equal stable unit may replace it at any of its reads. No path leads from the write of the one over a later
write of the other to the read, since it would have to avoid the dominating write.
"""

from __future__ import annotations

from binalloc.dominance import dominator_tree
from binalloc.frontend.ir import FIRST_PREDICATE, FIRST_REGISTER, RZ, Routine, indices

_MANY = 1 << 30  # greater than any block position: marks unreachable blocks


class UnitFacts:
    """The facts of a routine are tables by index. A unit's index is its number - FIRST_REGISTER; `predicate` gives a
    predicate's."""

    def __init__(self, routine: Routine) -> None:
        self.routine = routine
        self.units = len(routine.registers.base)  #: number of units; predicates have the indices behind
        self.count = self.units + routine.registers.predicates
        self.writes = [0] * self.count  #: index -> how often it is written
        self.reads = [0] * self.count  #: index -> how often it is read
        self.stable = [True] * self.count  #: index -> whether it is stable, see the module docstring
        self._dominance()
        self._scan()

    def predicate(self, number: int) -> int:
        """Return the index of a predicate."""
        return self.units + number - FIRST_PREDICATE

    def is_stable(self, unit: int) -> bool:
        """Return whether a unit is stable. RZ is. Units made after these facts were collected count as not stable."""
        if unit == RZ:
            return True
        return unit - FIRST_REGISTER < self.units and self.stable[unit - FIRST_REGISTER]

    def only_read(self, unit: int) -> bool:
        """Return whether a unit is read exactly once."""
        return self.reads[unit - FIRST_REGISTER] == 1

    # -- building

    def _dominance(self) -> None:
        """Compute the dominator tree as preorder intervals: a dominates b iff enter[a] <= enter[b] < leave[a]."""
        blocks = self.routine.blocks
        position = {block.number: k for k, block in enumerate(blocks)}
        successors = self.routine.successors()
        succ = [[position[s] for s in successors[block.number]] for block in blocks]
        pred: list[list[int]] = [[] for _ in blocks]
        for k, out in enumerate(succ):
            for s in out:
                pred[s].append(k)
        idom = dominator_tree(len(blocks), 0, succ, pred).idom
        children: list[list[int]] = [[] for _ in blocks]
        for k, parent in enumerate(idom):
            if k and parent >= 0:
                children[parent].append(k)
        #: [enter, leave) of a block position is its interval in a preorder of the dominator tree
        self.enter = [_MANY] * len(blocks)
        self.leave = [_MANY] * len(blocks)
        clock = 0
        stack = [(0, False)]
        while stack:
            k, done = stack.pop()
            if done:
                self.leave[k] = clock
                continue
            self.enter[k] = clock
            clock += 1
            stack.append((k, True))
            stack += [(c, False) for c in reversed(children[k])]

    def dominates(self, a: int, b: int) -> bool:
        """Return whether block position a dominates b. An unreachable block dominates only itself."""
        return a == b or (self.enter[a] != _MANY and self.enter[a] <= self.enter[b] < self.leave[a])

    def _scan(self) -> None:
        """Count writes and reads, and find the stable units."""
        where = [-1] * self.count
        for unit in self.routine.arguments:
            self._write(unit - FIRST_REGISTER, False, 0, where)
        early: list[tuple[int, int]] = []
        for k, block in enumerate(self.routine.blocks):
            for node in block.nodes:
                defined, used = indices(self.routine, node)
                for index in used:
                    self.reads[index] += 1
                    written = where[index]
                    if written < 0:
                        early.append((index, k))
                    elif written != k and not self.dominates(written, k):
                        self.stable[index] = False
                guarded = node.view.guard is not None
                for index in defined:
                    self._write(index, guarded, k, where)
        for index, k in early:  # a read before the write in code order is allowed if the write's block dominates it
            written = where[index]
            if written < 0 or written == k or not self.dominates(written, k):
                self.stable[index] = False
        for index in range(self.count):
            if self.writes[index] != 1:
                self.stable[index] = False

    def _write(self, index: int, guarded: bool, at: int, where: list[int]) -> None:
        self.writes[index] += 1
        where[index] = at
        if guarded or self.writes[index] > 1:
            self.stable[index] = False

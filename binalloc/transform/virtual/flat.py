"""This module turns virtual code into flat lists, over which liveness, spilling and assignment walk.

It needs virtual code and does not change it. It leaves one entry per item and one per block. A change of the code makes
the lists stale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from binalloc.analysis.flow.backward import literal
from binalloc.transform.virtual.code import Item, VCode, VOperand


@dataclass
class Flat:
    """Flat code lists the items in order, with the values that each one writes and reads, repeats included."""

    items: list[Item]
    starts: list[int]  #: per block its first item; at the end the number of items
    defs: list[Sequence[int]]  #: values written, by item
    uses: list[Sequence[int]]  #: values read, by item
    lits: list[int]  #: guards by item, as literals of `analysis.flow.backward.literal`
    changes: list[int]  #: predicates that may be written, as bits, by item
    succs: list[tuple[int, ...]]  #: block numbers, by block
    preds: list[list[int]]  #: block numbers, by block
    taken: list[int]  #: the block that the last item jumps to, -1 for none, by block
    fall: list[int]  #: the successor that is not jumped to, -1 for none, by block
    weights: list[float]  #: by block
    loops: list[int]  #: by block
    meeting: list[int]  #: by block

    @property
    def points(self) -> int:
        """Return the number of points. Point 2k is before item k, when its operands are read; 2k + 1 is after it, when
        its results are written."""
        return 2 * self.starts[-1]

    def origin_near(self, item: int) -> int:
        """Return the original instruction that an item stands for, or the last one before it."""
        return next((self.items[k].origin for k in range(item, -1, -1) if self.items[k].origin >= 0), 0)

    @cached_property
    def wide(self) -> list[int]:
        """List the items with a result of several registers, or of an aligned one."""
        return [k for k, item in enumerate(self.items) if item.defs and _has_group(item.defs)]

    @cached_property
    def reads_wide(self) -> set[int]:
        """Return the items with an operand of several registers, or of an aligned one."""
        return {k for k, item in enumerate(self.items) if item.uses and _has_group(item.uses)}

    def blocks(self) -> range:
        return range(len(self.succs))

    def has_room(self, source: int, target: int) -> bool:
        """Say whether code can be placed on an edge without another jump. It can be at the end of a block with one
        successor, at the start of a block with one predecessor, or between a block and the next one that it falls
        through to. (It cannot be in front of the point where the lanes of the source's branch reconverge: the lanes of
        the other edge would have to wait longer.)"""
        if len(self.succs[source]) == 1 or len(self.preds[target]) == 1:
            return True
        return self.fall[source] == target == source + 1 and self.meeting[source] != target


def flatten(code: VCode) -> Flat:
    """Return the flat form of `code`."""
    items: list[Item] = []
    starts = [0]
    for block in code.blocks:
        items += block.items
        starts.append(len(items))
    succs = [block.succs for block in code.blocks]
    preds: list[list[int]] = [[] for _ in succs]
    for number, following in enumerate(succs):
        for s in following:
            preds[s].append(number)
    taken = [block.taken for block in code.blocks]
    return Flat(
        items,
        starts,
        [_values(item.defs) for item in items],
        [_values(item.uses) for item in items],
        [literal(item.guard) for item in items],
        [item.predicate_defs for item in items],
        succs,
        preds,
        taken,
        [next((s for s in following if s != t), -1) for following, t in zip(succs, taken, strict=True)],
        [block.weight for block in code.blocks],
        [block.loop for block in code.blocks],
        [block.meeting for block in code.blocks],
    )


def _has_group(operands: tuple[VOperand, ...]) -> bool:
    if len(operands) == 1:  # most often so
        return len(operands[0].values) > 1 or operands[0].alignment > 1
    return any(len(o.values) > 1 or o.alignment > 1 for o in operands)


def _values(operands: tuple[VOperand, ...]) -> Sequence[int]:
    if not operands:
        return ()
    if len(operands) == 1:
        return operands[0].values
    found: list[int] = []
    for operand in operands:
        found += operand.values
    return found


def reverse_postorder(flat: Flat) -> list[int]:
    """Return the blocks in reverse postorder from the first; unreachable blocks come last."""
    seen = [False] * len(flat.succs)
    order: list[int] = []
    for root in flat.blocks():
        if seen[root]:
            continue
        seen[root] = True
        part: list[int] = []
        stack = [(root, iter(flat.succs[root]))]
        while stack:
            b, rest = stack[-1]
            for s in rest:
                if not seen[s]:
                    seen[s] = True
                    stack.append((s, iter(flat.succs[s])))
                    break
            else:
                part.append(b)
                stack.pop()
        order += part[::-1]
    return order

"""Virtual code as flat lists: what liveness, spilling and assignment walk over.

Needs virtual code, which stays as it is; leaves one entry per item and per block. Changing the code makes it stale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from binalloc.analysis.flow.backward import literal
from binalloc.transform.virtual.code import Item, VCode, VOperand


@dataclass
class Flat:
    """Items in order and what each writes and reads, repeats included.

    starts: per block its first item, then their number. defs, uses: values by item. lits: guards, as
    `analysis.backward.literal` has them. changes: predicates that may be written, as bits. succs, preds: block
    numbers. taken, fall: the block that the last item jumps to, and the other successor; -1 for none. weights, loops,
    meeting: of blocks.
    """

    items: list[Item]
    starts: list[int]
    defs: list[Sequence[int]]
    uses: list[Sequence[int]]
    lits: list[int]
    changes: list[int]
    succs: list[tuple[int, ...]]
    preds: list[list[int]]
    taken: list[int]
    fall: list[int]
    weights: list[float]
    loops: list[int]
    meeting: list[int]

    @property
    def points(self) -> int:
        """Point 2k is before item k, its operands read; 2k + 1 after it, its results written."""
        return 2 * self.starts[-1]

    def origin_near(self, item: int) -> int:
        """The original instruction that an item stands for, or the last before it."""
        return next((self.items[k].origin for k in range(item, -1, -1) if self.items[k].origin >= 0), 0)

    @cached_property
    def wide(self) -> list[int]:
        """Items with a result of several registers."""
        return [k for k, item in enumerate(self.items) if len(self.defs[k]) > 1 and _has_wide(item.defs)]

    @cached_property
    def reads_wide(self) -> set[int]:
        """Items with an operand of several registers."""
        return {k for k, item in enumerate(self.items) if len(self.uses[k]) > 1 and _has_wide(item.uses)}

    def blocks(self) -> range:
        return range(len(self.succs))

    def has_room(self, source: int, target: int) -> bool:
        """Whether code can stand on an edge without another jump: at the end of a block with one successor, at the
        start of one with one predecessor, or between two that follow one another. (Not in front of the point where
        the lanes of the source's branch meet: those that go there by the other edge would have to wait longer.)"""
        if len(self.succs[source]) == 1 or len(self.preds[target]) == 1:
            return True
        return self.fall[source] == target == source + 1 and self.meeting[source] != target


def flatten(code: VCode) -> Flat:
    """The flat form of `code`."""
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


def _has_wide(operands: tuple[VOperand, ...]) -> bool:
    return any(len(o.values) > 1 for o in operands)


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
    """Blocks in reverse postorder from the first; those that it does not reach come last."""
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

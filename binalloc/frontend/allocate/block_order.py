"""This module removes empty blocks and needless branches, and finds the points where divergent branches meet again.

The meeting point of a branch is its block's immediate post-dominator. Paths on which lanes end (EXIT, RET) do not
count: such lanes leave the masks and need no meeting. The root of the post-dominator tree is the last end in code
order. A branch that cannot go to this end gets its meeting point from the tree of another end, last first.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.dominance import NONE, dominator_tree
from binalloc.frontend.ir import Routine, RoutineBlock


@dataclass
class BlockOrder:
    """A block order has the blocks of a routine in their final order, with the meeting points of branches."""

    blocks: list[RoutineBlock]  #: in code order
    forward: dict[int, int]  #: removed block -> the block that replaces it
    #: number of a block that ends in a guarded branch -> number of the block where its lanes meet, or -1 if only at the
    #: end
    meeting: dict[int, int]

    def target(self, number: int) -> int:
        """Return the block to which a branch to `number` goes."""
        while number in self.forward:
            number = self.forward[number]
        return number


def order_blocks(routine: Routine) -> BlockOrder:
    """Remove unreachable and empty blocks, and branches to the next block, from `routine` in place."""
    _drop_unreachable(routine)
    forward = _skip_empty(routine)
    out = BlockOrder(routine.blocks, forward, {})
    changed = True
    while changed:
        changed = False
        for block, following in zip(routine.blocks, routine.blocks[1:], strict=False):
            last = block.nodes[-1] if block.nodes else None
            if last is not None and last.target >= 0 and out.target(last.target) == following.number:
                block.nodes.pop()  # with and without its guard, the next block is the target
                changed = True
        if changed:
            forward.update(_skip_empty(routine))
            out.blocks = routine.blocks
    for block in routine.blocks:
        for node in block.nodes:
            if node.target >= 0:
                node.target = out.target(node.target)
    out.meeting = meeting_points(routine)
    return out


def _drop_unreachable(routine: Routine) -> None:
    successors = routine.successors()
    seen = {routine.blocks[0].number}
    work = [routine.blocks[0].number]
    while work:
        for s in successors[work.pop()]:
            if s not in seen:
                seen.add(s)
                work.append(s)
    routine.blocks = [block for block in routine.blocks if block.number in seen]


def _skip_empty(routine: Routine) -> dict[int, int]:
    """Remove blocks without nodes and return removed block -> the block behind it. The last block stays."""
    forward: dict[int, int] = {}
    kept: list[RoutineBlock] = []
    waiting: list[int] = []
    for block in routine.blocks:
        if not block.nodes and block is not routine.blocks[-1]:
            waiting.append(block.number)
            continue
        for number in waiting:
            forward[number] = block.number
        waiting = []
        kept.append(block)
    routine.blocks = kept
    return forward


def meeting_points(routine: Routine) -> dict[int, int]:
    """Return block number -> number of its immediate post-dominator as the module docstring defines it, or -1."""
    numbers = [block.number for block in routine.blocks]
    position = {number: k for k, number in enumerate(numbers)}
    successors = routine.successors()
    succ = [[position[s] for s in successors[number]] for number in numbers]
    pred: list[list[int]] = [[] for _ in numbers]
    for k, out in enumerate(succ):
        for s in out:
            pred[s].append(k)
    ends = [k for k, out in enumerate(succ) if not out]
    found: dict[int, int] = {}
    for root in reversed(ends):
        if root not in found:
            open_ = [[p for p in ps if p not in found] for ps in pred]
            tree = dominator_tree(len(numbers), root, open_, succ)
            found |= {k: tree.idom[k] for k, depth in enumerate(tree.depth) if depth >= 0}
    return {numbers[k]: numbers[d] if d != NONE else -1 for k, d in found.items()}

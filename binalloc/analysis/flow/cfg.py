"""This module builds the control-flow graph of one function.

Needs a `Function` whose instructions decode; leaves it untouched and returns a `Cfg` of basic blocks. A thread moves
through it, not a warp: divergence and reconvergence do not change the path of one thread, so every analysis on this
graph holds for each lane by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NewType

from binalloc.errors import MalformedInput
from binalloc.isa.instruction import Function
from binalloc.isa.interface.view import NEVER, View, successors
from binalloc.isa.kinds import CALLS, ENDS, LEAVES, Flow
from binalloc.isa.sets.table import view

BlockNumber = NewType("BlockNumber", int)
"""Number of a basic block of one function, in code order; instructions are plain indices."""
FIRST_BLOCK = BlockNumber(0)
"""The block at which every function begins."""
NO_BLOCK = BlockNumber(-1)
"""Stands for no block; blocks are numbered from 0."""


@dataclass(frozen=True, slots=True)
class BasicBlock:
    """A block is instructions start..end-1 of the function (word indices)."""

    start: int  #: first instruction
    end: int  #: one past the last instruction

    def __len__(self) -> int:
        return self.end - self.start


@dataclass
class Cfg:
    """A graph has basic blocks in code order; block 0 is the entry."""

    fn: Function  #: the function
    views: list[View]  #: the `View` of each instruction
    blocks: list[BasicBlock]  #: the blocks
    #: successors, ascending, without duplicates; edges out of unreachable blocks are kept
    succs: list[list[BlockNumber]]
    preds: list[list[BlockNumber]]  #: predecessors, likewise
    taken: list[BlockNumber]  #: for each block the one to which its last instruction jumps, -1 for none
    fall: list[BlockNumber]  #: for each block the one to which it falls through, -1 for none
    block_of: list[BlockNumber]  #: block of each instruction
    #: reachable blocks in reverse postorder (successors visited in ascending order)
    rpo: list[BlockNumber] = field(default_factory=list)
    rpo_number: list[int] = field(default_factory=list)  #: position of each block in `rpo`, -1 if unreachable
    unreachable: list[BlockNumber] = field(default_factory=list)  #: unreachable blocks, ascending
    exits: list[int] = field(default_factory=list)  #: reachable RET and EXIT instructions
    #: reachable direct or indirect call instructions that some thread may execute
    calls: list[int] = field(default_factory=list)
    #: for a branch instruction the block that starts at its reconvergence point
    points: dict[int, BlockNumber] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.fn.name

    def reachable(self, index: int) -> bool:
        """Return whether instruction `index` is in a block that some path from the entry reaches."""
        return self.rpo_number[self.block_of[index]] >= 0


def build_cfg(fn: Function) -> Cfg:
    """Return the basic blocks and edges of `fn`, in time linear in its length.

    A block ends after a branch, RET or EXIT (guarded or not) and before every branch target and reconvergence point.
    Calls do not end blocks: control comes back to the next word, and no analysis here needs the cut. Raises
    MalformedInput for an empty function, a target or reconvergence point outside it, and a reachable path that runs off
    its end.
    """
    n = len(fn.instrs)
    if n == 0:
        raise MalformedInput(f"function {fn.name} has no instructions", place=f".text.{fn.name}", found="0 words")
    views = [view(i) for i in fn.instrs]
    leaders, targets, points = _leaders(fn, views)
    starts = sorted(leaders)
    blocks = [BasicBlock(a, b) for a, b in zip(starts, [*starts[1:], n], strict=True)]
    numbers = [BlockNumber(k) for k in range(len(blocks))]
    block_at = dict(zip(starts, numbers, strict=True))
    block_of = [k for k, b in zip(numbers, blocks, strict=True) for _ in range(len(b))]
    cfg = Cfg(fn, views, blocks, [], [[] for _ in blocks], [], [], block_of)
    for k, block in zip(numbers, blocks, strict=True):
        last = views[block.end - 1]
        falls, jumps = successors(last.control, last.guard is not None)
        taken = block_at[targets[block.end - 1]] if jumps else NO_BLOCK
        fall = numbers[k + 1] if falls and block.end < n else NO_BLOCK
        cfg.taken.append(taken)
        cfg.fall.append(fall)
        cfg.succs.append(sorted({s for s in (taken, fall) if s >= 0}))
        for s in cfg.succs[k]:
            cfg.preds[s].append(k)
    cfg.points = {i: block_at[p] for i, p in points.items()}
    _order(cfg)
    last = views[n - 1]
    if successors(last.control, last.guard is not None)[0] and cfg.reachable(n - 1):
        raise MalformedInput(
            f"function {fn.name} runs off its end",
            place=f".text.{fn.name} word {n - 1}",
            found="an instruction that falls through",
            expected="EXIT, RET or an unconditional BRA",
        )
    return cfg


def _leaders(fn: Function, views: list[View]) -> tuple[set[int], dict[int, int], dict[int, int]]:
    """Return block starts, branch -> target, and diverging branch -> reconvergence point, all as word indices."""
    n = len(views)
    leaders, targets, points = {0}, {}, {}
    for i, v in enumerate(views):
        if v.control not in ENDS:
            continue
        if i + 1 < n:
            leaders.add(i + 1)
        if v.control == Flow.BRANCH:
            targets[i] = _inside(fn, i, fn.target(i), "branch target")
            leaders.add(targets[i])
            point = fn.reconvergence(i)
            if point is not None:
                points[i] = _inside(fn, i, point, "reconvergence point")
                leaders.add(point)
    return leaders, targets, points


def _inside(fn: Function, index: int, target: int, what: str) -> int:
    """Return `target`; raises MalformedInput if it is no word of the function."""
    if not 0 <= target < len(fn.instrs):
        raise MalformedInput(
            f"{what} outside function {fn.name}",
            place=f".text.{fn.name} word {index}",
            found=f"word {target}",
            expected=f"a word from 0 to {len(fn.instrs) - 1}",
        )
    return target


def _order(cfg: Cfg) -> None:
    """Fill in reverse postorder, reachability, exits and calls (iterative depth-first search)."""
    count = len(cfg.blocks)
    seen = [False] * count
    seen[0] = True
    post: list[BlockNumber] = []
    stack = [(FIRST_BLOCK, iter(cfg.succs[0]))]
    while stack:
        block, rest = stack[-1]
        for s in rest:
            if not seen[s]:
                seen[s] = True
                stack.append((s, iter(cfg.succs[s])))
                break
        else:
            post.append(block)
            stack.pop()
    cfg.rpo = post[::-1]
    cfg.rpo_number = [-1] * count
    for position, block in enumerate(cfg.rpo):
        cfg.rpo_number[block] = position
    cfg.unreachable = [BlockNumber(b) for b in range(count) if not seen[b]]
    for i, v in enumerate(cfg.views):
        if v.control and seen[cfg.block_of[i]]:
            if v.control in LEAVES:
                cfg.exits.append(i)
            elif v.control in CALLS and v.guard != NEVER:
                cfg.calls.append(i)

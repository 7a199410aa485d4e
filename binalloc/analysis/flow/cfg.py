"""Control-flow graph of one function.

Needs a `Function` whose instructions decode; leaves it untouched and gives a `Cfg` of basic blocks, in which a thread
(not a warp) moves: divergence and reconvergence do not change which path one thread takes, so every analysis on this
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
"""Number of a basic block of one function, in code order; instructions are plain indexes."""
FIRST_BLOCK = BlockNumber(0)
"""Where every function begins."""
NO_BLOCK = BlockNumber(-1)


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions start..end-1 of the function (word indexes)."""

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start


@dataclass
class Cfg:
    """Basic blocks in code order; block 0 is the entry.

    views: the `View` of each instruction. succs, preds: block numbers, ascending, without duplicates; edges out of
    unreachable blocks are kept in both. taken, fall: per block the block its last instruction jumps to and the block
    it falls through to, -1 for none. block_of: block of each instruction. rpo: reachable blocks in reverse postorder
    (successors visited in ascending order). rpo_number: position in it, -1 if unreachable. unreachable: blocks,
    ascending. exits: reachable RET and EXIT instructions. calls: reachable direct or indirect call instructions that
    some thread may execute.
    points: branch instruction -> block that starts at its reconvergence point.
    """

    fn: Function
    views: list[View]
    blocks: list[Block]
    succs: list[list[BlockNumber]]
    preds: list[list[BlockNumber]]
    taken: list[BlockNumber]
    fall: list[BlockNumber]
    block_of: list[BlockNumber]
    rpo: list[BlockNumber] = field(default_factory=list)
    rpo_number: list[int] = field(default_factory=list)
    unreachable: list[BlockNumber] = field(default_factory=list)
    exits: list[int] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    points: dict[int, BlockNumber] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.fn.name

    def reachable(self, index: int) -> bool:
        """Whether instruction `index` lies in a block some path from the entry reaches."""
        return self.rpo_number[self.block_of[index]] >= 0


def build_cfg(fn: Function) -> Cfg:
    """Basic blocks and edges of `fn`, in time linear in its length.

    A block ends after a branch, RET or EXIT (guarded or not) and before every branch target and reconvergence point.
    Calls do not end blocks: control comes back to the next word, and no analysis here needs the cut.
    Raises MalformedInput for an empty function, a target or reconvergence point outside it, and a reachable path that
    runs off its end.
    """
    n = len(fn.instrs)
    if n == 0:
        raise MalformedInput(f"function {fn.name} has no instructions", place=f".text.{fn.name}", found="0 words")
    views = [view(i) for i in fn.instrs]
    leaders, targets, points = _leaders(fn, views)
    starts = sorted(leaders)
    blocks = [Block(a, b) for a, b in zip(starts, [*starts[1:], n], strict=True)]
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
    """Block starts, branch -> target, and diverging branch -> reconvergence point, all as word indexes."""
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

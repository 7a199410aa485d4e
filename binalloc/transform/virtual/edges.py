"""This module puts code on the edges between blocks."""

from __future__ import annotations

from binalloc.isa.kinds import Flow
from binalloc.isa.sets.table import set_of, view
from binalloc.transform.virtual.code import INSTR, Item, VBlock, VCode


def place_on_edges(code: VCode, additions: list[tuple[int, int, list[Item]]]) -> None:
    """Put items on edges (source, target), in place. They go to the end of a block with one successor, or to the start
    of a block with one predecessor. Otherwise they get a block of their own. It lies between source and target where
    one follows the other, and behind all other blocks where the source jumps."""
    preds: dict[int, int] = {}
    for block in code.blocks:
        for s in block.succs:
            preds[s] = preds.get(s, 0) + 1
    between: dict[int, list[Item]] = {}
    jumps: list[tuple[int, int, list[Item]]] = []
    for source, target, items in additions:
        here, there = code.blocks[source], code.blocks[target]
        if len(here.succs) == 1:
            at = len(here.items) - ends_in_jump(here)
            here.items[at:at] = items
        elif preds[target] == 1:
            there.items[:0] = items
        elif here.taken == target:
            jumps.append((source, target, items))
        else:
            assert target == source + 1, "a block falls through to the next"
            between[target] = items
    for source, target, items in jumps:
        _detour(code, source, target, items)
    if between:
        _add_between(code, between)


def ends_in_jump(block: VBlock) -> bool:
    """Say whether the last item of a block is a branch: nothing can be placed behind it. (Behind a guarded RET or EXIT
    something can, for the lanes that go on.)"""
    if not block.items:
        return False
    last = block.items[-1]
    return last.instr is not None and view(last.instr).control == Flow.BRANCH


def _detour(code: VCode, source: int, target: int, items: list[Item]) -> None:
    """Let the jump from source to target go by way of a new block at the end."""
    block, there = code.blocks[source], code.blocks[target]
    weight = min(block.weight, there.weight)
    number = len(code.blocks)
    branch = block.items[-1]
    assert branch.instr is not None
    jump = Item(INSTR, set_of(branch.instr).build.jump(), weight=weight)
    loop = block.loop if block.weight <= there.weight else there.loop
    code.blocks.append(VBlock(-1, [*items, jump], (target,), target, weight, loop))
    block.succs = tuple(number if s == target else s for s in block.succs)
    block.taken = number


def _add_between(code: VCode, between: dict[int, list[Item]]) -> None:
    """Add new blocks in front of some blocks. The new ones are entered by falling through alone."""
    number: list[int] = []
    shift = 0
    for b in range(len(code.blocks)):
        shift += b in between
        number.append(b + shift)
    blocks: list[VBlock] = []
    for b, block in enumerate(code.blocks):
        if b in between:
            before = code.blocks[b - 1]
            loop = block.loop if block.weight <= before.weight else before.loop
            blocks.append(VBlock(-1, between[b], (number[b],), weight=min(block.weight, before.weight), loop=loop))
        blocks.append(block)
    for b, block in enumerate(code.blocks):
        falls = b + 1 in between
        block.succs = tuple(
            number[s] - 1 if falls and s == b + 1 and s != block.taken else number[s] for s in block.succs
        )
        block.taken = number[block.taken] if block.taken >= 0 else -1
        block.meeting = number[block.meeting] if block.meeting >= 0 else -1
    code.blocks = blocks

"""Liveness over virtual-register code, by the rule about guards that the analysis has (`analysis.backward`).

It has to be the same rule: webs end where the analysis finds a value dead, members of a group that come from one
architectural register share one again, and they may only do so because no two of them are live at once.
Values are live only where some definition reaches, so that a value first written under a guard does not stretch to
the function's entry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise

from binalloc.analysis.backward import NO_PLACES, BackwardSolver, BlockOrder, Rows, literal
from binalloc.transform.virtual.code import RELOAD, STORE, Item, VBlock, VCode, mask_of


@dataclass
class LiveValues:
    """live_before, live_after: per item (in order of VCode.items()) the bitset of live values; before includes uses."""

    live_before: list[int]
    live_after: list[int]


def value_masks(item: Item) -> tuple[int, int]:
    """(defined, used) register values of an item."""
    return mask_of(item.defs), mask_of(item.uses)


def memory_masks(item: Item) -> tuple[int, int]:
    """(defined, used) memory values: stores define, reloads use."""
    if item.kind == STORE:
        return 1 << item.memory, 0
    if item.kind == RELOAD:
        return 0, 1 << item.memory
    return 0, 0


def live_values(code: VCode, *, memory: bool = False) -> LiveValues:
    """Liveness of register values, or of memory values (what spill slots hold)."""
    flow = _flow(code)
    rows = _rows(code, memory_masks if memory else value_masks)
    solver = BackwardSolver(flow, rows, (1 << len(code.values)) - 1)
    solver.solve()
    reached = _reaching(code.blocks, [rows.defs[start:end] for start, end in flow.spans])
    before, after = [0] * len(rows.defs), [0] * len(rows.defs)
    for block, (start, end) in enumerate(flow.spans):
        for i, now, then, _ in solver.walk(block):
            before[i], after[i] = now, then
        have = reached[block]
        for i in range(start, end):
            before[i] &= have
            have |= rows.defs[i]
            after[i] &= have
    return LiveValues(before, after)


def _rows(code: VCode, masks_of: Callable[[Item], tuple[int, int]]) -> Rows:
    rows = Rows([], [], [], [], NO_PLACES)
    for item in code.items():
        defined, used = masks_of(item)
        rows.defs.append(defined)
        rows.uses.append(used)
        rows.lits.append(literal(item.guard))
        rows.changes.append(item.predicate_defs)
    return rows


def _flow(code: VCode) -> BlockOrder:
    """The graph of the blocks, entry first."""
    blocks = code.blocks
    ends = list(accumulate((len(block.items) for block in blocks), initial=0))
    taken = [block.taken for block in blocks]
    fall = [next((s for s in block.succs if s != block.taken), -1) for block in blocks]
    preds: list[list[int]] = [[] for _ in blocks]
    for number, block in enumerate(blocks):
        for s in block.succs:
            preds[s].append(number)
    return BlockOrder(list(pairwise(ends)), taken, fall, list(range(len(blocks))), preds)


def _reaching(blocks: list[VBlock], defs: list[list[int]]) -> list[int]:
    """Values some definition of which reaches the start of each block; defs: per block and item."""
    made = []
    for rows in defs:
        mask = 0
        for defined in rows:
            mask |= defined
        made.append(mask)
    reach = [0] * len(blocks)
    work = list(range(len(blocks) - 1, -1, -1))
    while work:
        number = work.pop()
        out = reach[number] | made[number]
        for s in blocks[number].succs:
            if out & ~reach[s]:
                reach[s] |= out
                work.append(s)
    return reach

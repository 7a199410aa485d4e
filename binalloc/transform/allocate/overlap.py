"""Moves reloads up and stores down inside their blocks, so that memory latencies overlap with other work.

Warps issue in order: a reload right in front of its use makes the warp wait for the whole latency, one reload after
the other. Needs: virtual code with spill code. Leaves: the same accesses, each reload as early, each store as late in
its block as register pressure allows; never across an access of the same memory value, a call, or (guarded stores)
a change of the guard. The order of everything else is untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from binalloc.bitset import mask_from
from binalloc.isa.sets.table import view
from binalloc.transform.allocate.program_points import point_masks
from binalloc.transform.virtual.code import RELOAD, STORE, Item, Values, VCode, mask_of
from binalloc.transform.virtual.contract import Contract
from binalloc.transform.virtual.live_values import live_values

REACH = 48
"""How many items a reload or store may travel: enough to cover an off-chip access at one item every few cycles."""

Step = Callable[[list[Item], NDArray[np.int64], int], list[Item]]


def overlap(code: VCode, available: int, contracts: Mapping[str, Contract], slack: int) -> VCode:
    """A copy of `code` with reloads and stores moved; at least `slack` registers stay free where they travel."""
    moved = _moved(code, available, contracts, slack, _raise_reloads)
    return _moved(moved, available, contracts, slack, _sink_stores)


def _moved(code: VCode, available: int, contracts: Mapping[str, Contract], slack: int, step: Step) -> VCode:
    live = live_values(code)
    points, capacity = point_masks(code, live, available, contracts)
    room = capacity - slack - np.array([m.bit_count() for m in points], np.int64)
    immovable = _immovable(code.values)
    blocks = []
    start = 0
    for block in code.blocks:
        end = start + len(block.items)
        items = step(block.items, room[2 * start : 2 * end], immovable)
        blocks.append(replace(block, items=items))
        start = end
    return VCode(
        code.function, blocks, code.values, code.constants, dict(code.arguments), dict(code.results), code.before
    )


def _immovable(values: Values) -> int:
    """Values whose live ranges must not grow, because others get the same register without being asked: precoloured
    ones, and members of a group that share an offset."""
    mask = mask_from(values.fixed)
    for members in values.members:
        offsets = [offset for _, offset in members]
        mask |= mask_from(v for v, offset in members if offsets.count(offset) > 1)
    return mask


def _raise_reloads(items: list[Item], room: NDArray[np.int64], immovable: int) -> list[Item]:
    """room: free registers at the points before (2k) and after (2k+1) item k of this block."""
    out = list(items)
    free = room.tolist()
    for k in range(len(out)):
        item = out[k]
        if item.kind != RELOAD or item.guard is not None or mask_of(item.defs) & immovable:
            continue
        target = k
        for above in range(k - 1, max(-1, k - 1 - REACH), -1):
            if _blocks_reload(out[above], item) or free[2 * above] < 1 or free[2 * above + 1] < 1:
                break
            target = above
        if target < k:
            out.insert(target, out.pop(k))
            _shift(free, target, k)
    return out


def _sink_stores(items: list[Item], room: NDArray[np.int64], immovable: int) -> list[Item]:
    """A store keeps its temporary alive until it is made; only temporaries that die there are worth the register."""
    out = list(items)
    free = room.tolist()
    for k in range(len(out) - 1, -1, -1):
        item = out[k]
        if item.kind != STORE or mask_of(item.uses) & immovable:
            continue
        target = k
        for below in range(k + 1, min(len(out), k + 1 + REACH)):
            if _blocks_store(out[below], item) or free[2 * below] < 1 or free[2 * below + 1] < 1:
                break
            target = below
        if target > k:
            out.insert(target, out.pop(k))
            _shift_back(free, k, target)
    return out


def _shift(free: list[int], target: int, k: int) -> None:
    """Points of a reload that moved from k up to target: what it passed holds one value more."""
    passed = [f - 1 for f in free[2 * target : 2 * k]]
    head = free[2 * target]
    free[2 * target : 2 * k + 2] = [head, head - 1, *passed]


def _shift_back(free: list[int], k: int, target: int) -> None:
    """Points of a store that moved from k down to target: what it passed holds one value more."""
    passed = [f - 1 for f in free[2 * k + 2 : 2 * target + 2]]
    tail = free[2 * target + 1]
    free[2 * k : 2 * target + 2] = [*passed, tail - 1, tail]


def _blocks_reload(above: Item, reload: Item) -> bool:
    """Whether the reload may not move over `above`: a call, a write of its memory value, or of its register."""
    if above.callee or (above.kind == STORE and above.memory == reload.memory):
        return True
    touched = mask_of(above.defs) | mask_of(above.uses)
    return bool(touched & mask_of(reload.defs))


def _blocks_store(below: Item, store: Item) -> bool:
    """Whether the store may not move over `below`: a call, the block's end, an access of its memory value, a new
    definition of its register or of its guard."""
    if below.callee or below.memory == store.memory:
        return True
    if below.instr is not None and view(below.instr).control:
        return True
    if store.guard is not None and below.predicate_defs >> store.guard[0] & 1:
        return True
    return bool(mask_of(below.defs) & mask_of(store.uses))

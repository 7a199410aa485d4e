"""This module moves reloads up and stores down inside their blocks, so that memory latencies overlap with other work.

Warps issue in order: a reload right in front of its use makes the warp wait for the whole latency, one reload after the
other. The module needs virtual code with spill code. It leaves the same accesses, each reload as early, each store as
late in its block as register pressure allows. They never cross an access of the same memory value, a call, or (guarded
stores) a change of the guard. The order of everything else is unchanged.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from binalloc.isa.sets.table import view
from binalloc.transform.virtual.analysed import Analysed, analysed
from binalloc.transform.virtual.code import ARRIVE, RELOAD, STORE, Item
from binalloc.transform.virtual.contract import Contract
from binalloc.transform.virtual.live_ranges import deaths
from binalloc.transform.virtual.room import call_sites, room

REACH = 48
"""Upper limit of items that a reload or store moves across: enough to cover an off-chip access at one item every few
cycles."""


def overlap(
    given: Analysed, available: int, contracts: Mapping[str, Contract], slack: int, still: Container[int] = ()
) -> Analysed:
    """Return the code with its reloads and stores moved. At least `slack` registers stay free along their ways. still:
    leaders of blocks that are left as they are."""
    flat, live = given.flat, given.live
    there = room(flat, live, call_sites(flat, live, contracts), available)
    free = (there.capacity - slack - there.pressure).tolist()
    code = given.copied()
    unread = {id(flat.items[k]) for k in deaths(flat, live)[1]}
    for b, block in enumerate(code.blocks):
        if block.leader in still:
            continue
        here = free[2 * flat.starts[b] : 2 * flat.starts[b + 1]]
        left = list(here)
        block.items = _sink_stores(_raise_reloads(block.items, here, left, unread), left)
    return analysed(code)


def _raise_reloads(items: list[Item], free: list[int], left: list[int], unread: set[int]) -> list[Item]:
    """Return the items with reloads moved up. free: registers available at the points before (2k) and after (2k+1) item
    k of this block. left: the same at first; in the end, registers available behind all moves. unread: identities of
    items without a reader, which count like others until then."""
    out = list(items)
    for k in range(len(out)):
        item = out[k]
        if item.kind != RELOAD or item.guard is not None:
            continue
        target = k
        for above in range(k - 1, max(-1, k - 1 - REACH), -1):
            if _blocks_reload(out[above], item) or free[2 * above] < 1 or free[2 * above + 1] < 1:
                break
            target = above
        if target < k:
            out.insert(target, out.pop(k))
            _shift(free, target, k, 1)
            _shift(left, target, k, 0 if id(item) in unread else 1)
    return out


def _sink_stores(items: list[Item], free: list[int]) -> list[Item]:
    """Return the items with stores moved down. A store keeps its temporary alive until it is executed, so only
    temporaries that die there are worth the register."""
    out = list(items)
    for k in range(len(out) - 1, -1, -1):
        item = out[k]
        if item.kind != STORE:
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


def _shift(free: list[int], target: int, k: int, more: int) -> None:
    """Update the points of a reload that moved from k up to target. The items it passed hold `more` values more."""
    passed = [f - more for f in free[2 * target : 2 * k]]
    head = free[2 * target]
    free[2 * target : 2 * k + 2] = [head, head - 1, *passed]


def _shift_back(free: list[int], k: int, target: int) -> None:
    """Update the points of a store that moved from k down to target. The items it passed hold one value more."""
    passed = [f - 1 for f in free[2 * k + 2 : 2 * target + 2]]
    tail = free[2 * target + 1]
    free[2 * k : 2 * target + 2] = [*passed, tail - 1, tail]


def _blocks_reload(above: Item, reload: Item) -> bool:
    """Say whether the reload may not move over `above`. This is a call, a write of its memory value or of its register,
    or an arriving argument (all of these are there from the entry on)."""
    if above.callee or above.kind == ARRIVE or (above.kind == STORE and above.memory == reload.memory):
        return True
    register = reload.defs[0].values[0]
    return any(register in o.values for o in (*above.defs, *above.uses))


def _blocks_store(below: Item, store: Item) -> bool:
    """Say whether the store may not move over `below`. This is a call, the block's end, an access of its memory value,
    or a new definition of its register or of its guard."""
    if below.callee or below.memory == store.memory:
        return True
    if below.instr is not None and view(below.instr).control:
        return True
    if store.guard is not None and below.predicate_defs >> store.guard[0] & 1:
        return True
    register = store.uses[0].values[0]
    # if a part of a group lives on, the other part leaves a hole
    wide = any(register in o.values for o in below.uses if len(o.values) > 1)
    return wide or any(register in o.values for o in below.defs)

"""Liveness over virtual-register code, precise about guards inside a block.

A guarded definition does not kill. Backwards through a block a value can be known to be live only where a predicate
has one polarity: after `@P0 use v` upwards v is needed under P0 only, and `@P0 def v` above ends it; two definitions
under opposite polarities end it together. The knowledge dies where the predicate is written and at block borders.
Values are live only where some definition reaches, so that a value first written under a guard does not stretch to
the function's entry.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.transform.vcode import RELOAD, STORE, Block, Item, VCode, mask_of


@dataclass
class Liveness:
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


def liveness(code: VCode, *, memory: bool = False) -> Liveness:
    """Liveness of register values, or of memory values (what spill slots hold)."""
    masks_of = memory_masks if memory else value_masks
    masks = [[masks_of(item) for item in block.items] for block in code.blocks]
    live_in = _solve(code.blocks, masks)
    reached = _reaching(code.blocks, masks)
    before: list[int] = []
    after: list[int] = []
    for number, block in enumerate(code.blocks):
        live_out = _live_out(block, live_in)
        states = _backwards(block, masks[number], live_out)
        have = reached[number]
        for (low, high), (defined, _) in zip(states, masks[number], strict=True):
            before.append(low & have)
            have |= defined
            after.append(high & have)
    return Liveness(before, after)


def _live_out(block: Block, live_in: list[int]) -> int:
    mask = 0
    for s in block.succs:
        mask |= live_in[s]
    return mask


def _backwards(block: Block, masks: list[tuple[int, int]], live: int) -> list[tuple[int, int]]:
    """(live before, live after) of every item, in forward order."""
    states: list[tuple[int, int]] = []
    partial: dict[int, tuple[int, bool]] = {}  # value -> the guard under which alone it is live
    for item, (defined, used) in zip(reversed(block.items), reversed(masks), strict=True):
        after = live
        if item.predicate_defs and partial:
            partial = {v: g for v, g in partial.items() if not item.predicate_defs >> g[0] & 1}
        if item.guard is None:
            live = (live & ~defined) | used
            if partial:
                touched = defined | used
                partial = {v: g for v, g in partial.items() if not touched >> v & 1}
        else:
            live = _guarded(item.guard, defined, used, live, partial)
        states.append((live, after))
    states.reverse()
    return states


def _guarded(guard: tuple[int, bool], defined: int, used: int, live: int, partial: dict[int, tuple[int, bool]]) -> int:
    opposite = (guard[0], not guard[1])
    while defined:
        low = defined & -defined
        value = low.bit_length() - 1
        defined ^= low
        if live & low:
            if value not in partial:
                partial[value] = opposite
            elif partial[value] == guard:
                del partial[value]
                live ^= low
    while used:
        low = used & -used
        value = low.bit_length() - 1
        used ^= low
        if not live & low:
            live |= low
            partial[value] = guard
        elif value in partial and partial[value] != guard:
            del partial[value]
    return live


def _solve(blocks: list[Block], masks: list[list[tuple[int, int]]]) -> list[int]:
    """Live-in of every block, least fixpoint."""
    preds: list[list[int]] = [[] for _ in blocks]
    for number, block in enumerate(blocks):
        for s in block.succs:
            preds[s].append(number)
    live_in = [0] * len(blocks)
    # gen/kill summaries hold because guards are forgotten at block borders: live-in = gen | (live-out & ~kill)
    gen, kill = [], []
    for number, block in enumerate(blocks):
        gen.append(_first(block, masks[number], 0))
        everything = 0
        for defined, _ in masks[number]:
            everything |= defined
        kill.append(everything & ~_first(block, masks[number], everything))
    work = list(range(len(blocks)))
    queued = set(work)
    while work:
        number = work.pop()
        queued.discard(number)
        new = gen[number] | (_live_out(blocks[number], live_in) & ~kill[number])
        if new != live_in[number]:
            live_in[number] = new
            for p in preds[number]:
                if p not in queued:
                    queued.add(p)
                    work.append(p)
    return live_in


def _first(block: Block, masks: list[tuple[int, int]], live_out: int) -> int:
    states = _backwards(block, masks, live_out)
    return states[0][0] if states else live_out


def _reaching(blocks: list[Block], masks: list[list[tuple[int, int]]]) -> list[int]:
    """Values some definition of which reaches the start of each block."""
    made = []
    for rows in masks:
        mask = 0
        for defined, _ in rows:
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

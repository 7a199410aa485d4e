"""Removes spill code that nobody needs: stores of values never reloaded afterwards, reloads never used.

The spiller stores after every definition and reloads before every use without looking further; dead definitions and
uses that were spilled themselves leave such code behind. Needs and leaves virtual code.
"""

from __future__ import annotations

from binalloc.transform.virtual.code import RELOAD, STORE, VCode, mask_of
from binalloc.transform.virtual.live_values import live_values


def drop_dead_spill_code(code: VCode) -> None:
    """Take out dead stores and reloads, in place, until there are none."""
    changed = any(item.memory >= 0 for item in code.items())
    while changed:
        changed = False
        registers, memory = live_values(code).live_after, live_values(code, memory=True).live_after
        position = 0
        for block in code.blocks:
            kept = []
            for item in block.items:
                dead = (item.kind == STORE and not memory[position] >> item.memory & 1) or (
                    item.kind == RELOAD and not registers[position] & mask_of(item.defs)
                )
                position += 1
                if not dead:
                    kept.append(item)
            changed = changed or len(kept) < len(block.items)
            block.items = kept

"""Registers free around calls, for the moves of the moving stack."""

from __future__ import annotations

from binalloc.bitset import bits, lowest, mask_from
from binalloc.transform.allocate.registers import RegisterAllocation
from binalloc.transform.virtual.code import mask_of
from binalloc.transform.virtual.live_values import live_values


def scratch_registers(alloc: RegisterAllocation, available: int) -> list[tuple[int, int]]:
    """Per call item (a register free just before it, one free just after it); -1 where none is."""
    code = alloc.code
    live = live_values(code)
    out = []
    for item, before, after in zip(code.items(), live.live_before, live.live_after, strict=True):
        if item.callee:
            busy_before = _registers(alloc, before | mask_of(item.uses))
            busy_after = _registers(alloc, after | mask_of(item.defs))
            out.append((lowest(available & ~busy_before), lowest(available & ~busy_after)))
    return out


def _registers(alloc: RegisterAllocation, values: int) -> int:
    return mask_from(alloc.colour[v] for v in bits(values))

"""This module has the record by which a binary says in which order a kernel's blocks work, and on which grid."""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.errors import BinallocError, MalformedInput
from binalloc.isa.instruction import Module
from binalloc.models.batches.order import BlockOrder, Three

BLOCK_ORDER = "block_order"
"""Key in a provenance record for the order of a kernel's blocks."""
_MOST = 1 << 31  # blocks along an axis: no GPU takes as many
_MOST_SMS = 1 << 16  # no GPU has as many


@dataclass(frozen=True)
class OrderRecord:
    """A record of an order has all from which the kernel can be made again of the original."""

    order: BlockOrder
    grid: Three  #: the only grid on which blocks work in that order
    sms: int  #: to which hardware deals blocks in turn

    def fields(self) -> dict[str, object]:
        """Return the record as it is written."""
        return {BLOCK_ORDER: {"order": str(self.order), "grid": list(self.grid), "sms": self.sms}}


def was_ordered(module: Module, kernel: str) -> OrderRecord | None:
    """Return in which order a kernel's blocks work, None if no record says so. Raises MalformedInput for a record that
    makes no sense."""
    for record in reversed(module.provenance):
        if record.get("kernel") == kernel and BLOCK_ORDER in record:
            found = _read(record[BLOCK_ORDER])
            if found is None:
                raise MalformedInput(
                    "a record of the order of blocks makes no sense", file=module.path or None, place=kernel,
                    found=str(record[BLOCK_ORDER])[:80], expected="order, grid and sms",
                )  # fmt: skip
            return found
    return None


def _read(said: object) -> OrderRecord | None:
    """Return what a record says, None if it is none."""
    if not isinstance(said, dict) or set(said) != {"order", "grid", "sms"}:
        return None
    order, grid, sms = said["order"], said["grid"], said["sms"]
    if not isinstance(order, str) or not isinstance(grid, list) or len(grid) != 3 or type(sms) is not int:
        return None
    if not all(type(side) is int and 0 < side < _MOST for side in grid) or not 0 < sms < _MOST_SMS:
        return None
    x, y, z = grid
    try:
        return OrderRecord(BlockOrder.parse(order, x * y * z, ""), (x, y, z), sms)
    except BinallocError:
        return None

"""This module proves kernels whose blocks work in another order, as far as the order goes.

Needs an original, and a binary whose record says in which order a kernel's blocks work. It is made again of the
original, and the checker judges it: neither the record nor what makes it is trusted. Leaves the module in front of
allocation, against which the ordinary checker judges the binary.
"""

from __future__ import annotations

from dataclasses import replace

from binalloc.errors import BinallocError
from binalloc.isa.instruction import Module
from binalloc.pipeline.block_order.record import OrderRecord, was_ordered
from binalloc.pipeline.proving.turns import TurnsProof, each_recorded, for_blocks
from binalloc.transform.block_order.renumber import renumber_blocks, require_movable
from binalloc.verify.block_order.check import check_order


def prove_orders(old: Module, new: Module, names: list[str]) -> tuple[Module, list[TurnsProof]]:
    """Return the original with the named kernels as their records say, and what is proven of each. Kernels of which
    `old` records the same are left alone. Raises MalformedInput for a record that makes no sense."""
    return each_recorded(old, new, names, was_ordered, lambda old, name, record: _prove(old, new, name, record))


def _prove(old: Module, new: Module, name: str, record: OrderRecord) -> TurnsProof:
    required = new.function(name).info.block
    x, y, z = (side or 1 for side in required)
    order, grid = str(record.order), record.grid
    try:
        program = require_movable(old, name, grid)
        made = renumber_blocks(program, record.order, grid, record.sms).module
    except BinallocError as error:
        missing = f"{name}: it cannot be made again of the original: {error}"
        return TurnsProof(name, "block order", (x, y, z), missing, None, order=order, grid=grid)
    report = check_order(old, made, name, order, grid, record.sms)
    missing = "" if report.ok else str(report.errors[0])
    again = for_blocks(_without_maps(old, made), name, required)
    return TurnsProof(name, "block order", (x, y, z), missing, again, order=order, grid=grid)


def _without_maps(old: Module, made: Module) -> Module:
    """Return the module without maps of changed functions: the binary's maps lead to this module."""
    words = {fn.name: len(fn) for fn in old}
    functions = [fn if len(fn) == words.get(fn.name) else replace(fn, origin=None) for fn in made]
    return replace(made, functions=functions)

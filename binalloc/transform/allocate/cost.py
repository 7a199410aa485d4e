"""What finished spill code costs: the one measure by which allocations of a function are compared."""

from __future__ import annotations

from binalloc.transform.spill.comeback import RECOMPUTED
from binalloc.transform.virtual.code import AGAIN, RELOAD, STORE, VCode


def emitted_cost(code: VCode, memory: float) -> float:
    """Loop-weighted cost of the code's reloads, stores and recomputations, as the model of regions counts it. memory:
    cost of a reload or store, in accesses to a slot."""
    price = {RELOAD: memory, STORE: memory, AGAIN: RECOMPUTED}
    return sum(item.weight * price.get(item.kind, 0.0) for block in code.blocks for item in block.items)

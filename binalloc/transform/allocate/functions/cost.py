"""This module computes the cost of finished spill code, the one measure by which allocations of a function are
compared."""

from __future__ import annotations

from binalloc.transform.spill.comeback import RECOMPUTED
from binalloc.transform.spill.prices import Prices
from binalloc.transform.virtual.code import AGAIN, COPY, EXCHANGE, PASS, RELOAD, STORE, VCode


def emitted_cost(code: VCode, prices: Prices) -> float:
    """Return the loop-weighted cost of the code's reloads, stores and recomputations, as the model of regions counts
    it. An argument passed in memory costs its caller a store."""
    total = 0.0
    for item in code.items():
        if item.kind in (RELOAD, STORE):
            total += item.weight * prices.of(item.memory)
        elif item.kind == PASS:
            total += item.weight * prices.usual
        elif item.kind == AGAIN:
            total += item.weight * RECOMPUTED
    return total


_EXCHANGE = 10
"""Copies for which an exchange of two registers counts: it is three instructions, each of which waits for the last."""


def emitted_copies(code: VCode) -> float:
    """Return the loop-weighted copies and exchanges that are not in the input, in copies."""
    weights = {COPY: 1, EXCHANGE: _EXCHANGE}
    return sum(weights[item.kind] * item.weight for item in code.items() if item.kind in weights and item.origin < 0)

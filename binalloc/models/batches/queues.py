"""This module divides the batches of a grid among SMs, before the launch.

After "Thread Batching for High-performance Energy-efficient GPU Memory Design", section 3.2: each SM has a queue of
consecutive batches, in similar number. Here no batch is divided, and SMs differ by one batch at most; the first ones
have one more. The paper does not say where the remainder goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from binalloc.models.batches.formula import MODULUS, BatchFormula


def first_places(formula: BatchFormula, blocks: int, batches: Sequence[int]) -> list[int]:
    """Return the place of the first block of each of `batches` in the order of batches (`BatchFormula.in_order`). The
    number behind the last batch stands for the end of the grid."""
    if formula.kind == MODULUS:
        each, longer = divmod(blocks, formula.value)
        return [min(b * each + min(b, longer), blocks) for b in batches]
    return [min(b * max(formula.value, 1), blocks) for b in batches]


def queues(formula: BatchFormula, blocks: int, sms: int) -> list[range]:
    """Return the queue of each SM: places in the order of batches, from its head to the place behind its last block."""
    each, more = divmod(formula.count(blocks), sms)
    bounds = first_places(formula, blocks, [i * each + min(i, more) for i in range(sms + 1)])
    return [range(a, b) for a, b in pairwise(bounds)]

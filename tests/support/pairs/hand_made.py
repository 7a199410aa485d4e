"""Hand-made (original, rewritten) pairs that the checker must accept; the mutation library starts from them too.

Shared slots are `STS.SPILL` and `LDS.SPILL`, their pointer set by `S2R ..., SR_SLOTBASE`.
"""

from __future__ import annotations

from binalloc.isa.instruction import Module
from tests.support.pairs.hand_made_control import CONTROL
from tests.support.pairs.hand_made_order import ELSEWHERE, ORDER
from tests.support.pairs.hand_made_values import VALUES
from tests.support.programs.builder import program

PAIRS = VALUES | CONTROL | ORDER | ELSEWHERE


def pair(name: str) -> tuple[Module, Module]:
    """(original, rewritten) of that name, freshly built."""
    original, rewritten = PAIRS[name]
    return program(original), program(rewritten)

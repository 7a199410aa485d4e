"""Here is found where all threads of a block end together, or none.

Needs the original of a step, and the size of its blocks; leaves its words.
"""

from __future__ import annotations

from binalloc.isa.kinds import Flow
from binalloc.isa.sets.table import set_of
from binalloc.verify.multiplex.kernels.records import block_fault
from binalloc.verify.multiplex.merged.numbers import Three
from binalloc.verify.multiplex.merged.walked import Original, Walked, original_nodes
from binalloc.verify.shorten.sides import Sides


def ends_as_one(sides: Sides, block: Three) -> set[int]:
    """Return the guarded EXITs of the original at which all threads of a block end, or none. block: its size. Raises
    TooLong, and TooTangled."""
    if block_fault(block, sides.old.fn):
        return set()
    original = Original(sides.old, block, set_of(sides.old.instrs[0]).limits, sides.called)
    walk, _, _ = Walked(original, original_nodes(original)).settled()
    return {
        n
        for n, view in enumerate(sides.old.views)
        if view.control == Flow.EXIT and view.guard is not None and n not in walk.ends
    }

"""This module says which registers and predicates the original still needs at each word: inserted words may not write
such predicates, and threads' values of the others need not be followed.

Needs a function's code; leaves it unchanged.
"""

from __future__ import annotations

from binalloc.isa.interface.places import LOCAL_BASE, PRED_BASE, TRUE
from binalloc.isa.interface.view import successors
from binalloc.isa.kinds import CALLS, Flow
from binalloc.verify.reading.code import FunctionCode, ref_bits

EVERY = (1 << LOCAL_BASE) - 1


def living(code: FunctionCode) -> list[int]:
    """Return, for each word, the places that code from there on may read before it writes them. A call may read all of
    them."""
    live = [0] * (len(code) + 1)
    changed = True
    while changed:
        changed = False
        for n in reversed(range(len(code))):
            out = _before(code, n, live)
            if out != live[n]:
                live[n], changed = out, True
    return live


def _before(code: FunctionCode, n: int, live: list[int]) -> int:
    view = code.views[n]
    if view.control in CALLS or view.control == Flow.RETURN:
        return EVERY
    falls, jumps = successors(view.control, view.guard is not None)
    out = live[n + 1] if falls else 0
    if jumps and view.control == Flow.BRANCH:
        target = code.fn.target(n)
        out |= live[target] if 0 <= target <= len(code) else EVERY
    if view.guard is None:
        for ref in view.defs:
            for at in ref_bits(ref):
                out &= ~(1 << at)
    for ref in view.uses:
        for at in ref_bits(ref):
            out |= 1 << at
    if view.guard is not None and view.guard[0] != TRUE:
        out |= 1 << (PRED_BASE + view.guard[0])
    return out

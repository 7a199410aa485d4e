"""The passes over a routine, in order."""

from __future__ import annotations

from binalloc.frontend.ir import Routine
from binalloc.frontend.opt.combine import combine
from binalloc.frontend.opt.constants import rematerialise
from binalloc.frontend.opt.dead import remove_dead
from binalloc.frontend.opt.guards import merge_guarded_moves


def optimise(routine: Routine) -> None:
    """Improve `routine` in place: what it computes stays the same to the bit.

    1. dead code goes, so that read counts mean something;
    2. copies, constants, common subexpressions and patterns (`combine`), and what they left dead goes;
    3. guarded moves join the operation before them;
    4. constants still in registers are made where they are used.
    """
    remove_dead(routine)
    combine(routine)
    remove_dead(routine)
    merge_guarded_moves(routine)
    rematerialise(routine)
    remove_dead(routine)

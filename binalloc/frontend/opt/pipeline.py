"""This module runs the passes over a routine in order."""

from __future__ import annotations

from binalloc.frontend.ir import Routine
from binalloc.frontend.opt.combine import combine
from binalloc.frontend.opt.constants import rematerialise
from binalloc.frontend.opt.dead import remove_dead
from binalloc.frontend.opt.guards import merge_guarded_moves


def optimise(routine: Routine) -> None:
    """Improve `routine` in place. Its results stay the same to the bit.

    1. Remove dead code, so that read counts mean something. 2. Propagate copies and constants, remove common
    subexpressions, apply patterns (`combine`), and remove dead code. 3. Merge guarded moves with the operations before
    them. 4. Make constants that are still in registers where they are used.
    """
    remove_dead(routine)
    combine(routine)
    remove_dead(routine)
    merge_guarded_moves(routine)
    rematerialise(routine)
    remove_dead(routine)

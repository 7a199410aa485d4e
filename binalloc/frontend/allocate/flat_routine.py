"""This module describes a routine's units or predicates as a flat list, so that liveness can be computed before there
is virtual code.

It leaves the routine unchanged. Values are units by their distance from FIRST_REGISTER, or predicates by their distance
from FIRST_PREDICATE. A guard reads its predicate whether it holds or not. The result has no items.
"""

from __future__ import annotations

from collections.abc import Sequence

from binalloc.analysis.flow.backward import ALWAYS, literal
from binalloc.bitset import mask_from
from binalloc.frontend.ir import FIRST_REGISTER, Routine, VirtualNode, indices
from binalloc.isa.interface.places import PRED, REG
from binalloc.isa.kinds import File
from binalloc.transform.virtual.flat import Flat

_NONE = -1  # no successor
FIRST_LINE = 1
"""Line of the first node. Line 0 defines the arguments."""


def flat_routine(routine: Routine, file: File) -> Flat:
    """Return the flat form of `routine` for one file, registers or predicates.

    A line that defines the arguments comes first, in a block of its own. The nodes follow in order from line FIRST_LINE
    on, with the values of `file` that they write and read.
    """
    number = {block.number: k + 1 for k, block in enumerate(routine.blocks)}
    successors = routine.successors()
    succs = [(1,), *(tuple(number[s] for s in successors[block.number]) for block in routine.blocks)]
    preds: list[list[int]] = [[] for _ in succs]
    for k, following in enumerate(succs):
        for s in following:
            preds[s].append(k)
    last = [block.nodes[-1].target if block.nodes else _NONE for block in routine.blocks]
    taken = [_NONE, *(number[target] if target >= 0 else _NONE for target in last)]
    fall = [next((s for s in out if s != t), _NONE) for out, t in zip(succs, taken, strict=True)]
    nothing = [_NONE] * len(succs)
    arguments = [unit - FIRST_REGISTER for unit in routine.arguments] if file == REG else []
    flat = Flat(
        [], [0, FIRST_LINE], [arguments], [()], [ALWAYS], [0], succs, preds, taken, fall,
        [1.0] * len(succs), nothing, nothing,
    )  # fmt: skip
    for block in routine.blocks:
        for node in block.nodes:
            defined, used = _accesses(routine, node, file)
            flat.defs.append(defined)
            flat.uses.append(used)
            flat.lits.append(literal(node.view.guard))
            flat.changes.append(mask_from(ref.index for ref in node.view.defs if ref.file == PRED))
        flat.starts.append(len(flat.defs))
    return flat


def _accesses(routine: Routine, node: VirtualNode, file: File) -> tuple[Sequence[int], Sequence[int]]:
    view = node.view
    if file == PRED and view.guard is None and not any(ref.file == PRED for ref in (*view.defs, *view.uses)):
        return (), ()
    units = len(routine.registers.base)
    defined, used = indices(routine, node)
    if file == PRED:
        return [k - units for k in defined if k >= units], [k - units for k in used if k >= units]
    return [k for k in defined if k < units], [k for k in used if k < units]

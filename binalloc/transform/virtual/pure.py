"""Items that may be executed once more, or somewhere else."""

from __future__ import annotations

from binalloc.isa.interface.places import PRED
from binalloc.isa.sets.table import set_of, view
from binalloc.transform.virtual.code import INSTR, Item


def repeatable(item: Item) -> bool:
    """Whether an item is a pure instruction whose predicates, if any, can be renamed."""
    if item.kind != INSTR or item.instr is None or item.callee or item.origin < 0:
        return False
    seen, isa = view(item.instr), set_of(item.instr)
    if seen.memory is not None and seen.uses:
        return False  # whether constants may be read there hangs on the address, whose values the checker forgets
    if isa.predicate_pack(item.instr) is not None or isa.predicate_unpack(item.instr) is not None:
        return False  # the checker follows the bits of such words, it has no name for the whole
    return seen.pure and all(ref.field or ref.file != PRED for ref in (*seen.defs, *seen.uses))

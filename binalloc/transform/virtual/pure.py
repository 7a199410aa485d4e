"""This module recognises items that may be executed a second time, or at another place."""

from __future__ import annotations

from collections.abc import Mapping

from binalloc.isa.interface.places import PRED
from binalloc.isa.sets.table import may_fault, set_of, view
from binalloc.transform.virtual.code import INSTR, Item


def repeatable(item: Item, banks: Mapping[int, int]) -> bool:
    """Say whether an item is a pure instruction that cannot fault, and whether its predicates, if any, can be renamed.
    banks: as in `VCode`."""
    if item.kind != INSTR or item.instr is None or item.callee or item.origin < 0:
        return False
    seen, isa = view(item.instr), set_of(item.instr)
    if not seen.pure or may_fault(item.instr, banks):
        return False
    if isa.predicate_pack(item.instr) is not None or isa.predicate_unpack(item.instr) is not None:
        return False  # the checker follows the bits of such words, it has no name for the whole
    return all(ref.field or ref.file != PRED for ref in (*seen.defs, *seen.uses))

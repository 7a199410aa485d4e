"""Stretches whose order the checker could not follow, for words of local memory that are values here.

A word that is written anew is a new value, which may be made before the old one is read for the last time. The checker
has one name for a word throughout: for it the word's accesses keep their order, those included that became copies or
went because nobody reads them. So a stretch that writes a word again keeps its order. So does one in which but a part
is left of what read or wrote several words at once: for the checker it still waits for all of them. Needs code before
any spilling.
"""

from __future__ import annotations

from collections import Counter

from binalloc.isa.interface.places import WORD
from binalloc.isa.kinds import Access, Space
from binalloc.isa.sets.table import view
from binalloc.transform.virtual.analysed import Analysed


def keeps_its_order(given: Analysed, block: int, first: int, end: int) -> bool:
    """Is a local word that is a value written behind another access to it, around items first .. end - 1, or has a wide
    access of them lost a part?"""
    items, instrs = given.flat.items, given.code.function.instrs
    kept = {items[k].origin for k in range(first, end)}
    parts = Counter(items[k].part for k in range(first, end))
    touched: set[int] = set()
    for i in _around(given, block, first, end):
        memory = view(instrs[i]).memory
        if memory is None or memory.space != Space.LOCAL or i in kept:
            continue
        words = range(memory.offset // WORD, (memory.offset + memory.size + WORD - 1) // WORD)
        if 0 < parts[i] < len(words):
            return True
        if memory.access == Access.STORE and not touched.isdisjoint(words):
            return True
        touched.update(words)
    return False


def touches_local(given: Analysed, block: int, first: int, end: int) -> bool:
    """Is there any access to local memory around items first .. end - 1? Behind spilling what went says no more."""
    instrs = given.code.function.instrs
    seen = (view(instrs[i]).memory for i in _around(given, block, first, end))
    return any(memory is not None and memory.space == Space.LOCAL for memory in seen)


def _around(given: Analysed, block: int, first: int, end: int) -> range:
    """The input's instructions that items first .. end - 1 stand for, and those between that are gone."""
    code, items = given.code, given.flat.items
    low, high = code.blocks[block].leader, len(code.function.instrs)
    if block + 1 < len(code.blocks):
        high = max(low, code.blocks[block + 1].leader)
    before, behind = range(first - 1, given.flat.starts[block] - 1, -1), range(end, given.flat.starts[block + 1])
    low = next((items[k].origin for k in before if items[k].origin >= 0), low)
    high = next((items[k].origin for k in behind if items[k].origin >= 0), high)
    return range(max(low, 0), min(high, len(code.function.instrs)))

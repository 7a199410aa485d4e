"""This module finds stretches whose order the checker could not follow, because of words of local memory that are
values here.

A word that is written anew is a new value. Here, it may be computed before the old one is read for the last time. The
checker, however, has one name for a word throughout. For it the word's accesses keep their order, even accesses that
became copies or were removed because nobody reads them. Therefore a stretch that writes a word again keeps its order.
So does a stretch in which only some parts of an access to several words remain: the checker still waits for all of
them. The module needs code before any spilling.
"""

from __future__ import annotations

from collections import Counter

from binalloc.isa.interface.places import WORD
from binalloc.isa.kinds import Access, Space
from binalloc.isa.sets.table import view
from binalloc.transform.virtual.analysed import Analysed


def keeps_its_order(given: Analysed, block: int, first: int, end: int) -> bool:
    """Say whether items first .. end - 1 have to keep their order: a local word that is a value is written behind
    another access to it, or a wide access to such words has lost a part."""
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
    """Say whether the input accesses local memory around items first .. end - 1. Behind spilling, the accesses that
    were removed say no more."""
    instrs = given.code.function.instrs
    seen = (view(instrs[i]).memory for i in _around(given, block, first, end))
    return any(memory is not None and memory.space == Space.LOCAL for memory in seen)


def _around(given: Analysed, block: int, first: int, end: int) -> range:
    """Return the input's instructions for items first .. end - 1, with the removed ones between them."""
    code, items = given.code, given.flat.items
    low, high = code.blocks[block].leader, len(code.function.instrs)
    if block + 1 < len(code.blocks):
        high = max(low, code.blocks[block + 1].leader)
    before, behind = range(first - 1, given.flat.starts[block] - 1, -1), range(end, given.flat.starts[block + 1])
    low = next((items[k].origin for k in before if items[k].origin >= 0), low)
    high = next((items[k].origin for k in behind if items[k].origin >= 0), high)
    return range(max(low, 0), min(high, len(code.function.instrs)))

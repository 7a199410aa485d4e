"""This module finds exchanges of two registers without a third: `a ^= b; b ^= a; a ^= b`, all three added by the
rewrite.

Needs the rewritten code and the instruction map; leaves them unchanged. From the first of the three words to the last
no other word of the block may touch either register, so that nobody sees the values in between. Then the third word
counts as the whole exchange and the first two as nothing. They must execute in every thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from binalloc.isa.interface.places import REG
from binalloc.isa.sets.table import set_of
from binalloc.verify.reading.blocks import Blocks
from binalloc.verify.reading.code import FunctionCode


def find_exchanges(new: FunctionCode, origin: Sequence[int]) -> dict[int, tuple[int, int] | None]:
    """Return for the last word of each exchange the registers exchanged, and None for its other two words."""
    found: dict[int, tuple[int, int] | None] = {}
    folds = {i: fold for i in range(len(new)) if origin[i] == -1 and (fold := _fold(new, i)) is not None}
    if not folds:
        return found
    blocks = Blocks(new)
    for i, (a, b) in folds.items():
        if i in found:
            continue
        end = blocks.starts[blocks.of(i) + 1]
        second = _next(new, i + 1, end, a, b)
        third = _next(new, second + 1, end, a, b) if folds.get(second) == (b, a) else end
        if third < end and folds.get(third) == (a, b) and second not in found and third not in found:
            found.update({i: None, second: None, third: (a, b)})
    return found


def _fold(new: FunctionCode, i: int) -> tuple[int, int] | None:
    """Return (a, b) for an unguarded `a ^= b`."""
    if new.views[i].guard is not None:
        return None
    found = set_of(new.instrs[i]).exclusive_or(new.instrs[i])
    if found is None or found[0] not in found[1:] or found[1] == found[2]:
        return None
    target, one, other = found
    return target, other if one == target else one


def _next(new: FunctionCode, start: int, end: int, a: int, b: int) -> int:
    """Return the first word in front of `end` that touches a or b; `end` if none does."""
    for i in range(start, end):
        v = new.views[i]
        for ref in (*v.defs, *v.uses):
            if ref.file == REG and (a in ref.registers() or b in ref.registers()):
                return i
    return end

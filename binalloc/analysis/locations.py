"""Numbering of the places a thread's values live in, so that sets of places are Python ints (bit n = location n).

Needs nothing; leaves pure functions. Three files share one numbering: registers R0..R254 at 0..254, predicates P0..P6
at 256..262, and 32-bit local-memory words lifted to values ("L") from 264 on, word k of the thread's local memory at
264 + k. RZ and PT are constants, not locations.
"""

from __future__ import annotations

from binalloc.isa.interface.view import PRED, REG

LOCAL = "L"
PRED_BASE = 256
LOCAL_BASE = 264
REG_MASK = (1 << 255) - 1
PRED_MASK = 0x7F << PRED_BASE


def location(file: str, index: int) -> int:
    """Location number of register, predicate or local word `index` of `file` ("R", "P", "L")."""
    if file == REG:
        return index
    return (PRED_BASE if file == PRED else LOCAL_BASE) + index


def file_of(loc: int) -> str:
    """The file a location belongs to: "R", "P" or "L"."""
    return REG if loc < PRED_BASE else PRED if loc < LOCAL_BASE else LOCAL


def index_of(loc: int) -> int:
    """The architectural number of a location within its file."""
    return loc if loc < PRED_BASE else loc - PRED_BASE if loc < LOCAL_BASE else loc - LOCAL_BASE


def name_of(loc: int) -> str:
    """"R5", "P0", or "L[0x10]" (byte offset of a local word)."""
    file = file_of(loc)
    return f"L[{4 * index_of(loc):#x}]" if file == LOCAL else f"{file}{index_of(loc)}"


def bits(mask: int) -> list[int]:
    """The locations in a set, ascending. O(number of members)."""
    out = []
    while mask:
        low = mask & -mask
        out.append(low.bit_length() - 1)
        mask ^= low
    return out


def names(mask: int) -> list[str]:
    """Names of the locations in a set, in numbering order (registers, predicates, local words)."""
    return [name_of(loc) for loc in bits(mask)]


def words(mask: int) -> int:
    """How many of the locations in the set hold a 32-bit word, that is all but predicates."""
    return (mask & ~PRED_MASK).bit_count()

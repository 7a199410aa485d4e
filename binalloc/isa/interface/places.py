"""One numbering of the places that values live in, and the sizes that every instruction set under binalloc shares.

Sets of places are Python integers with one bit per place: registers from 0, predicates from PRED_BASE, words of local
memory from LOCAL_BASE. An instruction set has at most so many of each; what it calls them, and which of its numbers
stand for zero and for truth, its views say by leaving those out. Needs and leaves nothing else.
"""

from __future__ import annotations

from binalloc.isa.instruction import LANES as LANES
from binalloc.isa.instruction import NO_REGISTER
from binalloc.isa.instruction import SLOT_ROW as SLOT_ROW
from binalloc.isa.instruction import WORD as WORD
from binalloc.isa.kinds import File

REG = File.REGISTER
PRED = File.PREDICATE
LOCAL = File.LOCAL
MOST_REGISTERS = NO_REGISTER
"""Registers of a thread that there are numbers for: 0 to 254."""
PREDICATES = 7
"""Predicates that there are numbers for: 0 to 6."""
TRUE = 7
"""In a guard, the predicate that always holds."""
ALL_PREDICATES = (1 << PREDICATES) - 1
PRED_BASE = MOST_REGISTERS + 1
LOCAL_BASE = PRED_BASE + TRUE + 1

STACK_ENTRIES = 64
"""Entries of a warp's reconvergence stack."""
DEEP_STACK_ENTRIES = 1024
"""Where functions that the kernel reaches may come back to themselves."""

"""Places of values have one numbering here, and these are the sizes that every instruction set under binalloc shares.

Sets of places are Python integers with one bit per place: registers from 0, predicates from PRED_BASE, words of local
memory from LOCAL_BASE. An instruction set has at most so many of each. It names them itself. The numbers that stand for
zero and for truth are no places: its views leave them out. Needs and leaves nothing else.
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
"""Registers of a thread that have numbers: 0 to 254, as a field of 8 bits has one more for RZ."""
PREDICATES = 7  # predicates that have numbers: 0 to 6, as a field of 3 bits has one more for PT
TRUE = 7  # in a guard, the predicate that always holds
ALL_PREDICATES = (1 << PREDICATES) - 1  # mask of all of them
PRED_BASE = MOST_REGISTERS + 1  # bit of predicate 0 in a set of places, behind those of all registers
LOCAL_BASE = PRED_BASE + TRUE + 1  # bit of word 0 of local memory, behind those of all predicates and of TRUE

STACK_ENTRIES = 64  # entries of a warp's reconvergence stack (ISA.md, Control flow)
DEEP_STACK_ENTRIES = 1024
"""Likewise where direct calls from the kernel form a cycle: recursion needs entries for each call."""

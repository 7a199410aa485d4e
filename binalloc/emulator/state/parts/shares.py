"""This module has the part of the device record that says for whom DRAM works: by the memory that a command is for, and
in profiled runs by the instruction whose request it serves. `memory.account.shares` keeps it."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.codes import Codes
from binalloc.emulator.state.layout import CODE_WORDS, MAX_BUFFERS
from binalloc.emulator.state.memory_layout import MAX_L2_LINES, MAX_REQUESTS, Command, Memory
from binalloc.emulator.state.texture_layout import MAX_TEXTURES


class Owner(Codes):
    """A line of memory belongs to one of these, or to an object in global memory: object i is number FIRST + i."""

    OTHER: int  #: to no object
    LOCAL: int  #: local memory of the program itself
    SPILLS: int  #: local memory with spilled values
    CODE: int
    CONSTANTS: int
    CPU: int  #: the footprints of CPU programs
    FIRST: int


class Cause(Codes):
    """A request to DRAM goes back to one of these, or to an instruction: code word i is number FIRST + i."""

    EARLIER: int  #: words that an earlier launch has left in L2
    CODE: int  #: the instruction cache, prefetches included
    CONSTANTS: int  #: the constant cache
    CPU: int  #: CPU programs
    OTHER: int  #: nobody who is known
    FIRST: int


SHARES = Command.PRECHARGE + 1
"""The first so many of the commands of DRAM (`Command`) are counted for whom they serve."""
ALL_SHARES = SHARES * len(Memory.names)
"""Counts of an owner or a cause: those of the near memory by `Command`, then those of the far one."""
MAX_OBJECTS = MAX_BUFFERS + MAX_TEXTURES
"""Objects in global memory that are told apart."""
OWNERS = Owner.FIRST + MAX_OBJECTS
CAUSES = Cause.FIRST + CODE_WORDS + 1  # staged code has one word more


class ShareRecord:
    """The objects in global memory are in rising order, and no line belongs to two of them. What is said of causes is
    kept in profiled runs alone."""

    by_object: int  #: whether commands are counted by owner
    held_objects: int  #: objects that have lines
    held_from: Annotated[Words, MAX_OBJECTS]  #: the first line of each
    held_to: Annotated[Words, MAX_OBJECTS]  #: the line behind its last
    cause: Annotated[Words, MAX_REQUESTS]  #: to what a request goes back, a `Cause`
    l2_asked: Annotated[Words, MAX_L2_LINES]  #: where pages are on, the line of memory that a line of L2 is
    l2_cause: Annotated[Words, MAX_L2_LINES]  #: what has changed a line of L2 last, a `Cause`
    owner_share: Annotated[Words, OWNERS * ALL_SHARES]  #: by owner
    cause_share: Annotated[Words, CAUSES * ALL_SHARES]  #: by cause

"""What DRAM did for whom in a run is read here: for each object in global memory and for the other memories, and in
profiled runs for each instruction.

Every activation, read and write of DRAM is in one row of either table, so each adds up to the counters of the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from binalloc.emulator.host.engines.engine import Engine, Records
from binalloc.emulator.host.figures.standing import channels_of
from binalloc.emulator.host.memory.owners import HeldObject
from binalloc.emulator.state.memories import Array
from binalloc.emulator.state.memory_layout import Command, Memory
from binalloc.emulator.state.parts.shares import SHARES, Cause, Owner

COUNTED = {"activations": Command.ACTIVATE, "reads": Command.READ, "writes": Command.WRITE}
"""The commands that are counted, by the names of their counts. A read or write is a burst."""


class DramCounts(NamedTuple):
    """The counts are commands of DRAM."""

    activations: int  #: rows opened
    reads: int  #: bursts read
    writes: int  #: bursts written


OfMemories = tuple[DramCounts, ...]
"""Counts of the near memory and, where the run uses one, of the far memory."""


class DramShare(NamedTuple):
    """A share is what DRAM did for one object, or for another memory."""

    kind: str  #: of an object (`host.memory.owners`), or a name of `Owner`
    name: str  #: of an object, empty for other memory
    counts: OfMemories


def dram_shares(engine: Engine, g: Records, held: Sequence[HeldObject]) -> tuple[DramShare, ...]:
    """Return the shares of all objects in the order of their addresses, then those of other memory."""
    tables = _tables(engine, g, "owner_share")
    rows = iter(range(Owner.FIRST, Owner.FIRST + len(held)))
    nothing = (DramCounts(0, 0, 0),) * len(tables)
    objects = [
        DramShare(each.kind, each.name, _counts(tables, next(rows)) if each.first < each.end else nothing)
        for each in held
    ]
    others = [DramShare(name, "", _counts(tables, i)) for i, name in enumerate(Owner.names[: Owner.FIRST])]
    return (*objects, *others)


class DramCauses:
    """It has the counts of a profiled run by what has asked: an instruction, or something else."""

    def __init__(self, engine: Engine, g: Records) -> None:
        self._tables = _tables(engine, g, "cause_share")

    def of_words(self, first: int, words: int) -> tuple[dict[str, Array], ...]:
        """Return the counts for the requests of each code word of a function, by memory and by the names of
        `COUNTED`."""
        at = Cause.FIRST + first
        return tuple(
            {name: table[at : at + words, command].copy() for name, command in COUNTED.items()}
            for table in self._tables
        )

    def of_no_word(self) -> dict[str, OfMemories]:
        """Return the counts for the requests that no instruction has made, by the names of `Cause`."""
        return {name: _counts(self._tables, i) for i, name in enumerate(Cause.names[: Cause.FIRST])}


def _tables(engine: Engine, g: Records, name: str) -> list[Array]:
    """Return for each memory that the run uses the part of an array of the device record, with a row for each owner or
    cause and a column for each `Command`."""
    table = np.asarray(engine.view(g, 0, name)).reshape(-1, len(Memory.names), SHARES)
    return [table[:, m] for m in Memory.members.values() if channels_of(engine, g, m)]


def _counts(tables: Sequence[Array], i: int) -> OfMemories:
    """Return the counts of row i, by memory."""
    return tuple(DramCounts(*(int(table[i, command]) for command in COUNTED.values())) for table in tables)

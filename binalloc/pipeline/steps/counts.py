"""This module counts the instructions of a version without running it, as the unified paper does."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from binalloc.isa.kinds import Space
from binalloc.isa.sets.table import view
from binalloc.pipeline.steps.version import Version

OFF_CHIP = frozenset((Space.GLOBAL, Space.LOCAL, Space.GENERIC, Space.TEXTURE))
"""Memory spaces whose accesses are the paper's off-chip instructions."""


def dispatch_interval(version: Version) -> Fraction:
    """Return AD_int of the unified paper (section 4) over all functions: mean static dispatch interval, in cycles."""
    from binalloc.transform.schedule.schedule import average_dispatch_interval

    return average_dispatch_interval([i for fn in version.functions for i in fn.instrs])


class StaticCounts(NamedTuple):
    """These counts are of static instructions over the call graph."""

    compute: int  #: all instructions but off-chip accesses
    off_chip: int  #: off-chip accesses
    spills: int  #: off-chip accesses that are spill accesses
    textures: int  #: off-chip accesses that are texture fetches


def static_counts(version: Version) -> StaticCounts:
    """Return the counts of instructions that enter the unified paper's CI_pred (section 4.2)."""
    off = spills = textures = total = 0
    for fn in version.functions:
        for instr in fn.instrs:
            total += 1
            memory = view(instr).memory
            if memory is not None and memory.space in OFF_CHIP:
                off += 1
                spills += memory.spill
                textures += memory.space == Space.TEXTURE
    return StaticCounts(total - off, off, spills, textures)

"""Commands of DRAM are counted here for those whom they serve, where a run asks for it: for the memory that they are
for, and in profiled runs for the instruction that has asked.

The owner of a command follows from its request's line, the cause from who has sent the request. A fetch serves the
request that has missed first; those that join it later ask DRAM for nothing. A write-back serves whoever has changed
the line last. Both are known without a look at anything but the request, so no command comes in another order.
"""

from __future__ import annotations

from binalloc.emulator.memory.places import is_spill
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import CONST_BANKS
from binalloc.emulator.state.memory_layout import (
    BANK_SHIFT,
    FIRST_CODE_LINE,
    FIRST_CONSTANT_LINE,
    FIRST_CPU_LINE,
    FIRST_LOCAL_LINE,
    LINE_SHIFT,
)
from binalloc.emulator.state.modes import CHECKING
from binalloc.emulator.state.parts.shares import ALL_SHARES, SHARES, Cause, Owner
from binalloc.emulator.state.records import Gpu, Sm

END_OF_CONSTANTS = FIRST_CONSTANT_LINE + (CONST_BANKS << BANK_SHIFT - LINE_SHIFT)  # the line behind all constant banks


@device
def owner_of(g: Gpu, line: int) -> int:
    """Return the `Owner` of a line of memory."""
    if line >= FIRST_LOCAL_LINE:
        if line >= FIRST_CPU_LINE:
            return Owner.CPU
        if line >= FIRST_CONSTANT_LINE:
            return Owner.CONSTANTS if line < END_OF_CONSTANTS else Owner.OTHER
        if line >= FIRST_CODE_LINE:
            return Owner.CODE
        return Owner.SPILLS if is_spill(g, line) else Owner.LOCAL
    low = 0
    high = g.held_objects
    while high - low > 1:
        middle = (low + high) >> 1
        if g.held_from[middle] <= line:
            low = middle
        else:
            high = middle
    return Owner.FIRST + low if g.held_from[low] <= line < g.held_to[low] else Owner.OTHER


@device(inline=True)
def count_share(g: Gpu, m: int, r: int, command: int) -> None:
    """Count a command of memory m for request r."""
    if g.by_object:
        g.owner_share[owner_of(g, g.line[r]) * ALL_SHARES + m * SHARES + command] += 1
    if CHECKING and g.profile:
        g.cause_share[g.cause[r] * ALL_SHARES + m * SHARES + command] += 1


@device(inline=True)
def cause_of(g: Gpu, s: Sm, a: int) -> int:
    """Return the `Cause` of what access a asks for."""
    return Cause.FIRST + s.access_word[a] if CHECKING and g.profile else 0


@device(inline=True)
def serves(g: Gpu, child: int, r: int) -> None:
    """Note that request `child` of a slice is sent for request r, which has come to it."""
    g.line[child] = g.line[r]
    if CHECKING and g.profile:
        g.cause[child] = g.cause[r]


@device(inline=True)
def for_nobody(g: Gpu, child: int) -> None:
    """Note that a slice sends request `child` before anybody has asked for its line. Where pages are on, it is not
    known which memory the line is."""
    if g.paged:
        g.line[child] = FIRST_CPU_LINE - 1
    if CHECKING and g.profile:
        g.cause[child] = Cause.OTHER


@device(inline=True)
def asked_for(g: Gpu, r: int, i: int) -> None:
    """Note that request r is for line i of L2."""
    if g.paged:
        g.l2_asked[i] = g.line[r]


@device(inline=True)
def changed_by(g: Gpu, r: int, i: int) -> None:
    """Note that request r has changed line i of L2."""
    if CHECKING and g.profile:
        g.l2_cause[i] = g.cause[r]


@device(inline=True)
def writes_back(g: Gpu, r: int, i: int) -> None:
    """Note that request r brings the changes of line i of L2 to DRAM."""
    if g.paged:
        g.line[r] = g.l2_asked[i]
    if CHECKING and g.profile:
        g.cause[r] = g.l2_cause[i]

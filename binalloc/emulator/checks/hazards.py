"""Hazards are detected here: the machine has no interlocks, so a premature use is a fault that names both instructions.

Per warp and row (register or predicate) the table separates three kinds of things in flight:

- a fixed-latency result: the virtual time from which it is available. A warp's virtual clock advances by stall counts
  alone, so that delays from other warps cannot hide a wrong count;
- a variable-latency result: the set of scoreboards (bit 7: none, never ready) that must be waited for;
- late readers (memory instructions read their sources after issue): one bit per pair (read scoreboard, write
  scoreboard), because waiting for either of the two frees the source; pair (7, 7) is never freed.

Every instruction looks at one number of the row first (`soon`): the virtual time until which a fixed result is in
flight, with bit PENDING set on top while a variable result or a late reader is in flight. Beside it are the lanes and
the instruction of the fixed result (`whose`). Variable results and late readers have a table of their own.

Each entry has the lanes concerned: after a divergent branch the warp runs both sides one after the other, but a lane
depends only on what it executed itself. Where some lanes overwrite a fixed result in flight, the others keep theirs
with its own time in a list of results *set aside*, which is nearly always empty. Variable results of disjoint lanes in
flight together are joined (union of scoreboards). Late readers belong to the whole warp: a wait is for all of them.
"""

from __future__ import annotations

from binalloc.emulator.checks.faulting import set_fault
from binalloc.emulator.state.arrays import Cube, Grid
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import (
    ASIDE,
    ASIDE_COLUMNS,
    FIRST_DEF,
    FIRST_USE,
    FULL,
    NO_RESULT,
    PENDING,
    READ_COLUMNS,
    ROWS,
    Aside,
    Column,
    Fault,
    Fixed,
    HazardColumn,
)
from binalloc.emulator.state.records import Gpu, Sm


@device(apart=True)
def waited(g: Gpu, s: Sm, hazard: Cube, w: int, mask: int) -> None:
    """Remove from the table all that the scoreboards in `mask` guard: the warp has waited for them, so results have
    arrived and sources have been read."""
    row = s.warp_base + w
    if s.var_any[w] & mask:
        keep = 0
        for i in range(s.var_count[w]):
            r = s.var_list[w, i]
            left = hazard[row, r, HazardColumn.VAR] & ~mask
            hazard[row, r, HazardColumn.VAR] = left
            if left:
                s.var_list[w, keep] = r
                keep += 1
            elif hazard[row, r, HazardColumn.READ] == 0:
                s.fixed[w, r, Fixed.SOON] &= ~PENDING
        s.var_count[w] = keep
        s.var_any[w] &= ~mask
    clear = g.clear_read[mask]
    if s.read_any[w] & clear:
        keep = 0
        for i in range(s.read_count[w]):
            r = s.read_list[w, i]
            left = hazard[row, r, HazardColumn.READ] & ~clear
            hazard[row, r, HazardColumn.READ] = left
            if left:
                s.read_list[w, keep] = r
                keep += 1
            elif hazard[row, r, HazardColumn.VAR] == 0:
                s.fixed[w, r, Fixed.SOON] &= ~PENDING
        s.read_count[w] = keep
        s.read_any[w] &= ~clear


@device(inline=True)
def time_of(s: Sm, w: int, r: int) -> int:
    """Return the virtual time from which the last fixed result on row `r` is available."""
    return s.fixed[w, r, Fixed.SOON] & ~PENDING


@device(inline=True)
def lanes_of(s: Sm, w: int, r: int) -> int:
    """Return the mask of lanes of the last fixed result on row `r`."""
    return s.fixed[w, r, Fixed.WHOSE] & FULL


@device(inline=True)
def enter(s: Sm, w: int, r: int, pc: int, mask: int, time: int) -> None:
    """Enter into row `r` that the fixed result of the instruction at `pc` for lanes `mask` is in flight until
    `time`."""
    s.fixed[w, r, Fixed.SOON] = time
    s.fixed[w, r, Fixed.WHOSE] = pc << 32 | mask


@device(apart=True)
def check_read(g: Gpu, s: Sm, hazard: Cube, w: int, pc: int, r: int, mask: int) -> None:
    """Report a RAW fault if lanes `mask` read row `r` while its result is in flight."""
    row = s.warp_base + w
    late = time_of(s, w, r) - s.vclock[w]
    if late > 0 and lanes_of(s, w, r) & mask:
        set_fault(g, s, Fault.RAW, w, pc, r, s.fixed[w, r, Fixed.WHOSE] >> 32, late, 0)
    if hazard[row, r, HazardColumn.VAR] != 0 and hazard[row, r, HazardColumn.VAR_MASK] & mask:
        set_fault(g, s, Fault.RAW, w, pc, r, hazard[row, r, HazardColumn.VAR_PC], 0, hazard[row, r, HazardColumn.VAR])


@device(apart=True)
def check_write(g: Gpu, s: Sm, hazard: Cube, w: int, pc: int, r: int, mask: int, done: int) -> None:
    """Report a WAW or WAR fault if lanes `mask` write row `r` too early. `done` is the virtual time at which the new
    result arrives."""
    row = s.warp_base + w
    late = time_of(s, w, r) - done
    if late >= 0 and lanes_of(s, w, r) & mask:
        set_fault(g, s, Fault.WAW, w, pc, r, s.fixed[w, r, Fixed.WHOSE] >> 32, late, 0)
    if hazard[row, r, HazardColumn.VAR] != 0 and hazard[row, r, HazardColumn.VAR_MASK] & mask:
        set_fault(g, s, Fault.WAW, w, pc, r, hazard[row, r, HazardColumn.VAR_PC], 0, hazard[row, r, HazardColumn.VAR])
    if hazard[row, r, HazardColumn.READ] != 0:
        set_fault(g, s, Fault.WAR, w, pc, r, hazard[row, r, HazardColumn.READ_PC], 0, 0)


@device(apart=True)
def check_aside(g: Gpu, s: Sm, w: int, pc: int, r: int, mask: int, least: int, fault: int) -> None:
    """Report `fault` for each result set aside for lanes of `mask` on row `r` that arrives at virtual time `least` or
    later."""
    for i in range(s.aside_count[w]):
        if s.aside[w, i, Aside.ROW] == r and s.aside[w, i, Aside.MASK] & mask and s.aside[w, i, Aside.TIME] >= least:
            late = s.aside[w, i, Aside.TIME] - (s.vclock[w] if fault == Fault.RAW else least)
            set_fault(g, s, fault, w, pc, r, s.aside[w, i, Aside.PC], late, 0)


@device
def drop_aside(s: Sm, w: int) -> None:
    """Remove the results set aside that have arrived."""
    keep = 0
    for i in range(s.aside_count[w]):
        if s.aside[w, i, Aside.TIME] > s.vclock[w] and s.aside[w, i, Aside.MASK]:
            for k in range(ASIDE_COLUMNS):
                s.aside[w, keep, k] = s.aside[w, i, k]
            keep += 1
    s.aside_count[w] = keep


@device(apart=True)
def overwrite(s: Sm, w: int, r: int, pc: int, mask: int, done: int) -> None:
    """Enter that lanes `mask` write row `r` while something is in flight on it.

    Where that is a fixed result, the one of the other lanes is set aside. If there is no room for it, it stays, with
    the later time of both; this takes more such results at once than stall counts above zero allow.
    """
    pending = s.fixed[w, r, Fixed.SOON] & PENDING
    before = time_of(s, w, r)
    others = 0
    if before > s.vclock[w]:
        for i in range(s.aside_count[w]):
            if s.aside[w, i, Aside.ROW] == r:
                s.aside[w, i, Aside.MASK] &= ~mask
        others = lanes_of(s, w, r) & ~mask
    if others == 0:
        enter(s, w, r, pc, mask, done | pending)
        return
    i = s.aside_count[w]
    if i == ASIDE:
        enter(s, w, r, pc, mask | others, max(before, done) | pending)
        return
    s.aside[w, i, Aside.ROW] = r
    s.aside[w, i, Aside.TIME] = before
    s.aside[w, i, Aside.MASK] = others
    s.aside[w, i, Aside.PC] = s.fixed[w, r, Fixed.WHOSE] >> 32
    s.aside_count[w] = i + 1
    enter(s, w, r, pc, mask, done | pending)


@device
def mark_variable(s: Sm, program: Grid, hazard: Cube, w: int, pc: int, mask: int) -> None:
    """Enter that the results of the variable-latency instruction at `pc` are in flight behind its write scoreboard."""
    row = s.warp_base + w
    bit = 1 << program[pc, Column.WBAR]
    for i in range(program[pc, Column.N_DEFS]):
        r = program[pc, FIRST_DEF + i]
        old = hazard[row, r, HazardColumn.VAR]
        if old == 0:
            s.var_list[w, s.var_count[w]] = r
            s.var_count[w] += 1
            hazard[row, r, HazardColumn.VAR_MASK] = mask
        else:
            hazard[row, r, HazardColumn.VAR_MASK] |= mask
        hazard[row, r, HazardColumn.VAR] = old | bit
        hazard[row, r, HazardColumn.VAR_PC] = pc
        s.fixed[w, r, Fixed.SOON] |= PENDING
    s.var_any[w] |= bit


@device(apart=True)
def mark_late(s: Sm, program: Grid, hazard: Cube, w: int, pc: int) -> None:
    """Enter that the sources of the instruction at `pc`, except its guard, are read after its issue."""
    row = s.warp_base + w
    pair = program[pc, Column.LATE]  # bit of (rbar, wbar)
    for i in range(program[pc, Column.N_LATE]):
        r = program[pc, FIRST_USE + i]
        if hazard[row, r, HazardColumn.READ] == 0:
            s.read_list[w, s.read_count[w]] = r
            s.read_count[w] += 1
        hazard[row, r, HazardColumn.READ] |= pair
        hazard[row, r, HazardColumn.READ_PC] = pc
        s.fixed[w, r, Fixed.SOON] |= PENDING
    s.read_any[w] |= pair


@device(apart=True)
def check_all_aside(g: Gpu, s: Sm, program: Grid, w: int, pc: int, active: int, mask: int) -> None:
    """Check the results set aside against all that the instruction at `pc` reads and writes."""
    drop_aside(s, w)
    now = s.vclock[w]
    for i in range(program[pc, Column.N_USES]):
        check_aside(g, s, w, pc, program[pc, FIRST_USE + i], active, now + 1, Fault.RAW)
    if mask:
        for i in range(program[pc, Column.N_DEFS]):
            check_aside(g, s, w, pc, program[pc, FIRST_DEF + i], mask, now + program[pc, Column.LATENCY], Fault.WAW)


@device
def check_writes(g: Gpu, s: Sm, program: Grid, hazard: Cube, w: int, pc: int, mask: int, done: int) -> None:
    """Check all that the instruction at `pc` writes before any of it is entered: it may write a row twice."""
    for i in range(program[pc, Column.N_DEFS]):
        r = program[pc, FIRST_DEF + i]
        if s.fixed[w, r, Fixed.SOON] > s.vclock[w]:
            check_write(g, s, hazard, w, pc, r, mask, done)


@device(inline=True)
def soon(s: Sm, w: int, r: int) -> int:
    """Return the virtual time until which something is in flight on row `r`."""
    return s.fixed[w, r, Fixed.SOON]


@device
def check_and_mark(g: Gpu, s: Sm, program: Grid, hazard: Cube, w: int, pc: int, active: int, mask: int) -> None:
    """Check the instruction at `pc` and enter what it leaves in flight.

    `active` lanes read the guard (last in the list of uses where there is one), `mask` of them execute.
    """
    now = s.vclock[w]
    if s.aside_count[w]:
        check_all_aside(g, s, program, w, pc, active, mask)
    first = max(soon(s, w, program[pc, Column.READ_1]), soon(s, w, program[pc, Column.READ_2]))
    second = max(soon(s, w, program[pc, Column.READ_3]), soon(s, w, program[pc, Column.READ_4]))
    if max(first, second) > now or program[pc, Column.N_USES] > len(READ_COLUMNS):
        check_reads(g, s, program, hazard, w, pc, active)
    if mask == 0:
        return
    r = program[pc, Column.RESULT]
    if r >= 0 and soon(s, w, r) <= now:
        enter(s, w, r, pc, mask, now + program[pc, Column.LATENCY])
    elif r != NO_RESULT:
        start(g, s, program, hazard, w, pc, mask, now)


@device(apart=True)
def check_reads(g: Gpu, s: Sm, program: Grid, hazard: Cube, w: int, pc: int, active: int) -> None:
    """Check all that the instruction at `pc` reads, where some of it may be in flight."""
    for i in range(program[pc, Column.N_USES]):
        r = program[pc, FIRST_USE + i]
        if soon(s, w, r) > s.vclock[w]:
            check_read(g, s, hazard, w, pc, r, active)


@device(apart=True)
def start(g: Gpu, s: Sm, program: Grid, hazard: Cube, w: int, pc: int, mask: int, now: int) -> None:
    """Check what the instruction at `pc` writes and enter it as in flight. The sources of a variable-latency
    instruction are entered as well."""
    done = now + program[pc, Column.LATENCY]
    check_writes(g, s, program, hazard, w, pc, mask, done)
    if program[pc, Column.VARIABLE]:
        if program[pc, Column.N_DEFS]:
            mark_variable(s, program, hazard, w, pc, mask)
        if program[pc, Column.LATE] != 0:
            mark_late(s, program, hazard, w, pc)
        return
    for i in range(program[pc, Column.N_DEFS]):
        r = program[pc, FIRST_DEF + i]
        if soon(s, w, r) > now:
            overwrite(s, w, r, pc, mask, done)
        else:
            enter(s, w, r, pc, mask, done)


@device
def forget(s: Sm, hazard: Cube, w: int) -> None:
    """Clear the table of slot `w`: a new block's warp takes it."""
    row = s.warp_base + w
    for r in range(ROWS):
        s.fixed[w, r, Fixed.SOON] = 0
        hazard[row, r, HazardColumn.VAR] = 0
        hazard[row, r, HazardColumn.READ] = 0
    s.var_count[w] = 0
    s.var_any[w] = 0
    s.read_count[w] = 0
    s.read_any[w] = 0
    s.aside_count[w] = 0
    s.vclock[w] = 0

"""Hazard detection: the machine has no interlocks, so every use before time is a fault that names both instructions.

Per warp and row (register or predicate) the table keeps what is in flight, apart from each other:

- a fixed-latency result: the virtual time at which it is there. A warp's virtual clock advances by stall counts alone,
  so that delays from other warps cannot hide a wrong count;
- a variable-latency result: the set of scoreboards (bit 7: none, never ready) that must be waited for;
- late readers (memory instructions read their sources after issue): one bit per pair (read scoreboard, write
  scoreboard), because waiting for either of the two frees the source; pair (7, 7) is never freed.

Each carries the lanes concerned: after a divergent branch the warp runs both sides one after the other, but a lane
depends only on what it executed itself. Where some lanes overwrite a fixed result in flight, the others keep theirs
with its own time in a list of results *set aside*, empty nearly always. Variable results of disjoint lanes in flight
together are joined (union of scoreboards), and late readers are the warp's: whoever waits, waits for all.
"""

from __future__ import annotations

from binalloc.emulator.checks.faulting import set_fault
from binalloc.emulator.state.arrays import Cube, Grid
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import ASIDE, ASIDE_COLUMNS, FIRST_DEF, FIRST_USE, Aside, Column, Fault, Hazard
from binalloc.emulator.state.records import Gpu, Sm


@device(apart=True)
def waited(g: Gpu, s: Sm, hazard: Cube, w: int, mask: int) -> None:
    """The warp has waited for the scoreboards in `mask`: what they guard is there, or has been read."""
    row = s.warp_base + w
    if s.var_any[w] & mask:
        keep = 0
        for i in range(s.var_count[w]):
            r = s.var_list[w, i]
            left = hazard[row, r, Hazard.VAR] & ~mask
            hazard[row, r, Hazard.VAR] = left
            if left:
                s.var_list[w, keep] = r
                keep += 1
        s.var_count[w] = keep
        s.var_any[w] &= ~mask
    clear = g.clear_read[mask]
    if s.read_any[w] & clear:
        keep = 0
        for i in range(s.read_count[w]):
            r = s.read_list[w, i]
            left = hazard[row, r, Hazard.READ] & ~clear
            hazard[row, r, Hazard.READ] = left
            if left:
                s.read_list[w, keep] = r
                keep += 1
        s.read_count[w] = keep
        s.read_any[w] &= ~clear


@device
def check_read(g: Gpu, s: Sm, hazard: Cube, w: int, pc: int, r: int, mask: int) -> None:
    """RAW on row `r` of lanes `mask`."""
    row = s.warp_base + w
    if hazard[row, r, Hazard.FIX_TIME] > s.vclock[w] and hazard[row, r, Hazard.FIX_MASK] & mask:
        set_fault(
            g, s, Fault.RAW, w, pc, r, hazard[row, r, Hazard.FIX_PC], hazard[row, r, Hazard.FIX_TIME] - s.vclock[w], 0
        )
    if hazard[row, r, Hazard.VAR] != 0 and hazard[row, r, Hazard.VAR_MASK] & mask:
        set_fault(g, s, Fault.RAW, w, pc, r, hazard[row, r, Hazard.VAR_PC], 0, hazard[row, r, Hazard.VAR])


@device
def check_write(g: Gpu, s: Sm, hazard: Cube, w: int, pc: int, r: int, mask: int, done: int) -> None:
    """WAW and WAR on row `r` of lanes `mask` by a result that is there at virtual time `done`."""
    row = s.warp_base + w
    if hazard[row, r, Hazard.FIX_TIME] >= done and hazard[row, r, Hazard.FIX_MASK] & mask:
        set_fault(g, s, Fault.WAW, w, pc, r, hazard[row, r, Hazard.FIX_PC], hazard[row, r, Hazard.FIX_TIME] - done, 0)
    if hazard[row, r, Hazard.VAR] != 0 and hazard[row, r, Hazard.VAR_MASK] & mask:
        set_fault(g, s, Fault.WAW, w, pc, r, hazard[row, r, Hazard.VAR_PC], 0, hazard[row, r, Hazard.VAR])
    if hazard[row, r, Hazard.READ] != 0:
        set_fault(g, s, Fault.WAR, w, pc, r, hazard[row, r, Hazard.READ_PC], 0, 0)


@device(apart=True)
def check_aside(g: Gpu, s: Sm, w: int, pc: int, r: int, mask: int, least: int, fault: int) -> None:
    """A result set aside for lanes of `mask` on row `r` that is there at virtual time `least` or later is a fault."""
    for i in range(s.aside_count[w]):
        if s.aside[w, i, Aside.ROW] == r and s.aside[w, i, Aside.MASK] & mask and s.aside[w, i, Aside.TIME] >= least:
            late = s.aside[w, i, Aside.TIME] - (s.vclock[w] if fault == Fault.RAW else least)
            set_fault(g, s, fault, w, pc, r, s.aside[w, i, Aside.PC], late, 0)


@device
def drop_aside(s: Sm, w: int) -> None:
    """Forget what was set aside and is there."""
    keep = 0
    for i in range(s.aside_count[w]):
        if s.aside[w, i, Aside.TIME] > s.vclock[w] and s.aside[w, i, Aside.MASK]:
            for k in range(ASIDE_COLUMNS):
                s.aside[w, keep, k] = s.aside[w, i, k]
            keep += 1
    s.aside_count[w] = keep


@device
def overwrite(s: Sm, hazard: Cube, w: int, r: int, mask: int) -> int:
    """Lanes `mask` write row `r`, on which a fixed result is in flight: the others' is set aside. Returns 1 if there is
    no room for it, which takes more such results at once than stall counts above zero allow."""
    row = s.warp_base + w
    for i in range(s.aside_count[w]):
        if s.aside[w, i, Aside.ROW] == r:
            s.aside[w, i, Aside.MASK] &= ~mask
    others = hazard[row, r, Hazard.FIX_MASK] & ~mask
    if others == 0:
        return 0
    i = s.aside_count[w]
    if i == ASIDE:
        return 1
    s.aside[w, i, Aside.ROW] = r
    s.aside[w, i, Aside.TIME] = hazard[row, r, Hazard.FIX_TIME]
    s.aside[w, i, Aside.MASK] = others
    s.aside[w, i, Aside.PC] = hazard[row, r, Hazard.FIX_PC]
    s.aside_count[w] = i + 1
    return 0


@device
def mark_variable(s: Sm, program: Grid, hazard: Cube, w: int, pc: int, mask: int) -> None:
    """The results of the variable-latency instruction at `pc` are in flight behind its write scoreboard."""
    row = s.warp_base + w
    bit = 1 << program[pc, Column.WBAR]
    for i in range(program[pc, Column.N_DEFS]):
        r = program[pc, FIRST_DEF + i]
        old = hazard[row, r, Hazard.VAR]
        if old == 0:
            s.var_list[w, s.var_count[w]] = r
            s.var_count[w] += 1
            hazard[row, r, Hazard.VAR_MASK] = mask
        else:
            hazard[row, r, Hazard.VAR_MASK] |= mask
        hazard[row, r, Hazard.VAR] = old | bit
        hazard[row, r, Hazard.VAR_PC] = pc
    s.var_any[w] |= bit


@device(apart=True)
def mark_late(s: Sm, program: Grid, hazard: Cube, w: int, pc: int) -> None:
    """The sources of the instruction at `pc`, its guard apart, are read after its issue."""
    row = s.warp_base + w
    pair = program[pc, Column.LATE]  # bit of (rbar, wbar)
    for i in range(program[pc, Column.N_LATE]):
        r = program[pc, FIRST_USE + i]
        if hazard[row, r, Hazard.READ] == 0:
            s.read_list[w, s.read_count[w]] = r
            s.read_count[w] += 1
        hazard[row, r, Hazard.READ] |= pair
        hazard[row, r, Hazard.READ_PC] = pc
    s.read_any[w] |= pair


@device
def check_and_mark(g: Gpu, s: Sm, program: Grid, hazard: Cube, w: int, pc: int, active: int, mask: int) -> None:
    """Check the instruction at `pc` and enter what it leaves in flight.

    `active` lanes read the guard (last in the list of uses where there is one), `mask` of them execute.
    """
    row = s.warp_base + w
    now = s.vclock[w]
    if s.aside_count[w]:
        drop_aside(s, w)
    for i in range(program[pc, Column.N_USES]):
        r = program[pc, FIRST_USE + i]
        if s.aside_count[w]:
            check_aside(g, s, w, pc, r, active, now + 1, Fault.RAW)
        if hazard[row, r, Hazard.FIX_TIME] > now or hazard[row, r, Hazard.VAR] != 0:
            check_read(g, s, hazard, w, pc, r, active)
    if mask == 0:
        return
    defs = program[pc, Column.N_DEFS]
    done = now + program[pc, Column.LATENCY]
    for i in range(defs):
        r = program[pc, FIRST_DEF + i]
        if s.aside_count[w]:
            check_aside(g, s, w, pc, r, mask, done, Fault.WAW)
        if (
            hazard[row, r, Hazard.FIX_TIME] >= done
            or hazard[row, r, Hazard.VAR] != 0
            or hazard[row, r, Hazard.READ] != 0
        ):
            check_write(g, s, hazard, w, pc, r, mask, done)
    if program[pc, Column.VARIABLE]:
        if defs:
            mark_variable(s, program, hazard, w, pc, mask)
        if program[pc, Column.LATE] != 0:
            mark_late(s, program, hazard, w, pc)
        return
    for i in range(defs):
        r = program[pc, FIRST_DEF + i]
        if hazard[row, r, Hazard.FIX_TIME] > now and overwrite(s, hazard, w, r, mask):
            hazard[row, r, Hazard.FIX_MASK] |= mask
            hazard[row, r, Hazard.FIX_TIME] = max(hazard[row, r, Hazard.FIX_TIME], done)
        else:
            hazard[row, r, Hazard.FIX_MASK] = mask
            hazard[row, r, Hazard.FIX_TIME] = done
        hazard[row, r, Hazard.FIX_PC] = pc


@device
def forget(s: Sm, hazard: Cube, w: int) -> None:
    """Nothing is in flight: a new block's warp takes the slot."""
    row = s.warp_base + w
    for r in range(hazard.shape[1]):
        hazard[row, r, Hazard.FIX_TIME] = 0
        hazard[row, r, Hazard.VAR] = 0
        hazard[row, r, Hazard.READ] = 0
    s.var_count[w] = 0
    s.var_any[w] = 0
    s.read_count[w] = 0
    s.read_any[w] = 0
    s.aside_count[w] = 0
    s.vclock[w] = 0

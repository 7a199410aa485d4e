"""Hazard detection: the machine has no interlocks, so every use before time is a fault that names both instructions.

Per warp and row (register or predicate) the table keeps what is in flight, apart from each other:

- a fixed-latency result: the virtual time at which it is there. A warp's virtual clock advances by stall counts alone,
  so that delays from other warps cannot hide a wrong count;
- a variable-latency result: the set of scoreboards (bit 7: none, never ready) that must be waited for;
- late readers (memory instructions read their sources after issue): one bit per pair (read scoreboard, write
  scoreboard), because waiting for either of the two frees the source; pair (7, 7) is never freed.

Each carries the lanes concerned: after a divergent branch the warp runs both sides one after the other, but a lane
depends only on what it executed itself. Results of disjoint lanes in flight together are joined (later time, union of
scoreboards), which is what a scheduler must allow for at the point where the sides meet.
"""

from __future__ import annotations

from typing import Any

from binalloc.emulator.device import device
from binalloc.emulator.faulting import set_fault
from binalloc.emulator.layout import (
    C_DEFS,
    C_LATE,
    C_LATENCY,
    C_N_DEFS,
    C_N_LATE,
    C_N_USES,
    C_USES,
    C_VARIABLE,
    C_WBAR,
    F_RAW,
    F_WAR,
    F_WAW,
    HZ_FIX_MASK,
    HZ_FIX_PC,
    HZ_FIX_TIME,
    HZ_READ,
    HZ_READ_PC,
    HZ_VAR,
    HZ_VAR_MASK,
    HZ_VAR_PC,
)


@device
def waited(g: Any, s: Any, hazard: Any, w: int, mask: int) -> None:
    """The warp has waited for the scoreboards in `mask`: what they guard is there, or has been read."""
    row = s.warp_base + w
    if s.var_any[w] & mask:
        keep = 0
        for i in range(s.var_count[w]):
            r = s.var_list[w, i]
            left = hazard[row, r, HZ_VAR] & ~mask
            hazard[row, r, HZ_VAR] = left
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
            left = hazard[row, r, HZ_READ] & ~clear
            hazard[row, r, HZ_READ] = left
            if left:
                s.read_list[w, keep] = r
                keep += 1
        s.read_count[w] = keep
        s.read_any[w] &= ~clear


@device
def check_read(g: Any, s: Any, hazard: Any, w: int, pc: int, r: int, mask: int) -> None:
    """RAW on row `r` of lanes `mask`."""
    row = s.warp_base + w
    if hazard[row, r, HZ_FIX_TIME] > s.vclock[w] and hazard[row, r, HZ_FIX_MASK] & mask:
        set_fault(g, s, F_RAW, w, pc, r, hazard[row, r, HZ_FIX_PC], hazard[row, r, HZ_FIX_TIME] - s.vclock[w], 0)
    if hazard[row, r, HZ_VAR] != 0 and hazard[row, r, HZ_VAR_MASK] & mask:
        set_fault(g, s, F_RAW, w, pc, r, hazard[row, r, HZ_VAR_PC], 0, hazard[row, r, HZ_VAR])


@device
def check_write(g: Any, s: Any, hazard: Any, w: int, pc: int, r: int, mask: int, done: int) -> None:
    """WAW and WAR on row `r` of lanes `mask` by a result that is there at virtual time `done`."""
    row = s.warp_base + w
    if hazard[row, r, HZ_FIX_TIME] >= done and hazard[row, r, HZ_FIX_MASK] & mask:
        set_fault(g, s, F_WAW, w, pc, r, hazard[row, r, HZ_FIX_PC], hazard[row, r, HZ_FIX_TIME] - done, 0)
    if hazard[row, r, HZ_VAR] != 0 and hazard[row, r, HZ_VAR_MASK] & mask:
        set_fault(g, s, F_WAW, w, pc, r, hazard[row, r, HZ_VAR_PC], 0, hazard[row, r, HZ_VAR])
    if hazard[row, r, HZ_READ] != 0:
        set_fault(g, s, F_WAR, w, pc, r, hazard[row, r, HZ_READ_PC], 0, 0)


@device
def mark_variable(s: Any, program: Any, hazard: Any, w: int, pc: int, mask: int) -> None:
    """The results of the variable-latency instruction at `pc` are in flight behind its write scoreboard."""
    row = s.warp_base + w
    bit = 1 << program[pc, C_WBAR]
    for i in range(program[pc, C_N_DEFS]):
        r = program[pc, C_DEFS + i]
        old = hazard[row, r, HZ_VAR]
        if old == 0:
            s.var_list[w, s.var_count[w]] = r
            s.var_count[w] += 1
            hazard[row, r, HZ_VAR_MASK] = mask
        else:
            hazard[row, r, HZ_VAR_MASK] |= mask
        hazard[row, r, HZ_VAR] = old | bit
        hazard[row, r, HZ_VAR_PC] = pc
    s.var_any[w] |= bit


@device
def mark_late(s: Any, program: Any, hazard: Any, w: int, pc: int) -> None:
    """The sources of the instruction at `pc`, its guard apart, are read after its issue."""
    row = s.warp_base + w
    pair = program[pc, C_LATE]  # bit of (rbar, wbar)
    for i in range(program[pc, C_N_LATE]):
        r = program[pc, C_USES + i]
        if hazard[row, r, HZ_READ] == 0:
            s.read_list[w, s.read_count[w]] = r
            s.read_count[w] += 1
        hazard[row, r, HZ_READ] |= pair
        hazard[row, r, HZ_READ_PC] = pc
    s.read_any[w] |= pair


@device
def check_and_mark(g: Any, s: Any, program: Any, hazard: Any, w: int, pc: int, active: int, mask: int) -> None:
    """Check the instruction at `pc` and enter what it leaves in flight.

    `active` lanes read the guard (last in the list of uses where there is one), `mask` of them execute.
    """
    row = s.warp_base + w
    now = s.vclock[w]
    for i in range(program[pc, C_N_USES]):
        r = program[pc, C_USES + i]
        if hazard[row, r, HZ_FIX_TIME] > now or hazard[row, r, HZ_VAR] != 0:
            check_read(g, s, hazard, w, pc, r, active)
    if mask == 0:
        return
    defs = program[pc, C_N_DEFS]
    done = now + program[pc, C_LATENCY]
    for i in range(defs):
        r = program[pc, C_DEFS + i]
        if hazard[row, r, HZ_FIX_TIME] >= done or hazard[row, r, HZ_VAR] != 0 or hazard[row, r, HZ_READ] != 0:
            check_write(g, s, hazard, w, pc, r, mask, done)
    if program[pc, C_VARIABLE]:
        if defs:
            mark_variable(s, program, hazard, w, pc, mask)
        if program[pc, C_LATE] != 0:
            mark_late(s, program, hazard, w, pc)
        return
    for i in range(defs):
        r = program[pc, C_DEFS + i]
        if hazard[row, r, HZ_FIX_TIME] > now:
            hazard[row, r, HZ_FIX_MASK] |= mask
            hazard[row, r, HZ_FIX_TIME] = max(hazard[row, r, HZ_FIX_TIME], done)
        else:
            hazard[row, r, HZ_FIX_MASK] = mask
            hazard[row, r, HZ_FIX_TIME] = done
        hazard[row, r, HZ_FIX_PC] = pc


@device
def forget(s: Any, hazard: Any, w: int) -> None:
    """Nothing is in flight: a new block's warp takes the slot."""
    row = s.warp_base + w
    for r in range(hazard.shape[1]):
        hazard[row, r, HZ_FIX_TIME] = 0
        hazard[row, r, HZ_VAR] = 0
        hazard[row, r, HZ_READ] = 0
    s.var_count[w] = 0
    s.var_any[w] = 0
    s.read_count[w] = 0
    s.read_any[w] = 0
    s.vclock[w] = 0

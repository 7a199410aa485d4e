"""This module writes the log of what the SMs do, where a run keeps one: issues, waits, and where a run has to stop.

Callers test `g.logging` first, so a run without a log pays one branch for each instruction, and less for the rest.
"""

from __future__ import annotations

from binalloc.emulator.checks.faulting import set_fault
from binalloc.emulator.execute.addresses import find_addresses
from binalloc.emulator.state.arrays import Cube, Grid
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import LANES, RZ, AccessCode, Column, ExecGroup, Fault, SpaceCode, StackColumn
from binalloc.emulator.state.parts.log import ATOM_BYTES, DATA_WORDS, Keep, LogColumn, LogKind
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.scan import lowest_bit


@device(apart=True)
def log_row(g: Gpu, s: Sm, kind: int, w: int, pc: int, mask: int, detail: int, lanes: int) -> None:
    """Write a row of the log, see `state.parts.log.LogKind`. There is always room, as the quantum ends in time."""
    n = g.logged
    g.log[n, LogColumn.KIND] = kind
    g.log[n, LogColumn.CYCLE] = g.cycle
    g.log[n, LogColumn.SM] = s.id
    g.log[n, LogColumn.WARP] = w
    g.log[n, LogColumn.BLOCK] = s.block_id[s.block_of[w]]
    g.log[n, LogColumn.IN_BLOCK] = s.in_block[w]
    g.log[n, LogColumn.PC] = pc
    g.log[n, LogColumn.MASK] = mask
    g.log[n, LogColumn.DETAIL] = detail
    g.log[n, LogColumn.LANES] = lanes
    g.logged = n + 1
    if n >= g.log_full:
        g.log_stop = 1


@device(apart=True)
def log_event(g: Gpu, s: Sm, kind: int, w: int, pc: int, detail: int) -> None:
    """Write a row that belongs to no instruction, if everything is logged."""
    if g.log_all:
        log_row(g, s, kind, w, pc, 0, detail, -1)


@device(apart=True)
def log_wait(g: Gpu, s: Sm, w: int, boards: int) -> None:
    """Write that the warp's next instruction waits for scoreboards."""
    log_event(g, s, LogKind.SCOREBOARD, w, s.stack[w, s.sp[w], StackColumn.PC], boards)


@device(apart=True)
def log_block(g: Gpu, s: Sm, slot: int) -> None:
    """Write that a block has come into `slot`, with all its warps."""
    if g.log_all:
        log_row(g, s, LogKind.BLOCK, slot * g.warps_per_block, g.entry, g.warps_per_block, slot, -1)


@device(apart=True)
def log_memory(g: Gpu, s: Sm, kind: int, slot: int, pc: int) -> None:
    """Write that the block in `slot` waits for shared memory, has got some or has given it back, in the instruction at
    `pc`."""
    if g.log_all:
        base = s.region_base[s.allocated[slot] - 1] if kind == LogKind.TAKE else 0
        log_row(g, s, kind, slot * g.warps_per_block, pc, base, slot, -1)


@device
def watched_lanes(g: Gpu, s: Sm, program: Grid, pc: int, mask: int, around: int) -> int:
    """Return the lanes of `mask` that touch watched bytes of global memory, or other bytes of the same aligned `around`
    bytes. `around` is a power of two."""
    found = 0
    space = program[pc, Column.SPACE]
    if space == SpaceCode.GLOBAL or space == SpaceCode.GENERIC:  # the windows have no address of global memory
        size = program[pc, Column.SIZE]
        for k in range(g.watches):
            low, high = g.watch_from[k] & -around, (g.watch_to[k] + around - 1) & -around
            for t in range(g.lanes):
                if s.addr[t] < high and s.addr[t] > low - size:
                    found |= 1 << t
    return found & mask


@device
def log_words(g: Gpu, s: Sm, regs: Cube, w: int, n: int, first: int, reg: int, words: int) -> None:
    """Write the words of registers `reg` and following into row n, as words `first` and following of each lane."""
    for k in range(words):
        r = reg + k if reg != RZ else RZ
        for t in range(g.lanes):
            g.log_lane[n, LANES * (1 + first + k) + t] = int(regs[s.warp_base + w, r, t])


@device
def log_data(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, n: int) -> None:
    """Write into row n the data that its lanes store, or give to an atomic operation. The rest of the row is zeros."""
    g.log_lane[n, LANES:] = 0
    access = program[pc, Column.ACCESS]
    if access == AccessCode.STORE:
        log_words(g, s, regs, w, n, 0, program[pc, Column.DATA], max(program[pc, Column.SIZE] >> 2, 1))
    elif access == AccessCode.ATOMIC:
        log_words(g, s, regs, w, n, 0, program[pc, Column.B_REG], program[pc, Column.B_UNITS])
        log_words(g, s, regs, w, n, DATA_WORDS // 2, program[pc, Column.C_REG], program[pc, Column.C_UNITS])


@device
def log_lanes(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int) -> int:
    """Write a row of the lanes' staged addresses, and of their data if the log keeps it. Return the row's number."""
    n = g.logged_lanes
    for t in range(g.lanes):
        g.log_lane[n, t] = s.addr[t]
    if g.log_keep == Keep.DATA:
        log_data(g, s, program, regs, w, pc, n)
    g.logged_lanes = n + 1
    if n >= g.log_lanes_full:
        g.log_stop = 1
    return n


@device(apart=True)
def log_issue(g: Gpu, s: Sm, program: Grid, rows: Grid, regs: Cube, w: int, pc: int, mask: int) -> None:
    """Write that the instruction at `pc` has been issued to the lanes of `mask`. It is about to execute. Where the run
    has to stop at it, set the fault for that instead."""
    if g.fault:
        return
    lanes, touched = -1, 0
    access = 1 if g.log_keep and mask and program[pc, Column.GROUP] == ExecGroup.MEM else 0
    if access:
        find_addresses(g, s, program, rows, w, pc, mask)
        touched = watched_lanes(g, s, program, pc, mask, 1 if g.watch_stops else ATOM_BYTES)
    if mask and (program[pc, Column.BREAK] or (touched and g.watch_stops)):
        set_fault(g, s, Fault.BREAK, w, pc, lowest_bit(touched if touched else mask), mask, touched, 0)
        return
    if g.log_all == 0 and touched == 0:
        return
    if access:
        lanes = log_lanes(g, s, program, regs, w, pc)
    log_row(g, s, LogKind.ISSUE, w, pc, mask, s.stack[w, s.sp[w], StackColumn.MASK], lanes)

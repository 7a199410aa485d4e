"""The log of what the SMs do, where a run keeps one: who issues what, who waits for what, and where a run is to stop.

Callers ask `g.logging` first, so that a run without a log pays one branch for each instruction and less for the rest.
"""

from __future__ import annotations

from binalloc.emulator.checks.faulting import set_fault
from binalloc.emulator.execute.addresses import find_addresses
from binalloc.emulator.state.arrays import Cube, Grid
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import LANES, RZ, AccessCode, Column, ExecGroup, Fault, Space, StackColumn
from binalloc.emulator.state.parts.log import ATOM_BYTES, DATA_WORDS, Keep, LogColumn, LogKind
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.scan import lowest_bit


@device(apart=True)
def log_row(g: Gpu, s: Sm, kind: int, w: int, pc: int, mask: int, detail: int, lanes: int) -> None:
    """A row of the log, see `state.parts.log.LogKind`; there is always room, as the quantum ends in time."""
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
    """A row of no instruction, if all that happens is logged."""
    if g.log_all:
        log_row(g, s, kind, w, pc, 0, detail, -1)


@device(apart=True)
def log_wait(g: Gpu, s: Sm, w: int, boards: int) -> None:
    """The warp finds that its next instruction waits for scoreboards."""
    log_event(g, s, LogKind.SCOREBOARD, w, s.stack[w, s.sp[w], StackColumn.PC], boards)


@device(apart=True)
def log_block(g: Gpu, s: Sm, slot: int) -> None:
    """A block has come into `slot`, with all its warps."""
    if g.log_all:
        log_row(g, s, LogKind.BLOCK, slot * g.warps_per_block, g.entry, g.warps_per_block, slot, -1)


@device
def watched_lanes(g: Gpu, s: Sm, program: Grid, pc: int, mask: int, around: int) -> int:
    """The lanes of `mask` that touch watched bytes of global memory, or others in the same aligned `around` bytes, a
    power of two."""
    found = 0
    space = program[pc, Column.SPACE]
    if space == Space.GLOBAL or space == Space.GENERIC:  # windows lie where nothing global does
        size = program[pc, Column.SIZE]
        for k in range(g.watches):
            low, high = g.watch_from[k] & -around, (g.watch_to[k] + around - 1) & -around
            for t in range(g.lanes):
                if s.addr[t] < high and s.addr[t] > low - size:
                    found |= 1 << t
    return found & mask


@device
def log_words(g: Gpu, s: Sm, regs: Cube, w: int, n: int, first: int, reg: int, words: int) -> None:
    """Words `first` and following of the lanes in row n: those of registers `reg` and following."""
    for k in range(words):
        r = reg + k if reg != RZ else RZ
        for t in range(g.lanes):
            g.log_lane[n, LANES * (1 + first + k) + t] = int(regs[s.warp_base + w, r, t])


@device
def log_data(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, n: int) -> None:
    """What the lanes of row n store, or give to an atomic operation; zeros behind it."""
    g.log_lane[n, LANES:] = 0
    access = program[pc, Column.ACCESS]
    if access == AccessCode.STORE:
        log_words(g, s, regs, w, n, 0, program[pc, Column.DATA], max(program[pc, Column.SIZE] >> 2, 1))
    elif access == AccessCode.ATOMIC:
        log_words(g, s, regs, w, n, 0, program[pc, Column.B_REG], program[pc, Column.B_UNITS])
        log_words(g, s, regs, w, n, DATA_WORDS // 2, program[pc, Column.C_REG], program[pc, Column.C_UNITS])


@device
def log_lanes(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int) -> int:
    """A row of the lanes' addresses, which are staged, and what they store, if that is kept; its number."""
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
    """The instruction at `pc` has been issued to the lanes of `mask` and is about to execute: a row, or, where the run
    is to stop at it, the fault that says so."""
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

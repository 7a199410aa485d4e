"""This module is the main loop over cycles, SMs and schedulers, in quanta, so that the driver keeps control.

Device functions take the arrays that they use one by one, even if there are ten: a tuple of arrays is passed as all of
them, each in ten parts. An SM's cycle stays a function of its own, because code that is inlined into a chain of callers
is optimised again in each of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from binalloc.emulator.checks.faulting import set_fault
from binalloc.emulator.checks.poison import poison_after, poison_before
from binalloc.emulator.checks.races import race_access, race_meet
from binalloc.emulator.execute.control import advance
from binalloc.emulator.execute.memory import exec_mem
from binalloc.emulator.execute.operands import stage
from binalloc.emulator.execute.row_access import access_row
from binalloc.emulator.execute.table import (
    exec_conv,
    exec_f32,
    exec_f64,
    exec_half,
    exec_int,
    exec_pred,
    exec_special,
    exec_warp,
)
from binalloc.emulator.execute.texture import exec_tex
from binalloc.emulator.memory.calendar import memory_due, next_memory_event
from binalloc.emulator.memory.cpu.traffic import start_chains
from binalloc.emulator.memory.dram import settle
from binalloc.emulator.sm.barriers import Mode
from binalloc.emulator.sm.control import ALLOCS, BARRIERS, FREES, WARPSYNCS, exec_control
from binalloc.emulator.sm.idle import bring_up
from binalloc.emulator.sm.issue import (
    account,
    asks_all,
    begin_cycle,
    begin_issue,
    end_cycle,
    end_issue,
    select,
)
from binalloc.emulator.sm.log import log_issue
from binalloc.emulator.sm.memory_events import serve_memory, waits_in_vain
from binalloc.emulator.state.arrays import Cube, Grid, Words
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import FULL, AccessCode, Column, ExecGroup, Fault, StackColumn
from binalloc.emulator.state.memories import Arguments
from binalloc.emulator.state.memory_layout import NEVER
from binalloc.emulator.state.modes import CHECKING
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.scan import lowest_bit


@device
def next_cycle(g: Gpu, sms: Sequence[Sm], program: Grid) -> int:
    """Move the clock to the next cycle with work. Return 1 if the grid is done, 2 if no warp can ever go on, else 0."""
    if g.retired == g.blocks and g.unfinished == 0:
        for i in range(g.sms):
            s = sms[i]
            bring_up(g, s, program, g.cycle)
        g.cycle += 1
        return 1
    best = next_memory_event(g)
    if g.dram_due < NEVER and (best < 0 or g.dram_due < best):
        best = max(g.dram_due, g.cycle + 1)
    if g.recall:
        g.recall = 0
        for i in range(g.sms):
            sms[i].next_time = g.cycle + 1
    for i in range(g.sms):
        s = sms[i]
        if s.next_time >= 0 and (best < 0 or s.next_time < best):
            best = s.next_time
    if best < 0 or (g.cpu_chains and waits_in_vain(g, sms)):
        g.fault = Fault.DEADLOCK
        return 2
    g.cycle = best
    return 0


@device(apart=True)
def refuse(g: Gpu, s: Sm, program: Grid, w: int, pc: int, mask: int) -> None:
    """Set the fault of an instruction with an operand outside of its constant bank, for the first lane that executes
    it."""
    offset, size, bank = program[pc, Column.OFFSET], program[pc, Column.SIZE], program[pc, Column.CBANK]
    set_fault(g, s, Fault.CONST, w, pc, lowest_bit(mask), offset, size, bank)


@device(inline=True)
def execute(
    g: Gpu, s: Sm, program: Grid, rows: Grid, regs: Cube, global_: Words, shared: Grid, local: Cube, const: Words,
    w: int, pc: int, mask: int,
) -> None:  # fmt: skip
    """Execute the instruction in the lanes of `mask`, which is not empty. It is not a control instruction."""
    group = program[pc, Column.GROUP]
    if group == ExecGroup.INT:
        exec_int(g, s, program, rows, w, pc, mask)
    elif group == ExecGroup.F32:
        exec_f32(g, s, program, rows, w, pc, mask)
    elif group == ExecGroup.CONV:
        exec_conv(g, s, program, rows, w, pc, mask)
    elif group == ExecGroup.F64:
        exec_f64(g, s, program, rows, w, pc, mask)
    elif group == ExecGroup.HALF:
        exec_half(g, s, program, rows, w, pc, mask)
    elif group == ExecGroup.MEM:
        if program[pc, Column.ACCESS] == AccessCode.ATOMIC:
            stage(g, s, program, regs, w, pc)
        if mask != FULL or access_row(g, s, program, rows, global_, shared, w, pc) == 0:
            exec_mem(g, s, program, rows, global_, shared, local, const, w, pc, mask)
    else:
        stage(g, s, program, regs, w, pc)
        if group == ExecGroup.PRED:
            exec_pred(g, s, program, regs, w, pc, mask)
        elif group == ExecGroup.WARP:
            exec_warp(g, s, program, regs, w, pc, mask)
        elif group == ExecGroup.SPECIAL:
            exec_special(g, s, program, regs, w, pc, mask)
        elif group == ExecGroup.TEX:
            exec_tex(g, s, program, regs, global_, w, pc, mask)
        elif group != ExecGroup.NOP:
            refuse(g, s, program, w, pc, mask)


@device(inline=True)
def issue_one(
    g: Gpu, s: Sm, program: Grid, rows: Grid, regs: Cube, hazard: Cube, global_: Words, shared: Grid, local: Cube,
    const: Words, counts: Words, shadow: Grid, shadow_local: Grid, races: Cube, w: int, pc: int,
) -> None:  # fmt: skip
    """Issue and execute the warp's next instruction, at `pc`, but for what `end_issue` does. May fault."""
    mask = begin_issue(g, s, program, hazard, counts, w, pc)
    if g.logging:
        log_issue(g, s, program, rows, regs, w, pc, mask)
    if CHECKING and g.check and g.fault == 0:
        poison_before(g, s, program, w, pc, s.stack[w, s.sp[w], StackColumn.MASK], mask)
    if g.fault != 0:
        return
    group = program[pc, Column.GROUP]
    if group == ExecGroup.CONTROL:
        exec_control(g, s, program, regs, w, pc, mask)
        if CHECKING and g.race and mask and g.fault == 0:
            kind = program[pc, Column.CONTROL]
            meets = kind == WARPSYNCS or kind == ALLOCS or kind == FREES
            if meets or (kind == BARRIERS and program[pc, Column.BAR] != Mode.ARV):
                race_meet(g, s, races, w, mask, 1 if kind == WARPSYNCS else 0)
    else:
        if mask:
            execute(g, s, program, rows, regs, global_, shared, local, const, w, pc, mask)
        if CHECKING and g.race and group == ExecGroup.MEM and mask and g.fault == 0:
            race_access(g, s, program, regs, races, w, pc, mask)
        advance(s, w, pc)
    if CHECKING and g.check and g.fault == 0:
        poison_after(g, s, program, shadow, shadow_local, w, pc, mask)


@device(apart=True)
def sm_cycle(
    g: Gpu, s: Sm, program: Grid, rows: Grid, regs: Cube, hazard: Cube, global_: Words, shared: Grid, local: Cube,
    const: Words, counts: Words, shadow: Grid, shadow_local: Grid, races: Cube,
) -> None:  # fmt: skip
    """Run a cycle of an SM that has work in it. At a fault the cycle ends with the instruction that met it."""
    begin_cycle(g, s, program, regs, hazard, shared, local, shadow, shadow_local, races)
    all_asked = asks_all(g, s)
    for sch in range(g.schedulers):
        if s.ready_units[sch] == 0 and all_asked == 0:
            continue
        w = select(g, s, program, sch)
        issued, why = 0, ~w
        s.turn = w  # read again in each round, so that the compiler moves nothing that depends on it out of the loop
        while s.turn >= 0:
            w = s.turn
            pc = s.stack[w, s.sp[w], StackColumn.PC]
            issue_one(
                g, s, program, rows, regs, hazard, global_, shared, local, const, counts, shadow, shadow_local, races,
                w, pc,
            )  # fmt: skip
            if g.fault != 0:
                return
            issued += 1
            if end_issue(g, s, program, regs, w, pc, issued) == 0:
                s.turn = -1
        account(g, s, program, sch, issued, why)
    end_cycle(g, s, program, regs)


@device
def run_quantum(gpus: Sequence[Gpu], sms: Sequence[Sm], arrays: Arguments, steps: int, limit: int) -> int:
    """Run at most `steps` cycles with events.

    Returns 1 when the grid is done, 2 at a fault, 3 when the next cycle would be `limit`, 4 when the log has to be
    drained, else 0. `gpus` (with one element) and `sms` are arrays of records.
    """
    g = gpus[0]
    program, rows, regs, hazard, global_, shared, local, const, counts, shadow, shadow_local, races, log = arrays
    if g.cpu_chains and g.cpu_started == 0:
        start_chains(g)
    for _ in range(steps):
        if g.cycle >= limit:
            settle(g, log, limit)
            if g.dram_due < NEVER:
                g.cycle = limit  # DRAM has commands before the next event, and samplers come back for them
            return 3
        if g.log_stop:
            settle(g, log, g.cycle)
            return 4
        if memory_due(g):
            serve_memory(g, sms, program, log, limit if steps > 1 else 0)
        for i in range(g.sms):
            s = sms[i]
            if s.next_time == g.cycle:
                sm_cycle(
                    g, s, program, rows, regs, hazard, global_, shared, local, const, counts, shadow, shadow_local,
                    races,
                )  # fmt: skip
                if g.fault != 0:
                    settle(g, log, g.cycle + 1)
                    return 2
        status = next_cycle(g, sms, program)
        if status:
            settle(g, log, g.cycle)
            return status
    settle(g, log, min(g.cycle, limit))
    return 0

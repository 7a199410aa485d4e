"""One SM, one cycle: events, dispatch, and every scheduler's issue slots.

Every slot of every scheduler in every cycle is an issue or one stall reason. An idle scheduler takes the first that
applies: a warp could issue but its unit's ports are busy; a warp waits out its stall count; a branch or barrier latency;
a scoreboard; a barrier; all its warps have ended and wait for their blocks; it has no warp. Ports are taken for the
unit's interval, or as many cycles more as a memory access needs passes.

Dual issue: an instruction with stall 0 is followed in the same cycle, by the same warp, if the scheduler has a second
slot, both are plain (no control, not both memory), the ports are free and the scoreboards it waits for are; otherwise the
follower issues one cycle later like after a stall of 1.
"""

from __future__ import annotations

from typing import Any

from binalloc.emulator.barriers import arrive, reconsider
from binalloc.emulator.control import branch, call, finish, leave, settle
from binalloc.emulator.device import device
from binalloc.emulator.dispatch import dispatch
from binalloc.emulator.events import fire, guard_until, next_event, retire_warp, set_state, wake_at
from binalloc.emulator.exec_alu import exec_int, exec_pred, stage
from binalloc.emulator.exec_float import exec_conv, exec_f32, exec_f64
from binalloc.emulator.exec_mem import exec_mem
from binalloc.emulator.exec_warp import exec_special, exec_warp, warpsync
from binalloc.emulator.faulting import set_fault
from binalloc.emulator.hazards import check_and_mark, waited
from binalloc.emulator.layout import (
    C_CONTROL,
    C_GROUP,
    C_GUARD,
    C_GUARDN,
    C_OP,
    C_RBAR,
    C_STALL,
    C_TARGET,
    C_UNIT,
    C_VALID,
    C_WAIT,
    C_WBAR,
    CT_BARRIER,
    CT_BRANCH,
    CT_CALL,
    CT_CALL_IND,
    CT_EXIT,
    CT_NONE,
    CT_RETURN,
    CT_WARPSYNC,
    F_CALL_TARGET,
    F_NOT_EXECUTED,
    F_PC,
    G_CONV,
    G_F32,
    G_F64,
    G_INT,
    G_MEM,
    G_NOT_EXECUTED,
    G_PRED,
    G_WARP,
    NO_BARRIER,
    OP_CS2R,
    OP_S2R,
    R_BARRIER,
    R_BRANCH,
    R_DRAIN,
    R_NO_PAIR,
    R_NO_WARP,
    R_PORT,
    R_SCOREBOARD,
    R_STALL,
    S_DUAL,
    S_SLOTS,
    S_THREAD_INSTRS,
    S_WARP_CYCLES,
    S_WARP_INSTRS,
    ST_MASK,
    ST_PC,
    UNIT_LSU,
    UNITS,
    W_BARRIER,
    W_BRANCH,
    W_DONE,
    W_READY,
    W_SCOREBOARD,
    W_STALL,
)
from binalloc.emulator.scan import count_bits
from binalloc.emulator.schedulers import pick


@device
def port_free(g: Any, s: Any, unit: int) -> int:
    """The time from which the unit can start an instruction."""
    return max(s.unit_free[unit], s.group_free[g.unit_group[unit]])


@device
def take_port(g: Any, s: Any, unit: int, cycles: int) -> None:
    """Occupy one port of the unit and one of its group from now on."""
    until = g.cycle + cycles
    best = 0
    for p in range(1, g.unit_ports[unit]):
        if s.unit_port[unit, p] < s.unit_port[unit, best]:
            best = p
    s.unit_port[unit, best] = until
    first = until
    for p in range(g.unit_ports[unit]):
        first = min(first, s.unit_port[unit, p])
    s.unit_free[unit] = first
    group = g.unit_group[unit]
    best = 0
    for p in range(1, g.group_ports[group]):
        if s.group_port[group, p] < s.group_port[group, best]:
            best = p
    s.group_port[group, best] = until
    first = until
    for p in range(g.group_ports[group]):
        first = min(first, s.group_port[group, p])
    s.group_free[group] = first


@device
def idle_reason(g: Any, s: Any, sch: int) -> int:
    """Why the scheduler issues nothing while no warp of its can."""
    if s.census[sch, W_READY]:
        return R_PORT
    if s.census[sch, W_STALL]:
        return R_STALL
    if s.census[sch, W_BRANCH]:
        return R_BRANCH
    if s.census[sch, W_SCOREBOARD]:
        return R_SCOREBOARD
    if s.census[sch, W_BARRIER]:
        return R_BARRIER
    if s.census[sch, W_DONE]:
        return R_DRAIN
    return R_NO_WARP


@device
def exec_plain(
    g: Any, s: Any, program: Any, regs: Any, global_: Any, shared: Any, local: Any, const: Any,
    w: int, pc: int, mask: int,
) -> None:  # fmt: skip
    """An instruction without control flow, by the lanes of `mask` (not empty)."""
    group = program[pc, C_GROUP]
    stage(g, s, program, regs, w, pc)
    if group == G_INT:
        exec_int(g, s, program, regs, w, pc, mask)
    elif group == G_F32:
        exec_f32(g, s, program, regs, w, pc, mask)
    elif group == G_MEM:
        exec_mem(g, s, program, regs, global_, shared, local, const, w, pc, mask)
    elif group == G_PRED:
        exec_pred(g, s, program, regs, w, pc, mask)
    elif group == G_CONV:
        exec_conv(g, s, program, regs, w, pc, mask)
    elif group == G_F64:
        exec_f64(g, s, program, regs, w, pc, mask)
    elif group == G_WARP:
        exec_warp(g, s, program, regs, w, pc, mask)
    elif group == G_NOT_EXECUTED:
        set_fault(g, s, F_NOT_EXECUTED, w, pc, -1, 0, 0, 0)
    elif program[pc, C_OP] == OP_S2R or program[pc, C_OP] == OP_CS2R:
        exec_special(g, s, program, regs, w, pc, mask)


@device
def call_indirect(g: Any, s: Any, program: Any, w: int, pc: int, mask: int) -> None:
    """CALL.IND: one CALL entry per distinct target; they run one after the other, the lowest lane's first."""
    call(g, s, w, pc, 0, 0)
    rest = mask
    while rest and g.fault == 0:
        lane = 0
        for t in range(g.lanes):
            if (rest >> t) & 1:
                lane = t
        target = s.a[lane]
        same = 0
        for t in range(g.lanes):
            if (rest >> t) & 1 and s.a[t] == target:
                same |= 1 << t
        if target >= g.code_words or program[target, C_VALID] < 2:
            set_fault(g, s, F_CALL_TARGET, w, pc, lane, target, 0, 0)
        else:
            call(g, s, w, pc, target, same)
        rest &= ~same


@device
def exec_control(
    g: Any, s: Any, program: Any, regs: Any, w: int, pc: int, active: int, mask: int
) -> int:
    """A control instruction; returns 1 if the warp now waits at a barrier."""
    kind = program[pc, C_CONTROL]
    if program[pc, C_GROUP] == G_NOT_EXECUTED:
        if mask:
            set_fault(g, s, F_NOT_EXECUTED, w, pc, -1, 0, 0, 0)
        return 0
    if kind == CT_BRANCH:
        branch(g, s, program, w, pc, active, mask)
        return 0
    if kind == CT_CALL:
        call(g, s, w, pc, program[pc, C_TARGET], mask)
        settle(s, w)
        return 0
    if kind == CT_RETURN:
        leave(g, s, w, pc, mask)
        return 0
    if kind == CT_EXIT:
        finish(s, w, pc, mask)
        return 0
    if kind == CT_CALL_IND:
        stage(g, s, program, regs, w, pc)
        call_indirect(g, s, program, w, pc, mask)
        settle(s, w)
        return 0
    s.stack[w, s.sp[w], ST_PC] = pc + 1
    settle(s, w)
    if kind == CT_BARRIER:
        return arrive(g, s, program, regs, w, pc, mask)
    if kind == CT_WARPSYNC:
        stage(g, s, program, regs, w, pc)
        warpsync(g, s, w, pc, active, mask)
    return 0


@device
def execute(
    g: Any, s: Any, program: Any, regs: Any, hazard: Any, global_: Any, shared: Any, local: Any, const: Any,
    counts: Any, w: int, pc: int,
) -> int:  # fmt: skip
    """Issue the instruction at `pc` of a ready warp: check, execute, take ports, arm scoreboards, count.

    Returns 1 if the warp now waits at a barrier. `s.done_at` is when a variable-latency result is there.
    """
    active = s.stack[w, s.sp[w], ST_MASK]
    mask = active & (s.pred[w, program[pc, C_GUARD]] ^ program[pc, C_GUARDN])
    if g.hazards:
        if program[pc, C_WAIT]:
            waited(g, s, hazard, w, program[pc, C_WAIT])
        check_and_mark(g, s, program, hazard, w, pc, active, mask)
        s.vclock[w] += program[pc, C_STALL]
    counts[pc] += 1
    s.stat[S_WARP_INSTRS] += 1
    s.stat[S_THREAD_INSTRS] += count_bits(mask)
    unit = program[pc, C_UNIT]
    s.unit_issued[unit] += 1
    s.passes = 1
    s.done_at = g.cycle + g.unit_latency[unit]
    waiting = 0
    if program[pc, C_CONTROL] == CT_NONE:
        if mask:
            exec_plain(g, s, program, regs, global_, shared, local, const, w, pc, mask)
        s.stack[w, s.sp[w], ST_PC] = pc + 1
        settle(s, w)
    else:
        waiting = exec_control(g, s, program, regs, w, pc, active, mask)
    cycles = g.unit_interval[unit] + s.passes - 1
    take_port(g, s, unit, cycles)
    if waiting == 0 and program[pc, C_WBAR] != NO_BARRIER:
        guard_until(g, s, w, program[pc, C_WBAR], s.done_at)
    if program[pc, C_RBAR] != NO_BARRIER:
        guard_until(g, s, w, program[pc, C_RBAR], g.cycle + cycles)
    return waiting


@device
def end_warp(g: Any, s: Any, program: Any, regs: Any, w: int) -> None:
    """The warp's stack is empty."""
    set_state(g, s, w, W_DONE)
    reconsider(g, s, program, regs, w)
    if s.busy[w] == 0:
        retire_warp(g, s, w)


@device
def may_pair(g: Any, s: Any, program: Any, w: int, first: int) -> int:
    """1 if the warp's next instruction can issue in this cycle behind the one at `first`, which had stall 0."""
    if program[first, C_STALL] != 0 or program[first, C_CONTROL] != CT_NONE:
        return 0
    pc = s.stack[w, s.sp[w], ST_PC]
    if program[pc, C_VALID] == 0 or program[pc, C_CONTROL] != CT_NONE or s.busy[w] & program[pc, C_WAIT]:
        return 0
    unit = program[pc, C_UNIT]
    if unit == UNIT_LSU and program[first, C_UNIT] == UNIT_LSU:
        return 0
    return 1 if port_free(g, s, unit) <= g.cycle else 0


@device
def issue_warp(
    g: Any, s: Any, program: Any, regs: Any, hazard: Any, global_: Any, shared: Any, local: Any, const: Any,
    counts: Any, w: int,
) -> int:  # fmt: skip
    """Issue from warp slot `w`, twice where it may; returns the number of instructions issued."""
    pc = s.stack[w, s.sp[w], ST_PC]
    sch = w % g.schedulers
    s.ready[sch, program[pc, C_UNIT]] &= ~(1 << (w // g.schedulers))
    issued = 0
    waiting = 0
    again = 1
    while again:
        if program[pc, C_VALID] == 0:
            set_fault(g, s, F_PC, w, pc, -1, 0, 0, 0)
            return issued
        waiting = execute(g, s, program, regs, hazard, global_, shared, local, const, counts, w, pc)
        issued += 1
        again = 0
        if g.fault:
            return issued
        if s.sp[w] >= 0 and issued < g.issue_width and may_pair(g, s, program, w, pc):
            pc = s.stack[w, s.sp[w], ST_PC]
            again = 1
    if s.sp[w] < 0:
        end_warp(g, s, program, regs, w)
    elif waiting == 0:
        delay = max(program[pc, C_STALL], 1)
        state = W_STALL
        if program[pc, C_CONTROL] != CT_NONE and g.unit_latency[program[pc, C_UNIT]] > delay:
            delay = g.unit_latency[program[pc, C_UNIT]]
            state = W_BRANCH
        wake_at(g, s, w, g.cycle + delay, state)
    return issued


@device
def eligible_warps(g: Any, s: Any, sch: int) -> int:
    """The scheduler's warps whose next instruction could issue now."""
    mask = 0
    for u in range(UNITS):
        if s.ready[sch, u] != 0 and port_free(g, s, u) <= g.cycle:
            mask |= s.ready[sch, u]
    return mask


@device
def step_sm(
    g: Any, s: Any, program: Any, regs: Any, hazard: Any, global_: Any, shared: Any, local: Any, const: Any,
    counts: Any,
) -> None:  # fmt: skip
    """The cycle `g.cycle` of one SM; leaves in `s.next_time` when it has something to do again (-1: never by itself)."""
    fire(g, s, program)
    dispatch(g, s, program, regs, hazard, shared, local)
    s.stat[S_WARP_CYCLES] += s.live_warps
    for sch in range(g.schedulers):
        eligible = eligible_warps(g, s, sch)
        issued = 0
        if eligible:
            i = pick(g, s, sch, eligible)
            s.last[sch] = i
            issued = issue_warp(
                g, s, program, regs, hazard, global_, shared, local, const, counts, i * g.schedulers + sch
            )
            if g.fault:
                return
            if issued > 1:
                s.stat[S_DUAL] += 1
            s.stall[R_NO_PAIR] += g.issue_width - issued
        else:
            s.stall[idle_reason(g, s, sch)] += g.issue_width
        s.stat[S_SLOTS] += issued
    s.next_time = next_time(g, s)


@device
def next_time(g: Any, s: Any) -> int:
    """The next cycle after now at which anything can change in the SM; -1 if nothing will by itself."""
    best = next_event(g, s)
    soon = g.cycle + 1
    if best == soon:
        return best
    for u in range(UNITS):
        some = 0
        for sch in range(g.schedulers):
            some |= s.ready[sch, u]
        if some:
            time = max(port_free(g, s, u), soon)
            if best < 0 or time < best:
                best = time
    if g.next_block < g.blocks and s.resident < g.resident_limit:
        best = soon
    return best


@device
def skip(g: Any, s: Any, cycles: int) -> None:
    """Account for `cycles` cycles in which nothing happens in the SM."""
    s.stat[S_WARP_CYCLES] += cycles * s.live_warps
    for sch in range(g.schedulers):
        s.stall[idle_reason(g, s, sch)] += cycles * g.issue_width

"""This module counts the work and the waits of single instructions in profiled runs: lost issue slots, the SM's
counters and latencies.

A lost slot is charged to one instruction of one warp. The warp is the oldest (`SchedulerRecord.age`) of the
scheduler's warps that wait for the slot's reason. The instruction is the warp's next one where that cannot issue
because of a stall count, scoreboards, a port or the policy. It is the one that the warp issued last where that keeps
the warp: a branch, a barrier, its end, an instruction without a partner or still without its registers. A slot lost for
want of a warp is charged to no instruction.

An SM's counters change while an instruction is executed, or when held lines of one go on; the increase belongs to that
instruction. Both forms of a cycle's bookkeeping give the same counts, as they call this module when no state has
changed.
"""

from __future__ import annotations

from binalloc.emulator.policies.waits import OF_NEXT, state_behind
from binalloc.emulator.sm.ports import port_free
from binalloc.emulator.state.arrays import Grid
from binalloc.emulator.state.counters import STATS, Stall, Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import AccessCode, Column, ExecGroup, StackColumn, Warp
from binalloc.emulator.state.profile_columns import FIRST_COUNT, FIRST_STALL, LATENCIES, LATENCY_MAX, LATENCY_SUM
from binalloc.emulator.state.records import Gpu, Sm


@device
def next_word(s: Sm, w: int) -> int:
    """Return the code word that warp w executes next."""
    return s.stack[w, s.sp[w], StackColumn.PC]


@device
def waits_so(g: Gpu, s: Sm, program: Grid, w: int, why: int) -> int:
    """Return 1 if warp w waits for the reason `why`, a `Stall`."""
    state = s.state[w]
    if why == Stall.PENDING:
        unit = program[next_word(s, w), Column.UNIT] if state == Warp.READY else 0
        return 1 if state == Warp.READY and port_free(g, s, g.scheduler_of[w], unit) <= g.cycle else 0
    return 1 if state == state_behind(why) else 0


@device
def oldest_waiting(g: Gpu, s: Sm, program: Grid, sch: int, why: int) -> int:
    """Return the oldest of the scheduler's warps that wait for the reason, -1 if there is none."""
    best = -1
    for w in range(sch, g.warp_limit, g.schedulers):
        if waits_so(g, s, program, w, why) and (best < 0 or s.age[w] < s.age[best]):
            best = w
    return best


@device
def charge(g: Gpu, s: Sm, program: Grid, sch: int, why: int, slots: int) -> None:
    """Enter slots that a scheduler has lost for the reason `why`, a `Stall`, at an instruction."""
    if slots == 0:
        return
    if why == Stall.NO_PAIR or why == Stall.REGISTER_BANK:
        w = s.last[sch] * g.schedulers + sch
    else:
        w = oldest_waiting(g, s, program, sch, why)
    if w < 0:
        return
    pc = s.at[w]
    if (OF_NEXT >> why) & 1:
        pc = next_word(s, w)
    program[pc, FIRST_STALL + why] += slots


@device
def settle(s: Sm, program: Grid, pc: int) -> None:
    """Enter what the SM has counted since the last call at the instruction at `pc`."""
    for i in range(STATS):
        gained = s.stat[i] - s.settled[i]
        if gained:
            program[pc, FIRST_COUNT + i] += gained
            s.settled[i] = s.stat[i]


@device
def returns_data(program: Grid, pc: int) -> int:
    """Return 1 if the instruction at `pc` waits for data from memory: a load, an atomic or a texture fetch."""
    group = program[pc, Column.GROUP]
    return (
        1
        if group == ExecGroup.TEX or (group == ExecGroup.MEM and program[pc, Column.ACCESS] != AccessCode.STORE)
        else 0
    )


@device
def profile_issue(g: Gpu, s: Sm, program: Grid, pc: int) -> None:
    """Enter the counts of the instruction at `pc` after its execution, and its latency if that is known already."""
    lanes = s.stat[Stat.THREAD_INSTRUCTIONS] - s.settled[Stat.THREAD_INSTRUCTIONS]
    settle(s, program, pc)
    if s.access >= 0:
        s.access_word[s.access] = pc
        s.access_since[s.access] = g.cycle
        s.access_known[s.access] = s.done_at
    elif lanes and returns_data(program, pc):
        enter_latency(program, pc, s.done_at - g.cycle)


@device
def profile_access(g: Gpu, s: Sm, program: Grid, a: int) -> None:
    """Enter the latency of access a, as all its data has come."""
    pc = s.access_word[a]
    if returns_data(program, pc):
        ready = max(g.cycle, max(s.access_known[a], s.access_time[a]))
        enter_latency(program, pc, ready - s.access_since[a])


@device
def enter_latency(program: Grid, pc: int, cycles: int) -> None:
    """Count an access of the instruction at `pc` that has its data `cycles` cycles after its issue."""
    program[pc, LATENCIES] += 1
    program[pc, LATENCY_SUM] += cycles
    program[pc, LATENCY_MAX] = max(program[pc, LATENCY_MAX], cycles)

"""This module runs one cycle of one SM: events, dispatch, and every scheduler's issue slots.

Every slot of every scheduler in every cycle is an issue or has one stall reason. The reason is entered later where no
warp waits for its turn (`sm.idle`). An idle scheduler takes the first reason that applies: warps could issue, but its
policy chooses none and gives a reason; a warp could issue, but its unit's ports are busy; a warp waits out its stall
count; a branch's latency; a scoreboard; its code; a constant; a barrier or its latency; all its warps have ended and
wait for their blocks; it has no warp. Ports are taken for the unit's interval, or as many cycles more as a memory
access needs passes. This form and the per-cycle form of a cycle's bookkeeping call a policy in the same cycles with the
same warps: a cycle in which a warp could issue is never skipped.

Dual issue: an instruction with stall 0 is followed in the same cycle by the next one of the same warp. The scheduler
needs a second slot, both instructions must be plain (no control, not both memory), and the ports and the scoreboards of
the second must be free. Otherwise the second issues one cycle later, as after a stall of 1.
"""

from __future__ import annotations

from binalloc.emulator.checks.faulting import set_fault
from binalloc.emulator.checks.hazards import check_and_mark, waited
from binalloc.emulator.checks.poison import poison_all, poison_words
from binalloc.emulator.checks.races import race_forget, race_start
from binalloc.emulator.policies.events import (
    HEARS_LINES,
    HEARS_PROMOTIONS,
    ended,
    evicted,
    issued,
    missed,
    promoted,
    sought,
)
from binalloc.emulator.policies.gates.table import can_pair
from binalloc.emulator.policies.pairs import common_first, shares_slots
from binalloc.emulator.policies.schedulers.table import pick
from binalloc.emulator.policies.waits import idle_reason
from binalloc.emulator.sm.barriers import hand_out, reconsider
from binalloc.emulator.sm.dispatch import dispatch, next_launch
from binalloc.emulator.sm.events import (
    enter_turn,
    fire,
    guard_until,
    hold_board,
    next_event,
    retire_warp,
    set_state,
    wake_at,
)
from binalloc.emulator.sm.gates import answer_knocks
from binalloc.emulator.sm.idle import bring_up, enter_idle, enter_residence
from binalloc.emulator.sm.log import log_event
from binalloc.emulator.sm.ports import busy_still, close_path, port_free, take_port
from binalloc.emulator.sm.profile import charge, profile_issue
from binalloc.emulator.sm.reference import can_go_on, eligible_now, reason, refresh, resident_warps
from binalloc.emulator.sm.register_file import read_registers
from binalloc.emulator.state.arrays import Cube, Grid, Words
from binalloc.emulator.state.counters import Stall, Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import (
    LANES,
    NO_BARRIER,
    NO_CONTROL,
    UNIT_LSU,
    WHEEL,
    CodeKind,
    Column,
    Fault,
    StackColumn,
    Warp,
)
from binalloc.emulator.state.memory_layout import NEVER
from binalloc.emulator.state.modes import CHECKING
from binalloc.emulator.state.parts.log import LogKind
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.scan import count_bits, lowest_bit


@device
def begin_issue(g: Gpu, s: Sm, program: Grid, hazard: Cube, counts: Words, w: int, pc: int) -> int:
    """Take the instruction at `pc` of a ready warp: check hazards and count it. Return the lanes that execute it."""
    if program[pc, Column.VALID] == CodeKind.NONE:
        set_fault(g, s, Fault.PC, w, s.at[w], -1, pc, 0, 0)
        return 0
    s.at[w] = pc
    active = s.stack[w, s.sp[w], StackColumn.MASK]
    mask = active & (s.pred[w, program[pc, Column.GUARD]] ^ program[pc, Column.GUARDN])
    if g.hazards:
        if program[pc, Column.WAIT]:
            waited(g, s, hazard, w, program[pc, Column.WAIT])
        check_and_mark(g, s, program, hazard, w, pc, active, mask)
        s.vclock[w] += program[pc, Column.STALL]
    counts[pc] += 1
    s.warp_issued[w] += 1
    s.stat[Stat.WARP_INSTRUCTIONS] += 1
    s.stat[Stat.THREAD_INSTRUCTIONS] += count_bits(mask)
    unit = program[pc, Column.UNIT]
    s.unit_issued[unit] += 1
    s.passes = 1
    s.waits = 0
    s.done_at = g.cycle + g.unit_latency[unit]
    s.access = -1
    return mask


@device
def end_issue(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, nth: int) -> int:
    """Take ports and arm scoreboards for the instruction at `pc`, which has executed as the `nth` of this warp in this
    cycle.

    Returns 1 if the warp issues again in this cycle. Otherwise the warp has gone to sleep or to a barrier, or has
    ended.
    """
    unit = program[pc, Column.UNIT]
    if program[pc, Column.EASY]:
        if CHECKING and g.profile:
            profile_issue(g, s, program, pc)
        take_port(g, s, g.scheduler_of[w], unit, g.unit_interval[unit])
        issued(g, s, w, pc)
        sleep(g, s, program, w, program[pc, Column.STALL], Warp.STALL)
        return 0
    wait = read_registers(g, s, program, w, pc) if program[pc, Column.READS] else 0
    if CHECKING and g.profile:
        profile_issue(g, s, program, pc)
    cycles = g.unit_interval[unit] + s.passes - 1 + wait
    take_port(g, s, g.scheduler_of[w], unit, cycles)
    if s.held:
        close_path(g, s)
        if g.logging:
            log_event(g, s, LogKind.HOLD, w, pc, 0)
    if s.waits == 0 and program[pc, Column.WBAR] != NO_BARRIER:
        if s.done_at > g.cycle:
            guard_until(g, s, w, program[pc, Column.WBAR], s.done_at + wait)
        if s.access >= 0:
            s.access_board[s.access] = program[pc, Column.WBAR]
            hold_board(s, w, program[pc, Column.WBAR])
    if HEARS_LINES and g.notes_lines and (s.given_up or s.sought):
        tell_lines(g, s)
    if s.access >= 0:
        missed(g, s, w)
    issued(g, s, w, pc)
    if program[pc, Column.RBAR] != NO_BARRIER:
        guard_until(g, s, w, program[pc, Column.RBAR], g.cycle + cycles)
    if s.sp[w] < 0:
        end_warp(g, s, program, regs, w)
    elif s.waits == 0:
        if nth < g.issue_width and wait == 0 and may_pair(g, s, program, regs, w, pc):
            return 1
        delay = max(program[pc, Column.STALL], 1) + wait
        state = Warp.STALL
        if program[pc, Column.CONTROL] != NO_CONTROL and g.unit_latency[unit] > delay:
            delay = g.unit_latency[unit]
            state = Warp.BRANCH
        sleep(g, s, program, w, delay, state)
    return 0


@device(apart=True)
def tell_lines(g: Gpu, s: Sm) -> None:
    """Report the lines that loads have not found in L1 or that have been stored to, and those that L1 has given up, to
    the policies."""
    for n in range(s.sought):
        sought(g, s, s.sought_warp[n], s.sought_line[n], s.sought_stored[n])
    s.sought = 0
    for n in range(s.given_up):
        evicted(g, s, s.given_line[n], s.given_owner[n])
    s.given_up = 0


@device(inline=True)
def sleep(g: Gpu, s: Sm, program: Grid, w: int, delay: int, state: int) -> None:
    """Let the warp issue nothing for `delay` cycles, this one included."""
    if delay > 1 or g.reference or g.gates or ready_next(g, s, program, w) == 0:
        wake_at(g, s, w, g.cycle + delay, state)


@device(inline=True)
def ready_next(g: Gpu, s: Sm, program: Grid, w: int) -> int:
    """Return 1, and enter the warp's turn, if the warp, which has just issued, may have its turn in the next cycle.

    Its next instruction then waits for no scoreboard, and the warp need not sleep.
    """
    pc = s.stack[w, s.sp[w], StackColumn.PC]
    if s.busy[w] & program[pc, Column.WAIT]:
        return 0
    enter_turn(g, s, program, w, pc)
    s.ready_from = g.cycle + 1
    return 1


@device(apart=True)
def end_warp(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int) -> None:
    """End the warp, whose stack is empty."""
    set_state(g, s, w, Warp.DONE)
    ended(g, s, w)
    if g.logging:
        log_event(g, s, LogKind.WARP_END, w, -1, 0)
    reconsider(g, s, program, regs, w)
    if s.busy[w] == 0:
        retire_warp(g, s, w)


@device
def may_pair(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, first: int) -> int:
    """Return 1 if the warp's next instruction can issue in this cycle after the one at `first`, which had stall 0."""
    if program[first, Column.STALL] != 0 or program[first, Column.CONTROL] != NO_CONTROL:
        return 0
    pc = s.stack[w, s.sp[w], StackColumn.PC]
    if (
        program[pc, Column.VALID] == CodeKind.NONE
        or program[pc, Column.CONTROL] != NO_CONTROL
        or s.busy[w] & program[pc, Column.WAIT]
    ):
        return 0
    unit = program[pc, Column.UNIT]
    if unit == UNIT_LSU and program[first, Column.UNIT] == UNIT_LSU:
        return 0
    if port_free(g, s, g.scheduler_of[w], unit) > g.cycle:
        return 0
    return can_pair(g, s, program, regs, w, pc) if g.gates else 1


@device(inline=True)
def eligible_warps(g: Gpu, s: Sm, sch: int) -> int:
    """Return the scheduler's warps whose next instruction could issue now, as a bit mask."""
    mask = 0
    busy_still(g, s, sch + 1)
    units = s.ready_units[sch] & ~(s.units_busy[0] | s.units_busy[sch + 1])
    while units:
        mask |= s.ready[sch, lowest_bit(units)]
        units &= units - 1
    return mask


@device
def begin_cycle(
    g: Gpu, s: Sm, program: Grid, regs: Cube, hazard: Cube, shared: Grid, local: Cube, shadow: Grid, shadow_local: Grid,
    races: Cube,
) -> None:  # fmt: skip
    """Begin cycle `g.cycle` of one SM: process what is due, and take a new block."""
    enter_residence(s, g.cycle - 1)
    if CHECKING and g.profile:
        bring_up(g, s, program, g.cycle - 1)
    s.last_time = g.cycle
    if g.reference:
        refresh(g, s, program)
    else:
        fire(g, s, program)
    busy_still(g, s, 0)
    slot = -1
    if next_launch(g, s) <= g.cycle:
        slot = dispatch(g, s, program, regs, hazard, shared, local)
    if g.gates:
        answer_knocks(g, s, program, regs)
    if CHECKING and slot >= 0 and g.check:
        poison_all(g, s, shadow, shadow_local, slot)
    if CHECKING and slot >= 0 and g.race:
        race_start(g, s, races, slot)
    if CHECKING and s.fresh:
        begin_regions(g, s, shadow, races)
    s.stat[Stat.WARP_CYCLES] += resident_warps(g, s) if g.reference else s.live_warps


@device(apart=True)
def begin_regions(g: Gpu, s: Sm, shadow: Grid, races: Cube) -> None:
    """Have the checks forget what earlier blocks did in regions that BAR.ALLOC has opened since the last time, and in
    words that blocks share of which one has got the lock. No warp accesses a region in the cycle in which it is
    opened."""
    s.fresh = 0
    for slot in range(g.resident_limit):
        if s.lock_fresh[slot]:
            s.lock_fresh[slot] = 0
            first = common_first(g, s, slot)
            forget_words(g, s, shadow, races, first, first + (g.user_shared - g.private_bytes + 3 >> 2))
            if shares_slots(g):
                forget_slots(g, s, shadow, races, slot)
    for r in range(s.regions):
        if s.region_fresh[r]:
            s.region_fresh[r] = 0
            forget_words(g, s, shadow, races, s.region_first[r], s.region_end[r])


@device(apart=True)
def forget_slots(g: Gpu, s: Sm, shadow: Grid, races: Cube, slot: int) -> None:
    """Have the checks forget what earlier blocks did in the slots that the block in `slot` shares with its partner."""
    first = common_first(g, s, slot) + (g.slot_base - g.private_bytes >> 2)
    for i in range(g.warps_per_block):
        row = first + (i * g.slot_bytes >> 2)
        forget_words(g, s, shadow, races, row + g.private_rows * LANES, row + (g.slot_bytes >> 2))


@device
def forget_words(g: Gpu, s: Sm, shadow: Grid, races: Cube, first: int, end: int) -> None:
    """Have the checks forget what earlier blocks did in words of the SM's shared memory."""
    if g.check:
        poison_words(s, shadow, first, end)
    if g.race:
        race_forget(g, s, races, first, end)


@device(inline=True)
def asks_all(g: Gpu, s: Sm) -> int:
    """Return 1 if every scheduler is asked in this cycle, not only those with a warp that waits for its turn."""
    return 1 if g.reference or s.issue_latest > g.cycle or (CHECKING and g.profile) else 0


@device(apart=True)
def tell_promotions(g: Gpu, s: Sm, sch: int) -> None:
    """Report the warps that the scheduler's policy has promoted to the policies."""
    promotions = s.promotions[sch]
    s.promotions[sch] = 0
    while promotions:
        promoted(g, s, lowest_bit(promotions) * g.schedulers + sch)
        promotions &= promotions - 1


@device
def select(g: Gpu, s: Sm, program: Grid, sch: int) -> int:
    """Choose the warp slot that the scheduler issues from, and take it out of the ready masks. Return ~reason, a
    `Stall`, for none."""
    if s.entered[sch] < g.cycle - 1:
        enter_idle(g, s, sch, g.cycle - 1)
    s.entered[sch] = g.cycle
    s.turned = sch
    if s.issue_latest > g.cycle and s.issue_from[sch] > g.cycle:
        return ~Stall.REGISTER_BANK
    eligible = eligible_now(g, s, program, sch) if g.reference else eligible_warps(g, s, sch)
    if eligible == 0:
        return ~(reason(g, s, sch) if g.reference else idle_reason(s, sch))
    i = pick(g, s, sch, eligible)
    if HEARS_PROMOTIONS and s.promotions[sch]:
        tell_promotions(g, s, sch)
    if i < 0:
        return i
    s.last[sch] = i
    w = i * g.schedulers + sch
    unit = program[s.stack[w, s.sp[w], StackColumn.PC], Column.UNIT]
    s.ready[sch, unit] &= ~(1 << i)
    if s.ready[sch, unit] == 0:
        s.ready_units[sch] &= ~(1 << unit)
    return w


@device
def account(g: Gpu, s: Sm, program: Grid, sch: int, issued: int, why: int) -> None:
    """Account for all slots of a scheduler in this cycle: used, or lost for a reason. The reason is `why` if none was
    used."""
    if CHECKING and g.profile:
        charge(g, s, program, sch, Stall.NO_PAIR if issued else why, g.issue_width - issued)
    s.stat[Stat.ISSUE_SLOTS] += issued
    if issued == 0:
        s.stall[why] += g.issue_width
        return
    if issued > 1:
        s.stat[Stat.DUAL_ISSUES] += 1
    s.stall[Stall.NO_PAIR] += g.issue_width - issued


@device
def end_cycle(g: Gpu, s: Sm, program: Grid, regs: Cube) -> None:
    """Give out the shared memory that blocks have given back. Set `s.next_time` to the next cycle at which the SM has
    something to do, or -1 if it never has by itself."""
    if s.closed_some:
        hand_out(g, s, program, regs)
    s.turned = 0
    if g.reference:
        s.next_time = g.cycle + 1 if can_go_on(g, s) else -1
    else:
        s.next_time = next_time(g, s)


@device
def next_time(g: Gpu, s: Sm) -> int:
    """Return the next cycle after now at which anything can change in the SM, -1 if nothing will by itself."""
    soon = g.cycle + 1
    launch = next_launch(g, s)
    if s.ready_from == soon or (s.wheel_used >> (soon & (WHEEL - 1))) & 1 or launch <= soon or s.issue_latest > soon:
        return soon
    if s.called:
        return soon
    best = next_event(g, s)
    if launch < NEVER and (best < 0 or launch < best):
        best = launch
    for sch in range(g.schedulers):
        units = s.ready_units[sch]
        while units:
            u = lowest_bit(units)
            units &= units - 1
            time = port_free(g, s, sch, u)
            if time <= soon:
                return soon
            if time < NEVER and (best < 0 or time < best):
                best = time
    return best


@device
def wake_sm(g: Gpu, s: Sm, program: Grid) -> None:
    """Have the SM work in this cycle, in which something comes to it. Account for the cycles before as the SM was
    then."""
    enter_residence(s, g.cycle - 1)
    if CHECKING and g.profile:
        bring_up(g, s, program, g.cycle - 1)
    s.next_time = g.cycle

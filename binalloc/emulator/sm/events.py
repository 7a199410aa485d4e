"""This module has an SM's future events: the wheel of ready warps, the calendar queue of scoreboard releases, the
census.

A warp is in one state (`layout.Warp`). The census counts the states per scheduler, so that the reason of an idle issue
slot is found without a look at warps. A READY warp is in its scheduler's mask for the unit that its next instruction
needs. It leaves the mask only when it issues, so a busy port costs nothing while it lasts. A warp that can go on in the
next cycle stays READY. Near wake-ups are in a wheel of 32 cycles. Scoreboard releases and late wake-ups are in a
calendar queue of 2,048 buckets, with one node per warp and scoreboard.
"""

from __future__ import annotations

from binalloc.emulator.policies.events import block_ends, completed, resumed, waits
from binalloc.emulator.policies.pairs import leave_pair
from binalloc.emulator.policies.regions import close_all
from binalloc.emulator.sm.idle import enter_idle, over
from binalloc.emulator.sm.log import log_event, log_wait
from binalloc.emulator.state.arrays import Grid
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import (
    CALENDAR,
    NODES_PER_WARP,
    SCOREBOARDS,
    USED_BITS,
    USED_SHIFT,
    WAKE_NODE,
    WHEEL,
    Column,
    StackColumn,
    Warp,
)
from binalloc.emulator.state.parts.log import LogKind
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.scan import lowest_bit


@device(inline=True)
def set_state(g: Gpu, s: Sm, w: int, state: int) -> None:
    """Move warp slot `w` to another state, census included."""
    sch = g.scheduler_of[w]
    if s.entered[sch] < over(s, sch, g.cycle - 1):
        enter_idle(g, s, sch, over(s, sch, g.cycle - 1))
    s.census[sch, s.state[w]] -= 1
    s.census[sch, state] += 1
    s.state[w] = state


@device(inline=True)
def arm(g: Gpu, s: Sm, node: int, time: int) -> None:
    """Enter calendar node `node` at `time`, which is after now."""
    index = time & (CALENDAR - 1)
    s.node_time[node] = time
    s.node_armed[node] = 1
    s.node_next[node] = s.bucket[index]
    s.bucket[index] = node + 1
    s.bucket_used[index >> USED_SHIFT] |= 1 << (index & (USED_BITS - 1))


@device(inline=True)
def guard_until(g: Gpu, s: Sm, w: int, board: int, time: int) -> None:
    """Count one more result of scoreboard `board` of the warp, which comes at `time`. The scoreboard is busy until the
    last one.

    The counter itself is not kept: it is zero exactly when the latest of its results has come.
    """
    if board >= SCOREBOARDS:
        return
    s.busy[w] |= 1 << board
    if time > s.board_time[w, board]:
        s.board_time[w, board] = time
    node = w * NODES_PER_WARP + board
    if s.node_armed[node] == 0:
        arm(g, s, node, s.board_time[w, board])


@device(inline=True)
def knock(g: Gpu, s: Sm, w: int) -> None:
    """Have the warp looked at in this cycle, see `sm.gates`: it wakes, or what it waited for has come."""
    s.knocking[g.scheduler_of[w]] |= g.bit_of[w]


@device(inline=True)
def make_ready(g: Gpu, s: Sm, program: Grid, w: int) -> None:
    """Let the warp issue its next instruction now, or wait for something."""
    if g.gates:
        knock(g, s, w)
    elif wait_for_boards(g, s, program, w) == 0:
        may_issue(g, s, program, w)


@device(inline=True)
def wait_for_boards(g: Gpu, s: Sm, program: Grid, w: int) -> int:
    """Return 1 if the warp's next instruction waits for scoreboards, and make the warp wait from now on."""
    boards = s.busy[w] & program[s.stack[w, s.sp[w], StackColumn.PC], Column.WAIT]
    if boards == 0:
        return 0
    set_state(g, s, w, Warp.SCOREBOARD)
    waits(g, s, w, boards)
    if g.logging:
        log_wait(g, s, w, boards)
    return 1


@device(inline=True)
def may_issue(g: Gpu, s: Sm, program: Grid, w: int) -> None:
    """Make the warp wait for nothing but its turn."""
    set_state(g, s, w, Warp.READY)
    enter_turn(g, s, program, w, s.stack[w, s.sp[w], StackColumn.PC])


@device(inline=True)
def enter_turn(g: Gpu, s: Sm, program: Grid, w: int, pc: int) -> None:
    """Enter the warp, which is READY to issue the instruction at `pc`, in its scheduler's masks."""
    sch = g.scheduler_of[w]
    unit = program[pc, Column.UNIT]
    s.ready[sch, unit] |= g.bit_of[w]
    s.ready_units[sch] |= 1 << unit


@device(inline=True)
def wake_at(g: Gpu, s: Sm, w: int, time: int, state: int) -> None:
    """Let the warp sleep in `state` until `time`, which is after now."""
    set_state(g, s, w, state)
    s.ready_at[w] = time
    if time - g.cycle < WHEEL:
        sch = g.scheduler_of[w]
        slot = time & (WHEEL - 1)
        s.wheel[slot, sch] |= g.bit_of[w]
        s.wheel_used |= 1 << slot
    else:
        arm(g, s, w * NODES_PER_WARP + WAKE_NODE, time)


@device
def fire(g: Gpu, s: Sm, program: Grid) -> None:
    """Fire everything that is due in this cycle: releases first, then wake-ups. A warp that wakes now sees the
    releases."""
    now = g.cycle
    index = now & (CALENDAR - 1)
    if s.bucket_used[index >> USED_SHIFT] >> (index & (USED_BITS - 1)) & 1:
        fire_bucket(g, s, program, index)
    slot = now & (WHEEL - 1)
    if (s.wheel_used >> slot) & 1:
        s.wheel_used &= ~(1 << slot)
        for sch in range(g.schedulers):
            due = s.wheel[slot, sch]
            s.wheel[slot, sch] = 0
            while due:
                bit = lowest_bit(due)
                due &= due - 1
                make_ready(g, s, program, bit * g.schedulers + sch)


@device(apart=True)
def fire_bucket(g: Gpu, s: Sm, program: Grid, index: int) -> None:
    """Process the calendar nodes of this cycle. Nodes of a later lap are entered again."""
    now = g.cycle
    node = s.bucket[index] - 1
    s.bucket[index] = 0
    s.bucket_used[index >> USED_SHIFT] &= ~(1 << (index & (USED_BITS - 1)))
    waking = -1  # wake-ups wait until all releases of the cycle are done
    while node >= 0:
        following = s.node_next[node] - 1
        s.node_armed[node] = 0
        if s.node_time[node] > now:
            arm(g, s, node, s.node_time[node])
        elif node % NODES_PER_WARP == WAKE_NODE:
            s.node_next[node] = waking + 1
            waking = node
        else:
            release(g, s, program, node // NODES_PER_WARP, node % NODES_PER_WARP)
        node = following
    while waking >= 0:
        following = s.node_next[waking] - 1
        make_ready(g, s, program, waking // NODES_PER_WARP)
        waking = following


@device
def release(g: Gpu, s: Sm, program: Grid, w: int, board: int) -> None:
    """Free the scoreboard whose node is due, unless a later result has been counted in the meantime."""
    if s.board_time[w, board] > g.cycle:
        arm(g, s, w * NODES_PER_WARP + board, s.board_time[w, board])
        return
    if s.board_open[w, board] == 0 and s.busy[w] >> board & 1:  # memory may have answered in this very cycle
        clear_board(g, s, program, w, board)


@device(inline=True)
def hold_board(s: Sm, w: int, board: int) -> None:
    """Count one more result of scoreboard `board` of the warp, which comes at an unknown time."""
    if board < SCOREBOARDS:
        s.busy[w] |= 1 << board
        s.board_open[w, board] += 1


@device
def board_done(g: Gpu, s: Sm, program: Grid, w: int, board: int) -> None:
    """Enter that a result of `hold_board` has come."""
    if board >= SCOREBOARDS:
        return
    s.board_open[w, board] -= 1
    if g.reference == 0 and s.board_open[w, board] == 0 and s.board_time[w, board] <= g.cycle:
        clear_board(g, s, program, w, board)


@device
def clear_board(g: Gpu, s: Sm, program: Grid, w: int, board: int) -> None:
    """Release the scoreboard, as all results that it counted are there."""
    s.busy[w] &= ~(1 << board)
    completed(g, s, w, board)
    if s.state[w] == Warp.DONE and s.busy[w] == 0:
        retire_warp(g, s, w)
    if s.state[w] != Warp.SCOREBOARD or s.knocking[g.scheduler_of[w]] & g.bit_of[w]:
        return  # a warp that knocks has been resumed before
    if not s.busy[w] & program[s.stack[w, s.sp[w], StackColumn.PC], Column.WAIT]:
        resumed(g, s, w)
        if g.logging:
            log_event(g, s, LogKind.RESUME, w, -1, 0)
        make_ready(g, s, program, w)


@device
def clear_warp(g: Gpu, s: Sm, w: int) -> None:
    """Empty the warp slot."""
    for board in range(SCOREBOARDS):
        s.board_time[w, board] = 0
    set_state(g, s, w, Warp.NONE)


@device
def retire_warp(g: Gpu, s: Sm, w: int) -> None:
    """Retire the warp, which has ended and has nothing outstanding. Its block ends with the last of its warps."""
    block = s.block_of[w]
    s.gone[w] = 1
    s.block_warps[block] -= 1
    if s.block_warps[block] > 0:
        return
    if g.logging:
        log_event(g, s, LogKind.BLOCK_END, block * g.warps_per_block, -1, block)
    first = block * g.warps_per_block
    for i in range(first, first + g.warps_per_block):
        clear_warp(g, s, i)
    s.block_active[block] = 0
    if g.pairs:
        leave_pair(g, s, block)
    else:
        close_all(s, block)
    s.resident -= 1
    s.live_warps -= g.warps_per_block
    s.stat[Stat.BLOCKS_RETIRED] += 1
    g.retired += 1
    g.last_end[s.id] = g.cycle
    leave_batch(g, s, s.block_batch[block])
    block_ends(g, s, block)


@device
def leave_batch(g: Gpu, s: Sm, batch: int) -> None:
    """Note that a block of a batch is resident no more. The batch leaves the SM with its last one."""
    for slot in range(g.resident_limit):
        if s.block_active[slot] and s.block_batch[slot] == batch:
            return
    s.batches -= 1
    s.batch_area += g.cycle


@device
def next_event(g: Gpu, s: Sm) -> int:
    """Return the next cycle after now at which the wheel or the calendar has something, -1 if neither has."""
    now = g.cycle
    best = -1
    if s.wheel_used:
        turn = (now + 1) & (WHEEL - 1)
        best = now + 1 + lowest_bit((s.wheel_used >> turn) | (s.wheel_used << (WHEEL - turn)))
    index = (now + 1) & (CALENDAR - 1)
    word = index >> USED_SHIFT
    bits = s.bucket_used[word] >> (index & (USED_BITS - 1))
    time = now + 1
    if bits == 0:
        time += USED_BITS - (index & (USED_BITS - 1))
        for k in range(1, CALENDAR // USED_BITS + 1):
            bits = s.bucket_used[(word + k) & (CALENDAR // USED_BITS - 1)]
            if bits:
                break
            time += USED_BITS
    if bits:
        time += lowest_bit(bits)
        if best < 0 or time < best:
            best = time
    return best

"""This module runs the due events of the memory system: requests that go on, and DRAM's commands."""

from __future__ import annotations

from collections.abc import Sequence

from binalloc.emulator.memory.calendar import next_memory_event, take
from binalloc.emulator.memory.cpu.traffic import compute, miss
from binalloc.emulator.memory.dram import catch_up, has_room, serve_dram
from binalloc.emulator.memory.interconnect import leave_slice
from binalloc.emulator.memory.l2 import fill_line, let_in, reach_slice
from binalloc.emulator.memory.places import channel_of
from binalloc.emulator.memory.prefetch.open_rows import fetch_ahead
from binalloc.emulator.sm.answers import reach_sm
from binalloc.emulator.state.arrays import Grid, Words
from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import Stage
from binalloc.emulator.state.records import Gpu, Sm


@device(inline=True)
def prepare(g: Gpu, log: Words, k: int) -> None:
    """Bring the channel of slice k up to now, as the slice may be about to ask it for something."""
    channel = channel_of(g, k)
    if g.l2_data == 0 or has_room(g, channel, 1):
        catch_up(g, log, channel)


@device
def waits_in_vain(g: Gpu, sms: Sequence[Sm]) -> int:
    """Return 1 if no SM has work or waits for memory, else 0. CPU programs go on for ever, and wake nobody."""
    if g.unfinished or g.recall:
        return 0
    for i in range(g.sms):
        s = sms[i]
        if s.next_time >= 0 or s.loads_out or s.stores_out or s.tagged_out[0] or s.tagged_out[1]:
            return 0
    return 1


@device(inline=True)
def move_on(g: Gpu, sms: Sequence[Sm], limit: int) -> int:
    """Move the clock to the next cycle with work, if it is below `limit`, belongs to the memory system alone, and no SM
    has work in this one. Return whether the clock has moved."""
    if g.log_stop or g.recall or (g.retired == g.blocks and g.unfinished == 0):
        return 0
    best = next_memory_event(g)
    if best < 0 or g.dram_due < best:
        best = max(g.dram_due, g.cycle + 1)
    if best >= limit:
        return 0
    for i in range(g.sms):
        if 0 <= sms[i].next_time <= best:
            return 0
    if g.cpu_chains and waits_in_vain(g, sms):
        return 0
    g.cycle = best
    return 1


@device(apart=True)
def serve_memory(g: Gpu, sms: Sequence[Sm], program: Grid, log: Words, limit: int) -> None:
    """Run the memory system in cycle `g.cycle`, before the SMs. Go on with the following cycles below `limit` while no
    SM has work."""
    serve_cycle(g, sms, program, log)
    while move_on(g, sms, limit):
        serve_cycle(g, sms, program, log)


@device(inline=True)
def serve_cycle(g: Gpu, sms: Sequence[Sm], program: Grid, log: Words) -> None:
    """Run the memory system in cycle `g.cycle`."""
    r = take(g)
    while r >= 0:
        following = g.following[r]
        stage = g.stage[r]
        if stage == Stage.REACHES_SLICE:
            if g.slice_first[g.at_slice[r]] == 0:
                prepare(g, log, g.at_slice[r])
            reach_slice(g, r)
        elif stage == Stage.LEAVES_SLICE:
            leave_slice(g, r)
        elif stage == Stage.REACHES_SM:
            reach_sm(g, sms[g.source[r]], program, r)
        elif stage == Stage.FILLS_LINE:
            if g.slice_first[g.source[r]] or g.link[r] < 0:
                prepare(g, log, g.source[r])
            fill_line(g, r)
        elif stage == Stage.CPU_MISSES:
            miss(g, log, r)
        else:
            compute(g, r)
        r = following
    while g.dram_due <= g.cycle:
        serve_dram(g, log)
        if g.waiting_at_slices or g.cpu_waiting:
            let_in(g)
        if g.ahead:
            fetch_ahead(g)
